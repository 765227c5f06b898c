// SPDX-License-Identifier: Apache-2.0
// What calls report of their time, in seconds.
#pragma once

#include <chrono>

namespace masu::call {

// The host's clock.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Adds the seconds of its life to one part of the times that the caller wants, if any:
// `const call::Timer timer(options.times, &Times::compute);`
template <class Times>
class Timer {
 public:
  Timer(Times* times, double Times::*part) : times_(times), part_(part), start_(times != nullptr ? now() : 0) {}
  ~Timer() {
    if (times_ != nullptr) times_->*part_ += now() - start_;
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Times* times_;
  double Times::*part_;
  double start_;
};

template <class Times>
void start_times(Times* times) {
  if (times != nullptr) *times = {};
}

template <class Times>
void add_times(Times* times, const Times& more) {
  if (times == nullptr) return;
  times->transfer += more.transfer;
  times->compute += more.compute;
}

}  // namespace masu::call
