// SPDX-License-Identifier: Apache-2.0
// Which kernel of a program to run, and what it takes.
#pragma once

#include <masu/program.h>

#include <cstddef>
#include <span>
#include <string>

namespace masu::cli {

// The kernel of that name, or the only one for "". `file` is for messages. A kernel of CUDA C++ may be named as in its
// source, without `extern "C"` too.
Kernel find_kernel(const Program& program, const std::string& name, const std::string& file);

// Its name as the source has it.
std::string source_name(const Kernel& kernel);

// Refuses another number of arguments than the kernel takes, with all that it takes.
void check_count(const Kernel& kernel, std::span<const KernelArgument> arguments, DeviceKind device);

// The number of the argument that --expect names by number or name.
std::size_t argument_number(const Kernel& kernel, const std::string& text, std::size_t count);

// The name of an argument in the source; "" where the program does not tell.
std::string argument_name(const Kernel& kernel, std::size_t number);
// "argument 2 (x)"
std::string argument_text(std::size_t number, const std::string& name);

}  // namespace masu::cli
