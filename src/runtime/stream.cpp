// SPDX-License-Identifier: Apache-2.0
#include "runtime/backend.h"
#include "runtime/stream_pool.h"

#include <masu/stream.h>

#include <fmt/format.h>

#include <exception>
#include <vector>

namespace masu::runtime {

namespace {

thread_local constinit CallScope* innermost = nullptr;  // of this thread

// The innermost scope of a device that has a recorder, or that has none.
const CallScope* scope_of(const Device& device, bool recording) noexcept {
  const CallScope* found = innermost;
  while (found != nullptr && (found->device.get() != &device || (found->recorder != nullptr) != recording)) {
    found = found->outer;
  }
  return found;
}

}  // namespace

CallScope::CallScope(std::shared_ptr<Device> of, void* to, Recorder* by)
    : device(std::move(of)), queue(to), recorder(by), outer(innermost) {
  if (recorder == nullptr) device->wrap_stream(queue, Timing::off);  // throws for what is none
  innermost = this;
}

CallScope::~CallScope() {
  // Scopes need not end in the order in which they began.
  CallScope** place = &innermost;
  while (*place != nullptr && *place != this) place = &(*place)->outer;
  if (*place == this) *place = outer;
}

std::shared_ptr<Memory> memory_for_call(Device& device, std::uint64_t bytes) {
  const CallScope* taken_down = scope_of(device, true);
  return taken_down != nullptr ? taken_down->recorder->allocate(bytes) : device.allocate(bytes);
}

std::unique_ptr<Stream> stream_for_call(Device& device, Timing timing) {
  if (const CallScope* taken_down = scope_of(device, true)) return taken_down->recorder->make_stream();
  const CallScope* borrowed = scope_of(device, false);
  return borrowed != nullptr ? device.wrap_stream(borrowed->queue, timing) : device.make_stream(timing);
}

StreamLease::StreamLease(Device& device) : device_(device.shared_from_this()), exceptions_(std::uncaught_exceptions()) {
  if (scope_of(device, false) != nullptr || scope_of(device, true) != nullptr) {
    kept_ = false;
  } else {
    Kept& kept = device.kept();
    const std::lock_guard lock(kept.mutex);
    if (!kept.streams.empty()) {
      stream_ = std::move(kept.streams.back());
      kept.streams.pop_back();
    }
  }
  if (stream_ == nullptr) stream_ = stream_for_call(device, Timing::on);
  if (stream_->capturing()) stream_->finish();  // an error, before anything is captured
}

StreamLease::~StreamLease() {
  // After a failure work may still be under way on the caller's memory: the stream's destructor waits for it.
  if (!kept_ || std::uncaught_exceptions() > exceptions_) return;
  try {
    Kept& kept = device_->kept();
    const std::lock_guard lock(kept.mutex);
    kept.streams.push_back(std::move(stream_));
  } catch (...) {  // no memory to keep it: it is destroyed instead
  }
}

}  // namespace masu::runtime

namespace masu {

std::unique_ptr<runtime::Recorder> runtime::Device::make_recorder() {
  throw Error(ErrorCode::unsupported, fmt::format("Recording: the device must be a CUDA device, got {}", info().id));
}

Recording::Recording(const Device& device, std::span<const Operand> operands,
                     const std::function<void(std::span<Buffer<std::byte>>)>& calls,
                     const std::function<void()>& prepare) {
  const std::unique_ptr<runtime::Recorder> recorder = device.implementation()->make_recorder();
  if (prepare) prepare();
  std::vector<Buffer<std::byte>> buffers;
  buffers.reserve(operands.size());
  for (const Operand& operand : operands) {
    buffers.emplace_back(device, recorder->add_operand(operand.bytes, operand.misaligned), 0, operand.bytes);
  }
  {
    const runtime::CallScope scope(device.implementation(), nullptr, recorder.get());
    calls(buffers);
  }
  recorded_ = recorder->finish();
}

std::uint64_t Recording::workspace_bytes() const noexcept {
  return recorded_->workspace_bytes();
}

bool Recording::enqueue(void* native_queue, std::span<void* const> operands, void* workspace) const {
  return recorded_->enqueue(native_queue, operands, workspace);
}

namespace {

void check_device(const char* function, const BufferBase& buffer, const Device& device) {
  if (buffer.device() == device) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: the buffer must be of the stream's device {}, got one of {}", function, device.id(),
                          buffer.device().id()));
}

void check_range(const char* function, const BufferBase& buffer, std::uint64_t offset, std::uint64_t bytes) {
  if (offset <= buffer.size_bytes() && bytes <= buffer.size_bytes() - offset) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: the range must lie inside of the buffer, got {} bytes from {} on in a buffer of {}",
                          function, bytes, offset, buffer.size_bytes()));
}

}  // namespace

std::shared_ptr<runtime::Event> runtime::Stream::launch_together(Kernel& kernel, const NDRange& range,
                                                                 std::span<const KernelArgument> arguments, Mark mark) {
  if (range.global != range.local) {
    throw Error(ErrorCode::unsupported,
                "Kernel::launch: work-groups that wait for each other need a CUDA device, or be a single one");
  }
  return launch(kernel, range, arguments, mark);
}

void runtime::throw_untimed() {
  throw Error(ErrorCode::unsupported, "Event::seconds: the stream must be made with Timing::on, got Timing::off");
}

bool Event::ready() const {
  return implementation_ == nullptr || implementation_->ready();
}

void Event::wait() const {
  if (implementation_ != nullptr) implementation_->wait();
}

double Event::seconds() const {
  return implementation_ == nullptr ? 0.0 : implementation_->seconds();
}

double Event::seconds_since(const Event& earlier) const {
  if (implementation_ == nullptr || earlier.implementation_ == nullptr) {
    throw Error(ErrorCode::invalid_argument, "Event::seconds_since: both events must be of a stream, got an empty one");
  }
  return implementation_->seconds_since(*earlier.implementation_);
}

Stream::Stream(const Device& device, Timing timing)
    : Stream(device, runtime::stream_for_call(*device.implementation(), timing)) {}

Stream::Stream(Device device, std::unique_ptr<runtime::Stream> implementation) noexcept
    : device_(std::move(device)), implementation_(std::move(implementation)) {}

Stream Stream::wrap(const Device& device, void* native_queue) {
  return Stream(device, device.implementation()->wrap_stream(native_queue, Timing::on));
}

struct StreamScope::Entry : runtime::CallScope {
  using CallScope::CallScope;
};

StreamScope::StreamScope(const Device& device, void* native_queue)
    : entry_(std::make_unique<Entry>(device.implementation(), native_queue, nullptr)) {}

StreamScope::~StreamScope() = default;

Stream::Stream(Stream&&) noexcept = default;
Stream::~Stream() = default;

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this != &other) {
    implementation_ = std::move(other.implementation_);  // the old queue goes before its device
    device_ = std::move(other.device_);
  }
  return *this;
}

void* Stream::native() const noexcept {
  return implementation_->native();
}

Event Stream::record() {
  return Event(implementation_->record());
}

void Stream::wait(const Event& event) {
  if (event.implementation() != nullptr) implementation_->wait(*event.implementation());
}

void Stream::finish() {
  implementation_->finish();
}

bool Stream::capturing() const {
  return implementation_->capturing();
}

Event Stream::write_bytes(BufferBase& target, std::uint64_t offset, const void* source, std::uint64_t bytes) {
  check_device("Stream::write", target, device_);
  check_range("Stream::write", target, offset, bytes);
  if (bytes == 0) return record();
  return Event(implementation_->write(*target.memory(), target.byte_offset() + offset, source, bytes));
}

Event Stream::read_bytes(const BufferBase& source, std::uint64_t offset, void* target, std::uint64_t bytes) {
  check_device("Stream::read", source, device_);
  check_range("Stream::read", source, offset, bytes);
  if (bytes == 0) return record();
  return Event(
      implementation_->read(*source.memory(), source.byte_offset() + offset, target, bytes, runtime::Mark::yes));
}

Event Stream::copy_bytes(BufferBase& target, const BufferBase& source) {
  check_device("Stream::copy", target, device_);
  check_device("Stream::copy", source, device_);
  runtime::check_copy(target, source);
  if (target.size_bytes() == 0) return record();
  return Event(implementation_->copy(*target.memory(), target.byte_offset(), *source.memory(), source.byte_offset(),
                                     target.size_bytes(), runtime::Mark::yes));
}

Event Stream::fill_bytes(BufferBase& target, const void* pattern, std::size_t size) {
  check_device("Stream::fill", target, device_);
  if (size == 0 || target.size_bytes() % size != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("Stream::fill: the buffer must hold whole patterns, got {} bytes and a pattern of {}",
                            target.size_bytes(), size));
  }
  if (target.size_bytes() == 0) return record();
  return Event(implementation_->fill(*target.memory(), target.byte_offset(), target.size_bytes(), pattern, size,
                                     runtime::Mark::yes));
}

void* Stream::map_bytes(const BufferBase& buffer, MapMode mode) {
  check_device("Stream::map", buffer, device_);
  if (mode != MapMode::read && buffer.memory()->read_only()) {
    throw Error(ErrorCode::invalid_argument, "Stream::map: read-only memory must be mapped with MapMode::read");
  }
  if (buffer.size_bytes() == 0) return nullptr;
  return implementation_->map(*buffer.memory(), buffer.byte_offset(), buffer.size_bytes(), mode);
}

void Stream::unmap_bytes(const BufferBase& buffer, void* address, MapMode mode) {
  if (address == nullptr) return;
  implementation_->unmap(*buffer.memory(), buffer.byte_offset(), buffer.size_bytes(), address, mode);
}

}  // namespace masu
