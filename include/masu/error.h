// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one exception type of masu.
#pragma once

#include <masu/version.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace masu {

/// What kind of failure an Error reports.
enum class ErrorCode {
  invalid_argument,  ///< the caller broke a rule that the function documents
  unsupported,       ///< valid, but this device, driver or build cannot do it
  out_of_memory,     ///< host or device memory ran out; the message names the bytes
  device_lost,       ///< the device stopped answering; the message names it
  build_failed,      ///< a kernel did not compile; the message carries the compiler's log
  io,                ///< a file or stream could not be read, written or understood
  interrupted,       ///< the caller asked a long call to stop
};

/// The name of a code as it is written in the enumeration.
MASU_EXPORT std::string_view to_string(ErrorCode code) noexcept;

/// Every failure of masu. The message is one line that names the function, the rule and the value:
/// `histogram: bins must be >= 1, got 0` (a build error is followed by the compiler's log).
class MASU_EXPORT Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);
  ~Error() override;
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace masu
