// SPDX-License-Identifier: Apache-2.0
#include <masu/error.h>

namespace masu {

std::string_view to_string(ErrorCode code) noexcept {
  constexpr std::string_view names[] = {"invalid_argument", "unsupported", "out_of_memory", "device_lost",
                                        "build_failed",     "io",          "interrupted"};
  return names[static_cast<std::size_t>(code)];
}

Error::Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
Error::~Error() = default;  // here, so that the type has one home and can be caught across shared libraries

}  // namespace masu
