// SPDX-License-Identifier: Apache-2.0
// OpenCL's error codes as masu::Error.
#pragma once

#include <masu/error.h>

#include "backends/opencl/loader.h"

#include <string>
#include <string_view>

namespace masu::opencl {

// "CL_INVALID_VALUE"; "OpenCL error -9999" for a code that is not in the standard.
std::string error_name(cl_int code);

// What a code means, unless the caller knows better.
ErrorCode error_code(cl_int code) noexcept;

// "FUNCTION: DEVICE: WHAT failed with CL_…".
[[noreturn]] void fail(cl_int code, std::string_view function, std::string_view device, std::string_view what);

inline void check(cl_int code, std::string_view function, std::string_view device, std::string_view what) {
  if (code != CL_SUCCESS) fail(code, function, device, what);
}

}  // namespace masu::opencl
