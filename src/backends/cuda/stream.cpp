// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device.h"

#include "backends/cuda/memory.h"
#include "backends/cuda/module.h"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace masu::cuda {

namespace {

// True when the pattern repeats itself every `period` bytes.
bool repeats(const std::byte* pattern, std::size_t size, std::size_t period) {
  return size % period == 0 && std::memcmp(pattern, pattern + period, size - period) == 0;
}

}  // namespace

FillUnit fill_unit(CUdeviceptr address, const void* pattern, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(pattern);
  for (const std::uint32_t period : {1U, 2U, 4U}) {
    if (address % period != 0 || !repeats(bytes, size, period)) continue;
    FillUnit unit{0, period};
    std::memcpy(&unit.word, bytes, period);
    return unit;
  }
  return {};
}

void fill_units(const Context& context, CUstream stream, CUdeviceptr address, FillUnit unit, std::uint64_t bytes) {
  const Driver& driver = context.driver();
  if (unit.bytes == 1) {
    context.check(driver.memset_d8_async(address, static_cast<unsigned char>(unit.word), bytes, stream),
                  "cuMemsetD8Async");
  } else if (unit.bytes == 2) {
    context.check(driver.memset_d16_async(address, static_cast<unsigned short>(unit.word), bytes / 2, stream),
                  "cuMemsetD16Async");
  } else {
    context.check(driver.memset_d32_async(address, unit.word, bytes / 4, stream), "cuMemsetD32Async");
  }
}

namespace {

// The end of a command in a stream, and its start where its time is wanted.
class Event final : public runtime::Event {
 public:
  // The context must be current.
  Event(std::shared_ptr<Context> context, Timing timing) : context_(std::move(context)), timing_(timing) {}
  ~Event() override {
    context_->give_event(start_);
    context_->give_event(end_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Each puts a mark into the stream; the context must be current.
  void record_start(CUstream stream) { record(start_, stream); }
  void record_end(CUstream stream) { record(end_, stream); }

  bool ready() override {
    const ContextScope scope(*context_);
    const BesideCaptures beside(context_->driver());
    const CUresult code = context_->driver().event_query(end_);
    if (code == error_not_ready) return false;
    context_->check(code, "cuEventQuery");
    return true;
  }
  void wait() override {
    const ContextScope scope(*context_);
    const BesideCaptures beside(context_->driver());
    context_->check(context_->driver().event_synchronize(end_), "cuEventSynchronize");
  }
  double seconds() override {
    if (timing_ == Timing::off) runtime::throw_untimed();
    wait();
    return start_ == nullptr ? 0.0 : elapsed(start_, end_);
  }
  double seconds_since(const runtime::Event& earlier) override {
    const auto* first = dynamic_cast<const Event*>(&earlier);
    if (first == nullptr) {
      throw Error(ErrorCode::invalid_argument,
                  "seconds_since: the event must be of a CUDA stream, got one of another backend");
    }
    if (timing_ == Timing::off || first->timing_ == Timing::off) runtime::throw_untimed();
    wait();
    return elapsed(first->end_, end_);
  }
  [[nodiscard]] CUevent end() const noexcept { return end_; }

 private:
  void record(CUevent& event, CUstream stream) {
    event = context_->take_event();
    context_->check(context_->driver().event_record(event, stream), "cuEventRecord");
  }
  double elapsed(CUevent first, CUevent last) const {
    const ContextScope scope(*context_);
    float milliseconds = 0;
    context_->check(context_->driver().event_elapsed_time(&milliseconds, first, last), "cuEventElapsedTime");
    return static_cast<double>(milliseconds) / 1e3;
  }

  std::shared_ptr<Context> context_;
  CUevent start_ = nullptr;  // none for a mere point in a stream
  CUevent end_ = nullptr;
  Timing timing_;
};

constexpr std::size_t tile_bytes = std::size_t{1} << 16;  // of a pattern, sent to the device before it is doubled there

// Uninitialised host memory at an address that suits every element type.
struct HostBlockDelete {
  void operator()(std::byte* block) const noexcept { ::operator delete (block, std::align_val_t{64}); }
};
using HostBlock = std::unique_ptr<std::byte, HostBlockDelete>;

HostBlock make_host_block(std::uint64_t bytes, std::string_view function) {
  void* block = ::operator new (bytes, std::align_val_t{64}, std::nothrow);
  if (block == nullptr) {
    throw Error(ErrorCode::out_of_memory, fmt::format("{}: {} bytes of host memory must be free", function, bytes));
  }
  return HostBlock(static_cast<std::byte*>(block));
}

class Stream final : public runtime::Stream {
 public:
  Stream(std::shared_ptr<Context> context, Timing timing)
      : context_(std::move(context)), owned_(true), timing_(timing) {
    const ContextScope scope(*context_);
    handle_ = context_->take_stream();
  }
  // A stream of the caller's; null is the default stream.
  Stream(std::shared_ptr<Context> context, CUstream handle, Timing timing)
      : context_(std::move(context)), handle_(handle), timing_(timing) {
    const ContextScope scope(*context_);
    CUcontext of_stream = nullptr;
    check(driver().stream_get_ctx(handle_, &of_stream), "cuStreamGetCtx");
    if (of_stream != context_->handle()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("wrap: the stream must be of the device's context {}, got one of {}",
                              static_cast<void*>(context_->handle()), static_cast<void*>(of_stream)));
    }
  }
  ~Stream() override {
    const ContextScope scope(*context_, std::nothrow);
    if (!scope.current()) return;
    const BesideCaptures beside(driver());
    // To wait would end a capture.
    const bool captured = capturing();
    const CUresult code = busy_ && !captured ? driver().stream_synchronize(handle_) : success;
    set_busy(false);
    if (code == success && !captured) context_->give_fetch_block(fetch_block_);
    if (!owned_) return;
    if (code == success) context_->give_stream(handle_);
    else driver().stream_destroy(handle_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] void* native() const noexcept override { return handle_; }
  Done write(runtime::Memory& target, std::uint64_t offset, const void* source, std::uint64_t bytes) override {
    const CUdeviceptr address = own_memory(target, *context_, "write").address() + offset;
    return issue(Mark::yes, [&] {
      if (bytes != 0) check(driver().memcpy_htod_async(address, source, bytes, handle_), "cuMemcpyHtoDAsync");
    });
  }
  Done read(runtime::Memory& source, std::uint64_t offset, void* target, std::uint64_t bytes, Mark mark) override {
    const CUdeviceptr address = own_memory(source, *context_, "read").address() + offset;
    return issue(mark, [&] {
      if (bytes == 0) return;
      void* to = target;
      if (mark == Mark::no && fetches(bytes)) {
        to = fetch_block_ + fetch_end_;
        fetched_.push_back({target, fetch_end_, bytes});
        fetch_end_ += bytes;
      }
      check(driver().memcpy_dtoh_async(to, address, bytes, handle_), "cuMemcpyDtoHAsync");
    });
  }
  Done copy(runtime::Memory& target, std::uint64_t target_offset, runtime::Memory& source, std::uint64_t source_offset,
            std::uint64_t bytes, Mark mark) override {
    const CUdeviceptr to = own_memory(target, *context_, "copy").address() + target_offset;
    const CUdeviceptr from = own_memory(source, *context_, "copy").address() + source_offset;
    return issue(mark, [&] {
      if (bytes != 0) check(driver().memcpy_dtod_async(to, from, bytes, handle_), "cuMemcpyDtoDAsync");
    });
  }
  Done fill(runtime::Memory& target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
            std::size_t pattern_size, Mark mark) override {
    const CUdeviceptr address = own_memory(target, *context_, "fill").address() + offset;
    const auto* unit = static_cast<const std::byte*>(pattern);
    return issue(mark, [&] {
      if (bytes == 0) return;
      if (const FillUnit filled = fill_unit(address, unit, pattern_size); filled.bytes != 0) {
        fill_units(*context_, handle_, address, filled, bytes);
      } else {
        fill_by_doubling(address, bytes, unit, pattern_size);
      }
    });
  }
  void* map(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, MapMode /*mode*/) override {
    Memory& own = own_memory(memory, *context_, "map");
    if (bytes == 0) return nullptr;
    if (own.host() != nullptr) {  // host memory in place
      finish();
      return static_cast<std::byte*>(own.host()) + offset;
    }
    if (capturing()) finish();  // an error, before anything is captured
    // The content is fetched for writing too: what the caller does not touch must stay as it was.
    HostBlock block = make_host_block(bytes, "map");
    void* address = block.get();
    const ContextScope scope(*context_);
    check(driver().memcpy_dtoh_async(address, own.address() + offset, bytes, handle_), "cuMemcpyDtoHAsync");
    finish();
    mappings_.emplace(address, std::move(block));
    return address;
  }
  void unmap(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, void* address, MapMode mode) override {
    Memory& own = own_memory(memory, *context_, "unmap");
    if (bytes == 0 || own.host() != nullptr) return;
    const auto mapping = mappings_.find(address);
    if (mapping == mappings_.end()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("unmap: the address must come from map, got {}", address));
    }
    HostBlock block = std::move(mapping->second);
    mappings_.erase(mapping);
    if (mode == MapMode::read) return;
    const ContextScope scope(*context_);
    set_busy(true);
    check(driver().memcpy_htod_async(own.address() + offset, address, bytes, handle_), "cuMemcpyHtoDAsync");
    retire(std::move(block));
  }
  Done launch(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
              Mark mark) override {
    return launch(kernel, range, arguments, Together::no, mark);
  }
  Done launch_together(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
                       Mark mark) override {
    return launch(kernel, range, arguments, Together::yes, mark);
  }
  Done record() override {
    const ContextScope scope(*context_);
    return present_point();
  }
  void wait(runtime::Event& event) override {
    const auto* own = dynamic_cast<const Event*>(&event);
    if (own == nullptr) return event.wait();  // another backend's: the stream cannot wait for it, so the caller does
    const ContextScope scope(*context_);
    set_busy(true);
    check(driver().stream_wait_event(handle_, own->end(), 0), "cuStreamWaitEvent");
  }
  void finish() override {
    const ContextScope scope(*context_);
    if (capturing()) {  // the driver would end the capture
      throw Error(ErrorCode::invalid_argument,
                  "Stream::finish: nothing can wait for the stream while a graph is captured from it");
    }
    const BesideCaptures beside(driver());
    check(driver().stream_synchronize(handle_), "cuStreamSynchronize");
    set_busy(false);
    retired_.clear();
    for (const Fetched& part : fetched_) std::memcpy(part.target, fetch_block_ + part.at, part.bytes);
    fetched_.clear();
    fetch_end_ = 0;
  }
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
  Done issue(Mark mark, Command&& command) {
    const ContextScope scope(*context_);
    set_busy(true);
    if (mark == Mark::no) {
      command();
      return nullptr;
    }
    auto event = std::make_shared<Event>(context_, timing_);
    if (timing_ == Timing::on) event->record_start(handle_);
    command();
    event->record_end(handle_);
    return event;
  }
  Done launch(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
              Together together, Mark mark) {
    auto* own = dynamic_cast<Kernel*>(&kernel);
    if (own == nullptr || own->context().handle() != context_->handle()) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("Kernel::launch: the kernel must be of {}, got one of another device", context_->device_name()));
    }
    const ContextScope scope(*context_);
    const Kernel::Call call = own->prepare(range, arguments);  // before the event that tells when the kernel starts
    return issue(mark, [&] {
      cuda::launch(*context_, handle_, call, together);
      if (capturing()) own->image()->keep_loaded();
    });
  }
  // Whether so much is read through page-locked memory, which takes a third of the time of other host memory.
  bool fetches(std::uint64_t bytes) {
    if (bytes > Context::fetch_bytes - fetch_end_) return false;
    if (fetch_block_ == nullptr) fetch_block_ = context_->take_fetch_block();
    return fetch_block_ != nullptr;
  }
  void set_busy(bool busy) {
    if (busy_.exchange(busy) == busy) return;
    try {
      context_->set_busy(handle_, busy);
    } catch (...) {  // no memory for the list
      busy_ = !busy;
      throw;
    }
  }
  void fill_by_doubling(CUdeviceptr target, std::uint64_t bytes, const std::byte* pattern, std::size_t pattern_size) {
    if (capturing()) {  // a graph would copy from memory that is gone
      throw Error(ErrorCode::unsupported,
                  fmt::format("Stream::fill: a graph can capture patterns that repeat 1, 2 or 4 bytes at a multiple of "
                              "them, got {} bytes",
                              pattern_size));
    }
    const std::uint64_t tile =
        std::min<std::uint64_t>(bytes, std::max<std::uint64_t>(tile_bytes / pattern_size, 1) * pattern_size);
    HostBlock block = make_host_block(tile, "fill");
    for (std::uint64_t at = 0; at < tile; at += pattern_size) std::memcpy(block.get() + at, pattern, pattern_size);
    check(driver().memcpy_htod_async(target, block.get(), tile, handle_), "cuMemcpyHtoDAsync");
    retire(std::move(block));
    for (std::uint64_t done = tile; done < bytes;) {
      const std::uint64_t part = std::min(done, bytes - done);
      check(driver().memcpy_dtod_async(target + done, target, part, handle_), "cuMemcpyDtoDAsync");
      done += part;
    }
  }
  void check(CUresult code, std::string_view function) const { context_->check(code, function); }
  [[nodiscard]] const Driver& driver() const noexcept { return context_->driver(); }
  // Keeps a block until the stream has passed the present point.
  void retire(HostBlock block) {
    while (!retired_.empty() && retired_.front().first->ready()) retired_.pop_front();
    retired_.emplace_back(present_point(), std::move(block));
  }
  [[nodiscard]] std::shared_ptr<Event> present_point() const {
    auto event = std::make_shared<Event>(context_, timing_);
    event->record_end(handle_);
    return event;
  }

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

}  // namespace

std::unique_ptr<runtime::Stream> make_stream(std::shared_ptr<Context> context, Timing timing) {
  return std::make_unique<Stream>(std::move(context), timing);
}

std::unique_ptr<runtime::Stream> wrap_stream(std::shared_ptr<Context> context, CUstream handle, Timing timing) {
  return std::make_unique<Stream>(std::move(context), handle, timing);
}

}  // namespace masu::cuda
