// SPDX-License-Identifier: Apache-2.0
// An in-order queue of work: a CUstream, and the host memory that its commands still need.
#pragma once

#include "backends/cuda/context.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/module.h"
#include "runtime/backend.h"

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace masu::cuda {

// The end of a command in a stream, and its start where its time is wanted.
class Event final : public runtime::Event {
 public:
  // The context must be current.
  Event(std::shared_ptr<Context> context, Timing timing) : context_(std::move(context)), timing_(timing) {}
  ~Event() override;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Each puts a mark into the stream; the context must be current.
  void record_start(CUstream stream) { record(start_, stream); }
  void record_end(CUstream stream) { record(end_, stream); }

  bool ready() override;
  void wait() override;
  double seconds() override;
  double seconds_since(const runtime::Event& earlier) override;
  [[nodiscard]] CUevent end() const noexcept { return end_; }

 private:
  void record(CUevent& event, CUstream stream);
  double elapsed(CUevent first, CUevent last) const;

  std::shared_ptr<Context> context_;
  CUevent start_ = nullptr;  // none for a mere point in a stream
  CUevent end_ = nullptr;
  Timing timing_;
};

// The event of this backend behind an interface; throws invalid_argument for another backend's.
const Event& own_event(const runtime::Event& event, std::string_view function);

using runtime::Mark;

// Uninitialised host memory at an address that suits every element type.
struct HostBlockDelete {
  void operator()(std::byte* block) const noexcept { ::operator delete (block, std::align_val_t{64}); }
};
using HostBlock = std::unique_ptr<std::byte, HostBlockDelete>;
HostBlock make_host_block(std::uint64_t bytes, std::string_view function);

// A pattern as the driver fills with it: units of 1, 2 or 4 bytes; of none where it has other ones.
struct FillUnit {
  std::uint32_t word = 0;
  std::uint32_t bytes = 0;
};
FillUnit fill_unit(CUdeviceptr address, const void* pattern, std::size_t size);
// The context must be current.
void fill_units(const Context& context, CUstream stream, CUdeviceptr address, FillUnit unit, std::uint64_t bytes);

class Stream final : public runtime::Stream {
 public:
  Stream(std::shared_ptr<Context> context, Timing timing);
  // A stream of the caller's; null is the default stream.
  Stream(std::shared_ptr<Context> context, CUstream handle, Timing timing);
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] void* native() const noexcept override { return handle_; }
  Done write(runtime::Memory& target, std::uint64_t offset, const void* source, std::uint64_t bytes) override;
  Done read(runtime::Memory& source, std::uint64_t offset, void* target, std::uint64_t bytes, Mark mark) override;
  Done copy(runtime::Memory& target, std::uint64_t target_offset, runtime::Memory& source, std::uint64_t source_offset,
            std::uint64_t bytes, Mark mark) override;
  Done fill(runtime::Memory& target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
            std::size_t pattern_size, Mark mark) override;
  void* map(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, MapMode mode) override;
  void unmap(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, void* address, MapMode mode) override;
  Done launch(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
              Mark mark) override;
  Done launch_together(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
                       Mark mark) override;
  Done record() override;
  void wait(runtime::Event& event) override;
  void finish() override;
  [[nodiscard]] bool capturing() const override { return is_capturing(driver(), handle_); }

 private:
  // What was read to page-locked memory, and where it goes.
  struct Fetched {
    void* target;
    std::uint64_t at;
    std::uint64_t bytes;
  };
  // Runs `command`, with the context current; where it is marked, its end is, and its start where times are wanted.
  template <class Command>
  Done issue(Mark mark, Command&& command);
  Done launch(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
              Together together, Mark mark);
  // Whether so much is read through page-locked memory, which takes a third of the time of other host memory.
  bool fetches(std::uint64_t bytes);
  void set_busy(bool busy);
  void fill_by_doubling(CUdeviceptr target, std::uint64_t bytes, const std::byte* pattern, std::size_t pattern_size);
  void check(CUresult code, std::string_view function) const { context_->check(code, function); }
  [[nodiscard]] const Driver& driver() const noexcept { return context_->driver(); }
  // Keeps a block until the stream has passed the present point.
  void retire(HostBlock block);
  void drop_retired();

  std::shared_ptr<Context> context_;
  CUstream handle_ = nullptr;
  bool owned_ = false;
  std::atomic<bool> busy_ = false;  // commands were given since the last finish
  Timing timing_ = Timing::on;
  std::unordered_map<void*, HostBlock> mappings_;
  std::byte* fetch_block_ = nullptr;
  std::uint64_t fetch_end_ = 0;
  std::vector<Fetched> fetched_;
  std::deque<std::pair<std::shared_ptr<Event>, HostBlock>> retired_;
};

}  // namespace masu::cuda
