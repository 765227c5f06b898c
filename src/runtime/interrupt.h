// SPDX-License-Identifier: Apache-2.0
// Whether the call that this thread works for shall end (see masu/interrupt.h).
#pragma once

#include <masu/export.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace masu::runtime {

class Interruption {
 public:
  explicit Interruption(std::function<bool()> stop);

  // Whether to stop. Any thread; the one that made this asks the caller now and then.
  bool stopped();
  // Throws interrupted if so.
  void check();

  // This thread's; null outside of an InterruptScope.
  static Interruption* current() noexcept;

  // Work for a call of another thread: while it lives, that call's Interruption is this thread's.
  class Loan {
   public:
    explicit Loan(Interruption* interruption) noexcept;
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    Interruption* outer_;
  };

 private:
  std::function<bool()> stop_;
  std::thread::id owner_;
  std::chrono::steady_clock::time_point next_;  // the owner's alone
  std::atomic<bool> stopped_{false};
};

// For long loops inside of one task: throws interrupted when the call shall end.
inline void check_interrupted() {
  if (Interruption* interruption = Interruption::current()) interruption->check();
}

}  // namespace masu::runtime
