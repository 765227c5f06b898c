// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ending a long call before it is done.
#pragma once

#include <masu/version.h>

#include <functional>
#include <memory>

namespace masu {

namespace runtime {
class Interruption;
}

/// While it lives, masu's calls of this thread can be ended. They call `stop` about every 50 milliseconds, between
/// two parts of their work on the CPU. Once it has returned true they end with an Error of code `interrupted`. What
/// such a call was writing is then unspecified. `stop` is called on this thread alone, must not call masu, and is not
/// called again after it has returned true. Later calls in the scope end at once. An exception of `stop` reaches the
/// caller. Scopes may be nested; the inner one counts. A kernel that runs on a device is waited for.
///
/// Example:
/// @code
/// std::atomic<bool> cancelled = false;   // set by a button
/// masu::InterruptScope scope([&] { return cancelled.load(); });
/// masu::sort(samples);                   // may throw Error with code() == ErrorCode::interrupted
/// @endcode
class MASU_EXPORT InterruptScope {
 public:
  explicit InterruptScope(std::function<bool()> stop);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  std::unique_ptr<runtime::Interruption> interruption_;
  runtime::Interruption* outer_;
};

/// For a long loop of the caller's own in a scope. Throws Error with code `interrupted` when its calls shall end.
/// Does nothing outside of a scope. Takes some 30 ns.
MASU_EXPORT void check_interrupted();

}  // namespace masu
