// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/context.h"

#include <utility>

namespace masu::cuda {

namespace {

constexpr std::size_t most_streams = 16;  // kept for later

}  // namespace

Context::Context(const Driver& driver, CUcontext handle, CUdevice device, std::string name, bool retained)
    : driver_(driver), handle_(handle), device_(device), name_(std::move(name)), retained_(retained) {}

std::shared_ptr<Context> Context::primary(const Driver& driver, CUdevice device, std::string name) {
  CUcontext handle = nullptr;
  cuda::check(driver, driver.primary_ctx_retain(&handle, device), "cuDevicePrimaryCtxRetain", name);
  return std::shared_ptr<Context>(new Context(driver, handle, device, std::move(name), true));
}

std::shared_ptr<Context> Context::wrap(const Driver& driver, CUcontext handle, CUdevice device, std::string name) {
  return std::shared_ptr<Context>(new Context(driver, handle, device, std::move(name), false));
}

Context::~Context() {
  {
    const ContextScope scope(*this, std::nothrow);
    if (scope.current()) {
      for (CUevent event : events_) driver_.event_destroy(event);
      for (CUstream stream : streams_) driver_.stream_destroy(stream);
    }
  }
  if (retained_) driver_.primary_ctx_release(device_);
}

CUevent Context::take_event() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      const CUevent event = events_.back();
      events_.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  check(driver_.event_create(&event, event_default), "cuEventCreate");
  return event;
}

void Context::give_event(CUevent event) noexcept {
  if (event == nullptr) return;
  try {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  } catch (...) {  // no memory to keep it
    const ContextScope scope(*this, std::nothrow);
    if (scope.current()) driver_.event_destroy(event);
  }
}

CUstream Context::take_stream() {
  {
    const std::lock_guard lock(mutex_);
    if (!streams_.empty()) {
      const CUstream stream = streams_.back();
      streams_.pop_back();
      return stream;
    }
  }
  CUstream stream = nullptr;
  check(driver_.stream_create(&stream, stream_non_blocking), "cuStreamCreate");
  return stream;
}

void Context::give_stream(CUstream stream) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (streams_.size() < most_streams) return streams_.push_back(stream);
  } catch (...) {  // no memory to keep it
  }
  const ContextScope scope(*this, std::nothrow);
  if (scope.current()) driver_.stream_destroy(stream);
}

}  // namespace masu::cuda
