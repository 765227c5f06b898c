// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/stream.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>

namespace masu::cuda {

Event::~Event() {
  context_->give_event(start_);
  context_->give_event(end_);
}

void Event::record(CUevent& event, CUstream stream) {
  event = context_->take_event();
  context_->check(context_->driver().event_record(event, stream), "cuEventRecord");
}

bool Event::ready() {
  const ContextScope scope(*context_);
  const BesideCaptures beside(context_->driver());
  const CUresult code = context_->driver().event_query(end_);
  if (code == error_not_ready) return false;
  context_->check(code, "cuEventQuery");
  return true;
}

void Event::wait() {
  const ContextScope scope(*context_);
  const BesideCaptures beside(context_->driver());
  context_->check(context_->driver().event_synchronize(end_), "cuEventSynchronize");
}

double Event::elapsed(CUevent first, CUevent last) const {
  const ContextScope scope(*context_);
  float milliseconds = 0;
  context_->check(context_->driver().event_elapsed_time(&milliseconds, first, last), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) / 1e3;
}

double Event::seconds() {
  if (timing_ == Timing::off) runtime::throw_untimed();
  wait();
  return start_ == nullptr ? 0.0 : elapsed(start_, end_);
}

double Event::seconds_since(const runtime::Event& earlier) {
  const Event& first = own_event(earlier, "seconds_since");
  if (timing_ == Timing::off || first.timing_ == Timing::off) runtime::throw_untimed();
  wait();
  return elapsed(first.end_, end_);
}

const Event& own_event(const runtime::Event& event, std::string_view function) {
  const auto* own = dynamic_cast<const Event*>(&event);
  if (own == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: the event must be of a CUDA stream, got one of another backend", function));
  }
  return *own;
}

namespace {

constexpr std::size_t tile_bytes = std::size_t{1} << 16;  // of a pattern, sent to the device before it is doubled there

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

HostBlock make_host_block(std::uint64_t bytes, std::string_view function) {
  void* block = ::operator new (bytes, std::align_val_t{64}, std::nothrow);
  if (block == nullptr) {
    throw Error(ErrorCode::out_of_memory, fmt::format("{}: {} bytes of host memory must be free", function, bytes));
  }
  return HostBlock(static_cast<std::byte*>(block));
}

Stream::Stream(std::shared_ptr<Context> context, Timing timing)
    : context_(std::move(context)), owned_(true), timing_(timing) {
  const ContextScope scope(*context_);
  handle_ = context_->take_stream();
}

Stream::Stream(std::shared_ptr<Context> context, CUstream handle, Timing timing)
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

Stream::~Stream() {
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

void Stream::set_busy(bool busy) {
  if (busy_.exchange(busy) == busy) return;
  try {
    context_->set_busy(handle_, busy);
  } catch (...) {  // no memory for the list
    busy_ = !busy;
    throw;
  }
}

template <class Command>
Stream::Done Stream::issue(Mark mark, Command&& command) {
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

Stream::Done Stream::write(runtime::Memory& target, std::uint64_t offset, const void* source, std::uint64_t bytes) {
  const CUdeviceptr address = own_memory(target, *context_, "write").address() + offset;
  return issue(Mark::yes, [&] {
    if (bytes != 0) check(driver().memcpy_htod_async(address, source, bytes, handle_), "cuMemcpyHtoDAsync");
  });
}

Stream::Done Stream::read(runtime::Memory& source, std::uint64_t offset, void* target, std::uint64_t bytes, Mark mark) {
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

bool Stream::fetches(std::uint64_t bytes) {
  if (bytes > Context::fetch_bytes - fetch_end_) return false;
  if (fetch_block_ == nullptr) fetch_block_ = context_->take_fetch_block();
  return fetch_block_ != nullptr;
}

Stream::Done Stream::copy(runtime::Memory& target, std::uint64_t target_offset, runtime::Memory& source,
                          std::uint64_t source_offset, std::uint64_t bytes, Mark mark) {
  const CUdeviceptr to = own_memory(target, *context_, "copy").address() + target_offset;
  const CUdeviceptr from = own_memory(source, *context_, "copy").address() + source_offset;
  return issue(mark, [&] {
    if (bytes != 0) check(driver().memcpy_dtod_async(to, from, bytes, handle_), "cuMemcpyDtoDAsync");
  });
}

Stream::Done Stream::fill(runtime::Memory& target, std::uint64_t offset, std::uint64_t bytes, const void* pattern,
                          std::size_t pattern_size, Mark mark) {
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

void Stream::fill_by_doubling(CUdeviceptr target, std::uint64_t bytes, const std::byte* pattern,
                              std::size_t pattern_size) {
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

void* Stream::map(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, MapMode /*mode*/) {
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

void Stream::unmap(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes, void* address, MapMode mode) {
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

Stream::Done Stream::launch(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
                            Mark mark) {
  return launch(kernel, range, arguments, Together::no, mark);
}

Stream::Done Stream::launch_together(runtime::Kernel& kernel, const NDRange& range,
                                     std::span<const KernelArgument> arguments, Mark mark) {
  return launch(kernel, range, arguments, Together::yes, mark);
}

Stream::Done Stream::launch(runtime::Kernel& kernel, const NDRange& range, std::span<const KernelArgument> arguments,
                            Together together, Mark mark) {
  auto* own = dynamic_cast<Kernel*>(&kernel);
  if (own == nullptr || own->context().handle() != context_->handle()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("Kernel::launch: the kernel must be of {}, got one of another device", context_->device_name()));
  }
  return issue(mark, [&] {
    own->launch(handle_, range, arguments, together);
    if (capturing()) own->image()->keep_loaded();
  });
}

Stream::Done Stream::record() {
  const ContextScope scope(*context_);
  auto event = std::make_shared<Event>(context_, timing_);
  event->record_end(handle_);
  return event;
}

void Stream::wait(runtime::Event& event) {
  const auto* own = dynamic_cast<const Event*>(&event);
  if (own == nullptr) return event.wait();  // another backend's: the stream cannot wait for it, so the caller does
  const ContextScope scope(*context_);
  set_busy(true);
  check(driver().stream_wait_event(handle_, own->end(), 0), "cuStreamWaitEvent");
}

void Stream::finish() {
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

void Stream::retire(HostBlock block) {
  drop_retired();
  auto event = std::make_shared<Event>(context_, timing_);
  event->record_end(handle_);
  retired_.emplace_back(std::move(event), std::move(block));
}

void Stream::drop_retired() {
  while (!retired_.empty() && retired_.front().first->ready()) retired_.pop_front();
}

}  // namespace masu::cuda
