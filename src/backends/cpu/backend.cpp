// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: memory is host memory, and a stream's commands have run when they return. masu's CPU code uses
// neither; this is what makes buffers and streams mean the same everywhere.
#include <fmt/format.h>
#include <hwy/targets.h>
#include <masu/error.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/cpu/instruction_sets.h"
#include "runtime/backend.h"
#include "runtime/environment.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <new>

namespace masu::runtime {
namespace {

using Clock = std::chrono::steady_clock;

class CpuEvent final : public Event {
 public:
  CpuEvent(Clock::time_point start, Timing timing) : start_(start), end_(Clock::now()), timing_(timing) {}
  bool ready() override { return true; }
  void wait() override {}
  double seconds() override {
    check_timed();
    return std::chrono::duration<double>(end_ - start_).count();
  }
  double seconds_since(const Event& earlier) override {
    const auto* other = dynamic_cast<const CpuEvent*>(&earlier);
    if (other == nullptr) {
      throw Error(ErrorCode::invalid_argument, "Event::seconds_since: both events must be of one device, got two");
    }
    check_timed();
    other->check_timed();
    return std::chrono::duration<double>(end_ - other->end_).count();
  }

 private:
  void check_timed() const {
    if (timing_ == Timing::off) throw_untimed();
  }
  Clock::time_point start_;
  Clock::time_point end_;
  Timing timing_;  // as on other devices, where no times are free
};

class CpuMemory final : public Memory {
 public:
  // A null `data` is allocated here.
  CpuMemory(void* data, std::uint64_t bytes, bool read_only)
      : Memory(bytes, read_only), data_(data), owned_(data == nullptr) {
    if (!owned_) return;
    data_ = ::operator new(bytes, alignment());
    // Touching fresh memory in small pages takes longer than most work on it. Where this fails, pages are small.
    if (is_large()) madvise(data_, bytes / huge_page * huge_page, MADV_HUGEPAGE);
  }
  ~CpuMemory() override {
    if (owned_) ::operator delete(data_, alignment());
  }
  CpuMemory(const CpuMemory&) = delete;
  CpuMemory& operator=(const CpuMemory&) = delete;
  [[nodiscard]] void* native() const noexcept override { return data_; }

 private:
  static constexpr std::uint64_t huge_page = std::uint64_t{2} << 20;
  static constexpr std::uint64_t large = std::uint64_t{16} << 20;
  [[nodiscard]] bool is_large() const noexcept { return Memory::bytes() >= large; }
  [[nodiscard]] std::align_val_t alignment() const noexcept {
    return static_cast<std::align_val_t>(is_large() ? huge_page : 128);
  }
  void* data_;
  bool owned_;
};

class CpuHostMemory final : public HostMemory {
 public:
  explicit CpuHostMemory(std::uint64_t bytes) { data_ = ::operator new (bytes, std::align_val_t{alignment}); }
  ~CpuHostMemory() override { ::operator delete (data_, std::align_val_t{alignment}); }

 private:
  static constexpr std::size_t alignment = 4096;  // a page, as what drivers give
};

std::byte* at(Memory& memory, std::uint64_t offset) {
  return static_cast<std::byte*>(memory.native()) + offset;
}

[[noreturn]] void no_kernels(const char* function) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: kernels run on OpenCL and CUDA devices, got the device cpu", function));
}

class CpuStream final : public Stream {
 public:
  explicit CpuStream(Timing timing) : timing_(timing) {}
  [[nodiscard]] void* native() const noexcept override { return nullptr; }
  Done write(Memory& target, std::uint64_t offset, const void* source, std::uint64_t bytes) override {
    return timed(Mark::yes, [&] { std::memmove(at(target, offset), source, bytes); });
  }
  Done read(Memory& source, std::uint64_t offset, void* target, std::uint64_t bytes, Mark mark) override {
    return timed(mark, [&] { std::memmove(target, at(source, offset), bytes); });
  }
  Done copy(Memory& target, std::uint64_t target_offset, Memory& source, std::uint64_t source_offset,
            std::uint64_t bytes, Mark mark) override {
    return timed(mark, [&] { std::memcpy(at(target, target_offset), at(source, source_offset), bytes); });
  }
  Done fill(Memory& target, std::uint64_t offset, std::uint64_t bytes, const void* pattern, std::size_t pattern_size,
            Mark mark) override {
    return timed(mark, [&] {
      std::byte* first = at(target, offset);
      std::memcpy(first, pattern, pattern_size);
      for (std::uint64_t done = pattern_size; done < bytes;) {  // copies the filled part after itself
        const std::uint64_t part = std::min(done, bytes - done);
        std::memcpy(first + done, first, part);
        done += part;
      }
    });
  }
  void* map(Memory& memory, std::uint64_t offset, std::uint64_t, MapMode) override { return at(memory, offset); }
  void unmap(Memory&, std::uint64_t, std::uint64_t, void*, MapMode) override {}
  Done launch(Kernel&, const NDRange&, std::span<const KernelArgument>, Mark) override { no_kernels("Kernel::launch"); }
  Done record() override { return std::make_shared<CpuEvent>(Clock::now(), timing_); }
  void wait(Event& event) override { event.wait(); }
  void finish() override {}

 private:
  template <class F>
  Done timed(Mark mark, F&& command) {
    const Clock::time_point start = Clock::now();
    command();
    if (mark == Mark::no) return nullptr;
    return std::make_shared<CpuEvent>(start, timing_);
  }
  Timing timing_;
};

std::string model_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::string vendor_of(const std::string& name) {
  for (const char* vendor : {"AMD", "Intel"}) {
    if (name.find(vendor) != std::string::npos) return vendor;
  }
  return {};
}

// The processor family, and the vector instructions that masu's code will use here.
std::string architecture() {
  const std::int64_t supported = hwy::SupportedTargets();
  check_instruction_sets(HWY_TARGETS, supported);
  const std::string simd = best_instruction_set(HWY_TARGETS & supported);
#if defined(__x86_64__)
  return "x86-64 " + simd;
#elif defined(__aarch64__)
  return "AArch64 " + simd;
#else
  return simd;
#endif
}

std::uint64_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

DeviceInfo cpu_info() {
  DeviceInfo info;
  info.id = "cpu";
  info.kind = DeviceKind::cpu;
  info.name = model_name();
  info.vendor = vendor_of(info.name);
  info.architecture = architecture();
  info.memory_bytes = physical_memory();
  info.max_allocation_bytes = info.memory_bytes;
  info.compute_units = usable_cpus();
  return info;
}

class CpuDevice final : public Device {
 public:
  CpuDevice() { info_ = cpu_info(); }

  std::shared_ptr<Memory> allocate(std::uint64_t bytes) override {
    return allocated("allocate", bytes, [&] { return std::make_shared<CpuMemory>(nullptr, bytes, false); });
  }
  std::shared_ptr<HostMemory> allocate_host(std::uint64_t bytes) override {
    return allocated("HostBuffer", bytes, [&] { return std::make_shared<CpuHostMemory>(bytes); });
  }
  [[nodiscard]] bool is_page_locked(const void*, std::uint64_t) const noexcept override { return false; }
  std::shared_ptr<Memory> wrap_host(void* data, std::uint64_t bytes, bool read_only) override {
    return std::make_shared<CpuMemory>(data, bytes, read_only);
  }
  std::shared_ptr<Memory> wrap_native(void* handle, std::uint64_t bytes) override {
    return std::make_shared<CpuMemory>(handle, bytes, false);
  }
  std::unique_ptr<Stream> make_stream(Timing timing) override { return std::make_unique<CpuStream>(timing); }
  std::unique_ptr<Stream> wrap_stream(void*, Timing) override {
    throw Error(ErrorCode::unsupported, "Stream::wrap: the device must be an OpenCL or a CUDA device, got cpu");
  }
  void synchronize() override {}
  std::shared_ptr<Module> compile(std::string_view, std::string_view) override { no_kernels("Program::from_source"); }
  std::shared_ptr<Module> load(std::string_view) override { return nullptr; }
  [[nodiscard]] std::string cache_identity() const override { return "cpu"; }

 private:
  // What `make` gives, which allocates `bytes`.
  template <class Make>
  auto allocated(const char* function, std::uint64_t bytes, Make&& make) -> decltype(make()) {
    try {
      if (bytes <= info_.memory_bytes) return make();
    } catch (const std::bad_alloc&) {
    }
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: {} bytes asked for, cpu has {} bytes", function, bytes, info_.memory_bytes));
  }
};

class CpuBackend final : public Backend {
 public:
  [[nodiscard]] DeviceKind kind() const noexcept override { return DeviceKind::cpu; }
  std::vector<DeviceInfo> devices() override { return {device()->info()}; }
  std::shared_ptr<Device> open(std::size_t) override { return device(); }
  std::shared_ptr<Device> wrap(void*, void*) override { return device(); }

 private:
  // One for the life of the process, never destroyed: it holds little more than its description.
  static const std::shared_ptr<Device>& device() {
    static const auto& only = *new std::shared_ptr<Device>(std::make_shared<CpuDevice>());
    return only;
  }
};

}  // namespace

Backend& cpu_backend() {
  static CpuBackend backend;
  return backend;
}

}  // namespace masu::runtime
