// SPDX-License-Identifier: Apache-2.0
// Streams for calls that wait for their result: each call borrows one, so that many threads can use a device at once.
#pragma once

#include "runtime/backend.h"

#include <memory>

namespace masu::runtime {

// A stream of `device`, borrowed until destruction. Never null. Make a new one only when all are lent.
class StreamLease {
 public:
  explicit StreamLease(Device& device);
  ~StreamLease();
  StreamLease(const StreamLease&) = delete;
  StreamLease& operator=(const StreamLease&) = delete;
  Stream& operator*() const noexcept { return *stream_; }
  Stream* operator->() const noexcept { return stream_.get(); }

 private:
  std::shared_ptr<Device> device_;
  int exceptions_;  // in flight when it was borrowed
  std::unique_ptr<Stream> stream_;
};

}  // namespace masu::runtime
