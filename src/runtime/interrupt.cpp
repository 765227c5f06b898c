// SPDX-License-Identifier: Apache-2.0
#include "runtime/interrupt.h"

#include <masu/error.h>
#include <masu/interrupt.h>

#include <utility>

namespace masu {
namespace runtime {
namespace {

constexpr std::chrono::milliseconds asked_every{50};

thread_local Interruption* of_this_thread = nullptr;

}  // namespace

Interruption::Interruption(std::function<bool()> stop)
    : stop_(std::move(stop)),
      owner_(std::this_thread::get_id()),
      next_(std::chrono::steady_clock::now() + asked_every) {}

bool Interruption::stopped() {
  if (stopped_.load(std::memory_order_relaxed)) return true;
  if (std::this_thread::get_id() != owner_) return false;
  if (std::chrono::steady_clock::now() < next_) return false;
  const bool stop = stop_();
  // Set after the call: however long `stop` takes, the work goes on in between.
  next_ = std::chrono::steady_clock::now() + asked_every;
  if (stop) stopped_.store(true, std::memory_order_relaxed);
  return stop;
}

void Interruption::check() {
  if (stopped()) throw Error(ErrorCode::interrupted, "masu: the call was interrupted");
}

Interruption* Interruption::current() noexcept {
  return of_this_thread;
}

Interruption::Loan::Loan(Interruption* interruption) noexcept : outer_(std::exchange(of_this_thread, interruption)) {}

Interruption::Loan::~Loan() {
  of_this_thread = outer_;
}

}  // namespace runtime

InterruptScope::InterruptScope(std::function<bool()> stop)
    : interruption_(std::make_unique<runtime::Interruption>(std::move(stop))),
      outer_(std::exchange(runtime::of_this_thread, interruption_.get())) {}

InterruptScope::~InterruptScope() {
  runtime::of_this_thread = outer_;
}

void check_interrupted() {
  runtime::check_interrupted();
}

}  // namespace masu
