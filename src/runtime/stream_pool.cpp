// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_pool.h"

#include <exception>
#include <utility>

namespace masu::runtime {

StreamLease::StreamLease(Device& device) : device_(device.shared_from_this()), exceptions_(std::uncaught_exceptions()) {
  {
    Kept& kept = device.kept();
    const std::lock_guard lock(kept.mutex);
    if (!kept.streams.empty()) {
      stream_ = std::move(kept.streams.back());
      kept.streams.pop_back();
    }
  }
  if (stream_ == nullptr) stream_ = device.make_stream(Timing::on);
}

StreamLease::~StreamLease() {
  // After a failure work may still be under way on the caller's memory: the stream's destructor waits for it.
  if (std::uncaught_exceptions() > exceptions_) return;
  try {
    Kept& kept = device_->kept();
    const std::lock_guard lock(kept.mutex);
    kept.streams.push_back(std::move(stream_));
  } catch (...) {  // no memory to keep it: it is destroyed instead
  }
}

}  // namespace masu::runtime
