// SPDX-License-Identifier: Apache-2.0
// How much of a long call is done, for those who show it.
#pragma once

#include <masu/version.h>

#include <atomic>
#include <cstdint>

namespace masu::runtime {

class Interruption;

// While it lives, elements are counted that have their final values, of calls in this thread's innermost
// InterruptScope, on all of their threads.
class MASU_EXPORT Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  [[nodiscard]] std::uint64_t finished() const noexcept { return finished_.load(std::memory_order_relaxed); }

 private:
  friend void add_finished(std::uint64_t elements) noexcept;
  const Interruption* of_;
  Progress* next_;  // of all there are
  std::atomic<std::uint64_t> finished_{0};
};

// Adds elements of the call that this thread works for. Not for few elements.
void add_finished(std::uint64_t elements) noexcept;

}  // namespace masu::runtime
