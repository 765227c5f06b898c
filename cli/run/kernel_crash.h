// SPDX-License-Identifier: Apache-2.0
// A kernel on an OpenCL CPU device runs in this process, and its faults are the process's.
#pragma once

#include <string>

namespace masu::cli {

// From here on a signal by which the processor refuses what a kernel does (memory that is nobody's, a division by
// zero), or the C library what it has done to its memory, ends the process with exit status 1 and one line: damage
// often shows after the kernel.
void blame_crashes_on(const std::string& kernel);

}  // namespace masu::cli
