// SPDX-License-Identifier: Apache-2.0
// Streams for calls that are given none: masu's own, or the queue of the caller's that a StreamScope names, or one that
// takes commands down. Memory for them.
#pragma once

#include "runtime/backend.h"

#include <memory>

namespace masu::runtime {

// A stream on the queue of this thread's innermost StreamScope of `device`; a new one of masu's where there is none.
std::unique_ptr<Stream> stream_for_call(Device& device, Timing timing);

// Memory that a call needs.
std::shared_ptr<Memory> memory_for_call(Device& device, std::uint64_t bytes);

// While it lives, this thread's calls on the device are taken down or, without a recorder, go to a queue of the
// caller's.
struct CallScope {
  CallScope(std::shared_ptr<Device> of, void* to, Recorder* by);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  std::shared_ptr<Device> device;
  void* queue;
  Recorder* recorder;
  CallScope* outer;
};

// A stream for a call that waits for its result, borrowed until destruction, so that many threads can use a device at
// once. Never null. Made anew only when all are lent.
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
  bool kept_ = true;
  std::unique_ptr<Stream> stream_;
};

}  // namespace masu::runtime
