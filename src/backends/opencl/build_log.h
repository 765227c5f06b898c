// SPDX-License-Identifier: Apache-2.0
// Compilers' messages with the lines that the source gives itself.
#pragma once

#include <string>
#include <string_view>

namespace masu::opencl {

// NVIDIA's compiler (580, 2026-11) counts lines from the start of the text, as "<kernel>:LINE", whatever `#line` says;
// that of Oclgrind 21.10 does so too, as "input.cl:LINE". `marker` is what stands before LINE.
// Puts in the file and the line that the directives of `source` mean; a line before the first of them stays as it is.
std::string with_presumed_lines(std::string_view log, std::string_view source, std::string_view marker = "<kernel>:");

// The log without what NVIDIA's compiler (580, 2026-11) says of every kernel: that it is one, and may be inlined.
std::string without_noise(std::string_view log);

}  // namespace masu::opencl
