// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_pool.h"

#include "runtime/backend.h"

#include <masu/recording.h>

#include <fmt/format.h>

#include <exception>
#include <utility>
#include <vector>

namespace masu::runtime {

namespace {

// This thread's scopes, the innermost first.
thread_local constinit const Borrowed* borrowed = nullptr;
thread_local constinit const RecordingScope* recording = nullptr;

const Borrowed* borrowed_of(const Device& device) {
  const Borrowed* found = borrowed;
  while (found != nullptr && found->device.get() != &device) found = found->outer;
  return found;
}

}  // namespace

Recorder* recorder_of(const Device& device) noexcept {
  const RecordingScope* found = recording;
  while (found != nullptr && &found->device_ != &device) found = found->outer_;
  return found != nullptr ? &found->recorder_ : nullptr;
}

RecordingScope::RecordingScope(Device& device, Recorder& recorder) noexcept
    : device_(device), recorder_(recorder), outer_(recording) {
  recording = this;
}

RecordingScope::~RecordingScope() {
  recording = outer_;
}

std::shared_ptr<Memory> memory_for_call(Device& device, std::uint64_t bytes) {
  Recorder* recorder = recorder_of(device);
  return recorder != nullptr ? recorder->allocate(bytes) : device.allocate(bytes);
}

std::unique_ptr<Stream> stream_for_call(Device& device, Timing timing) {
  if (Recorder* recorder = recorder_of(device)) return recorder->make_stream();
  const Borrowed* scope = borrowed_of(device);
  return scope != nullptr ? device.wrap_stream(scope->queue, timing) : device.make_stream(timing);
}

Borrowed::Borrowed(std::shared_ptr<Device> of, void* native) : device(std::move(of)), queue(native), outer(borrowed) {
  device->wrap_stream(queue, Timing::off);  // throws for what is none
  borrowed = this;
}

Borrowed::~Borrowed() {
  borrowed = outer;
}

StreamLease::StreamLease(Device& device) : device_(device.shared_from_this()), exceptions_(std::uncaught_exceptions()) {
  if (borrowed_of(device) != nullptr || recorder_of(device) != nullptr) {
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
  runtime::Device& implementation = *device.implementation();
  const std::unique_ptr<runtime::Recorder> recorder = implementation.make_recorder();
  if (prepare) prepare();
  std::vector<Buffer<std::byte>> buffers;
  buffers.reserve(operands.size());
  for (const Operand& operand : operands) {
    buffers.emplace_back(device, recorder->add_operand(operand.bytes, operand.misaligned), 0, operand.bytes);
  }
  {
    const runtime::RecordingScope scope(implementation, *recorder);
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

}  // namespace masu
