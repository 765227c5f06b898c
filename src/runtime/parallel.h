// SPDX-License-Identifier: Apache-2.0
// CPU threads: how many, and a loop over them.
#pragma once

#include <masu/floating_point.h>
#include <masu/version.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

namespace masu::runtime {

// Whether the call that this thread works for shall end (see masu/interrupt.h).
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
  std::uint64_t mode_ = FloatingPointScope::mode();  // the owner's, in which `stop` is called
  std::thread::id owner_;
  std::chrono::steady_clock::time_point next_;  // the owner's alone
  std::atomic<bool> stopped_{false};
};

// For long loops inside of one task: throws interrupted when the call shall end.
inline void check_interrupted() {
  if (Interruption* interruption = Interruption::current()) interruption->check();
}

// A function that is not copied: what it refers to outlives the call that it is given to.
template <class... A>
class Body {
 public:
  template <class F>
  Body(const F& f) noexcept  // NOLINT(google-explicit-constructor)
      : function_(&f), call_([](const void* function, A... a) { (*static_cast<const F*>(function))(a...); }) {}
  void operator()(A... a) const { call_(function_, a...); }

 private:
  const void* function_;
  void (*call_)(const void*, A...);
};

// Runs body(task) for every task in [0, tasks) on up to cpu_threads() threads of oneTBB. With one thread, or one task,
// it runs in the caller and starts no thread. The caller's arena and its limit are honoured. Exceptions reach the
// caller. Where the caller's InterruptScope says so, it ends with an Error of code interrupted. Exported for masu's
// other libraries.
MASU_EXPORT void parallel_tasks(std::uint64_t tasks, Body<std::uint64_t> body);

// The same for [0, count) cut into `stripes`: body(first, last, stripe).
void for_stripes(std::uint64_t count, std::uint64_t stripes, Body<std::uint64_t, std::uint64_t, std::uint64_t> body);

// The same for [0, count) in parts of `each`, of which the last may be shorter: body(first, end).
template <class F>
void parallel_parts(std::uint64_t count, std::uint64_t each, const F& body) {
  parallel_tasks((count + each - 1) / each,
                 [&](std::uint64_t task) { body(task * each, std::min(count, (task + 1) * each)); });
}

}  // namespace masu::runtime
