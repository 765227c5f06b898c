// SPDX-License-Identifier: Apache-2.0
// OpenCL's error codes as masu::Error.
#pragma once

#include "backends/opencl/loader.h"

#include <masu/error.h>

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

// Compilers' messages with the lines that the source gives itself.

// NVIDIA's compiler (580, 2026-11) counts lines from the start of the text, as "<kernel>:LINE", whatever `#line` says;
// that of Oclgrind 21.10 does so too, as "input.cl:LINE". `marker` is what stands before LINE.
// Puts in the file and the line that the directives of `source` mean; a line before the first of them stays as it is.
std::string with_presumed_lines(std::string_view log, std::string_view source, std::string_view marker = "<kernel>:");

// The log without what NVIDIA's compiler (580, 2026-11) says of every kernel: that it is one, and may be inlined.
std::string without_noise(std::string_view log);

}  // namespace masu::opencl
