// SPDX-License-Identifier: Apache-2.0
/// @file
/// The floating-point environment that masu computes in.
#pragma once

#include <masu/version.h>

#include <cstdint>

namespace masu {

/// While it lives, this thread rounds to nearest, ties to even, keeps subnormal numbers and raises no signals for
/// floating-point exceptions. Every call of masu makes one, and so does each of its tasks on other threads: results do
/// not depend on the mode that the caller, or a library built with `-ffast-math`, has set. Its end puts the thread's
/// own mode back, also when an exception leaves the call. Flags of floating-point exceptions that are raised in between
/// stay raised. What masu calls back (see InterruptScope) runs in the caller's mode.
///
/// Takes a few nanoseconds where the thread has that mode already. Use it around code of your own that must not depend
/// on the mode either. Scopes may be nested, the last made ends first, in its thread.
class MASU_EXPORT FloatingPointScope {
 public:
  FloatingPointScope() noexcept;
  /// Another mode: one that mode() has given.
  explicit FloatingPointScope(std::uint64_t mode) noexcept;
  ~FloatingPointScope();
  FloatingPointScope(const FloatingPointScope&) = delete;
  FloatingPointScope& operator=(const FloatingPointScope&) = delete;

  /// This thread's mode: the processor's control bits.
  [[nodiscard]] static std::uint64_t mode() noexcept;

 private:
  std::uint64_t outer_;
};

}  // namespace masu
