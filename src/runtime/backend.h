// SPDX-License-Identifier: Apache-2.0
// The interface between masu and a way to run work (the CPU, OpenCL, CUDA). It knows no primitive; a backend knows no
// primitive either. A backend that is absent registers no device. Every function throws masu::Error.
#pragma once

#include "runtime/kernel_signature.h"

#include <masu/device.h>
#include <masu/program.h>
#include <masu/stream.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace masu::runtime {

// What a compiler tells of a program and its binary may not: the log, and what each kernel takes. Drivers that load a
// binary forget names and types.
struct ProgramNotes {
  std::string log;
  std::map<std::string, std::vector<KernelParameter>, std::less<>> parameters;  // of each kernel, where known
};

struct NotedBinary {
  ProgramNotes notes;
  std::string binary;
};

// Both as one string, and back; nullopt for anything that `pack` did not make.
std::string pack(const ProgramNotes& notes, std::string_view binary);
std::optional<NotedBinary> unpack(std::string_view text);

class Device;

// Device memory. Released by the destructor, unless it is the caller's.
class Memory {
 public:
  virtual ~Memory() = default;
  // A number that no other memory of this process ever has, unlike an address.
  [[nodiscard]] std::uint64_t serial() const noexcept { return serial_; }
  [[nodiscard]] virtual void* native() const noexcept = 0;  // cl_mem, CUdeviceptr, host address
  // The same as a number to compare and to align by, which gives no one the memory.
  [[nodiscard]] virtual std::uintptr_t place() const noexcept { return reinterpret_cast<std::uintptr_t>(native()); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool read_only() const noexcept { return read_only_; }

 protected:
  Memory(std::uint64_t bytes, bool read_only) : bytes_(bytes), read_only_(read_only) {}

 private:
  static std::uint64_t next_serial() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }
  std::uint64_t serial_ = next_serial();
  std::uint64_t bytes_;
  bool read_only_;
};

// Host memory that suits a device's copies, at a multiple of 64 bytes. Released by the destructor.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  [[nodiscard]] void* data() const noexcept { return data_; }

 protected:
  HostMemory() = default;
  void* data_ = nullptr;
};

// The end of one command in a stream.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool ready() = 0;
  virtual void wait() = 0;
  virtual double seconds() = 0;                            // device time of this command
  virtual double seconds_since(const Event& earlier) = 0;  // from the end of `earlier` to the end of this
};

// What seconds() and seconds_since() of an Event do whose stream was made with Timing::off.
[[noreturn]] void throw_untimed();

// One entry point of a Module.
class Kernel {
 public:
  virtual ~Kernel() = default;
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  [[nodiscard]] virtual std::size_t max_work_group_size() = 0;
  [[nodiscard]] const KernelSignature& signature() const noexcept { return signature_; }

 protected:
  KernelSignature signature_;
};

// A compiled program, loaded on its device.
class Module {
 public:
  virtual ~Module() = default;
  virtual std::shared_ptr<Kernel> kernel(std::string_view name) = 0;
  virtual std::vector<std::string> kernel_names() = 0;
  virtual std::string binary() = 0;  // what Device::load takes; empty when the driver gives none
  // Whether kernel() compiles it: several are then best asked for at once, by several threads.
  [[nodiscard]] virtual bool compiles_apart() const noexcept { return false; }
  [[nodiscard]] const ProgramNotes& notes() const noexcept { return notes_; }
  // What was noted when this program was compiled, for a module that was loaded. Before anyone asks for a kernel.
  void recall(ProgramNotes notes) { notes_ = std::move(notes); }
  // A kernel for one user at a time: one that was given back, or a new one. To make one takes as long as to launch
  // some.
  std::shared_ptr<Kernel> take_kernel(std::string_view name);
  // Null where none was given back.
  std::shared_ptr<Kernel> take_idle(std::string_view name);
  void give_kernel(std::shared_ptr<Kernel> kernel) noexcept;

 protected:
  // Throws invalid_argument with the names that there are.
  [[noreturn]] void refuse_name(std::string_view name);
  ProgramNotes notes_;

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Kernel>> idle_;
};

// Whether a command gets an Event of its own: it costs as much as a small launch.
enum class Mark : bool { no, yes };

// An in-order queue. Offsets and sizes are bytes and have been checked. Nothing waits but map, finish and destruction.
// Without a mark a command returns no event; what is read without one is there after finish().
class Stream {
 public:
  using Done = std::shared_ptr<masu::runtime::Event>;
  using Mark = masu::runtime::Mark;
  virtual ~Stream() = default;
  [[nodiscard]] virtual void* native() const noexcept = 0;
  virtual Done write(Memory& target, std::uint64_t offset, const void* source, std::uint64_t bytes) = 0;
  virtual Done read(Memory& source, std::uint64_t offset, void* target, std::uint64_t bytes, Mark mark) = 0;
  virtual Done copy(Memory& target, std::uint64_t target_offset, Memory& source, std::uint64_t source_offset,
                    std::uint64_t bytes, Mark mark) = 0;
  // Repeats a pattern of any size over `bytes`, which is a multiple of it.
  virtual Done fill(Memory& target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
                    std::size_t pattern_size, Mark mark) = 0;
  virtual void* map(Memory& memory, std::uint64_t offset, std::uint64_t bytes, MapMode mode) = 0;
  virtual void unmap(Memory& memory, std::uint64_t offset, std::uint64_t bytes, void* address, MapMode mode) = 0;
  virtual Done launch(Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments, Mark mark) = 0;
  // The same, with all work-groups on the device at once, so that they may wait for each other. What cannot promise
  // that takes one work-group only.
  virtual Done launch_together(Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
                               Mark mark);
  virtual Done record() = 0;
  // The end of a call, which perhaps nobody waits for: a point after everything given so far, or later. What was given
  // starts.
  virtual Done end() { return record(); }
  virtual void wait(masu::runtime::Event& event) = 0;
  virtual void finish() = 0;
  // Whether what is given to it becomes part of a graph, and nothing may wait for it.
  [[nodiscard]] virtual bool capturing() const { return false; }

  // The mark of the commands of masu's own calls: whether the caller wants their times.
  Mark own_commands = Mark::no;
};

// For finding faults: whether the environment variable MASU_SYNC is set, to something else than 0, when this is first
// asked. Then launches are waited for, so that the call that made one reports its error, and not a later call.
[[nodiscard]] bool waits_for_launches();
// Waits for the launch that `stream` was given last, if so it is set and the stream may be waited for. An error names
// the kernel.
void settle(Stream& stream, const Kernel& kernel);

// Commands that were taken down, to be given to queues of the device again and again. Thread-safe.
class Recorded {
 public:
  virtual ~Recorded() = default;
  // Bytes of workspace that the recorded calls need.
  [[nodiscard]] virtual std::uint64_t workspace_bytes() const noexcept = 0;
  // As Recording::enqueue has it.
  virtual bool enqueue(void* queue, std::span<void* const> operands, void* workspace) const = 0;
};

// Takes down the commands of this thread's calls, in place of running them.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  // Memory of which there is nothing but its size and an address of its own: the next operand, and what calls allocate.
  virtual std::shared_ptr<Memory> add_operand(std::uint64_t bytes, unsigned misaligned) = 0;
  virtual std::shared_ptr<Memory> allocate(std::uint64_t bytes) = 0;
  virtual std::shared_ptr<const Recorded> finish() = 0;
};

// What is kept for a device as long as it lives: idle streams and compiled programs, each program under its cache key.
struct Kept {
  static constexpr std::size_t most_programs = 256;  // of either kind
  std::mutex mutex;
  std::vector<std::unique_ptr<Stream>> streams;
  std::unordered_map<std::string, std::shared_future<std::shared_ptr<Module>>> programs;
  std::unordered_map<std::string, std::shared_ptr<Module>> own;  // masu's own programs by their files and defines
};

// A device in a context. Thread-safe. Because it keeps streams and modules, none of Memory, HostMemory, Stream, Event,
// Module and Kernel may own a shared_ptr to it; they own what they need of it (a retained handle, a shared context).
class Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  [[nodiscard]] const DeviceInfo& info() const noexcept { return info_; }
  [[nodiscard]] virtual void* native_context() const noexcept { return nullptr; }
  [[nodiscard]] virtual void* native_device() const noexcept { return nullptr; }

  virtual std::shared_ptr<Memory> allocate(std::uint64_t bytes) = 0;  // bytes >= 1
  virtual std::shared_ptr<Memory> wrap_host(void* data, std::uint64_t bytes, bool read_only) = 0;
  virtual std::shared_ptr<Memory> wrap_native(void* handle, std::uint64_t bytes) = 0;
  virtual std::shared_ptr<HostMemory> allocate_host(std::uint64_t bytes) = 0;  // bytes >= 1; page-locked if it can be
  [[nodiscard]] virtual bool is_page_locked(const void* data, std::uint64_t bytes) const noexcept = 0;  // bytes >= 1
  virtual std::unique_ptr<Stream> make_stream(Timing timing) = 0;
  // OpenCL takes times as the queue has them.
  virtual std::unique_ptr<Stream> wrap_stream(void* native, Timing timing) = 0;
  virtual void synchronize() = 0;
  virtual std::unique_ptr<Recorder> make_recorder();
  // Gives back released memory that is kept for later.
  virtual void trim() {}

  // Compiles `text`, which is complete (a prelude, if any, is part of it). `options` are the compiler's own.
  virtual std::shared_ptr<Module> compile(std::string_view text, std::string_view options) = 0;
  // Loads what Module::binary gave on the same kind of device; nullptr when the driver does not take it.
  virtual std::shared_ptr<Module> load(std::string_view binary) = 0;
  // Everything that a compiled program depends on beside its source and options: device, architecture, driver,
  // compiler.
  [[nodiscard]] virtual std::string cache_identity() const = 0;
  // The text that makes masu's own kernels (OpenCL C 1.2) compile here, and the options that they need.
  [[nodiscard]] virtual std::string_view prelude() const noexcept { return {}; }
  [[nodiscard]] virtual std::string_view kernel_options() const noexcept { return {}; }
  // Whether masu's own kernels are compiled apart, each when it is first taken: where compiling one takes as long as it
  // is, and the rest next to nothing.
  [[nodiscard]] virtual bool compiles_apart() const noexcept { return false; }

  [[nodiscard]] Kept& kept() noexcept { return kept_; }

 protected:
  // For the destructor of a device whose streams and modules must go before its context does.
  void release_kept() noexcept {
    kept_.streams.clear();
    kept_.programs.clear();
    kept_.own.clear();
  }
  DeviceInfo info_;

 private:
  Kept kept_;
};

// What the registry asks a backend. `devices` never throws: what is missing or broken is one unusable entry that says
// why.
class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual DeviceKind kind() const noexcept = 0;
  // Whether its driver was opened before this process was forked (see runtime/fork.h).
  [[nodiscard]] virtual bool forked() const noexcept { return false; }
  virtual std::vector<DeviceInfo> devices() = 0;
  virtual std::shared_ptr<Device> open(
      std::size_t number) = 0;  // the same Device for the same number while one is alive
  virtual std::shared_ptr<Device> wrap(void* context, void* device) = 0;
};

Backend& cpu_backend();
Backend& opencl_backend();
Backend& cuda_backend();

// See masu::Device::list.
std::vector<DeviceInfo> list_devices(DeviceKind kind);

// Whether two views of devices of one kind share memory: one handle of OpenCL, else by their addresses.
[[nodiscard]] bool overlap(const BufferBase& a, const BufferBase& b) noexcept;
// Throws invalid_argument when the two differ in size or overlap.
void check_copy(const BufferBase& target, const BufferBase& source);

}  // namespace masu::runtime
