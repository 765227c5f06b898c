// SPDX-License-Identifier: Apache-2.0
// Turns the driver's results into masu::Error.
#pragma once

#include "backends/cuda/driver_api.h"

#include <masu/error.h>

#include <string>
#include <string_view>

namespace masu::cuda {

// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)".
std::string error_text(const Driver& driver, CUresult code);

// What kind of failure a result is. Errors after which a context cannot be used any more are device_lost.
ErrorCode error_code(CUresult code) noexcept;

// Throws "FUNCTION: DEVICE: TEXT".
[[noreturn]] void throw_error(const Driver& driver, CUresult code, std::string_view function, std::string_view device);

inline void check(const Driver& driver, CUresult code, std::string_view function, std::string_view device) {
  if (code != success) throw_error(driver, code, function, device);
}

}  // namespace masu::cuda
