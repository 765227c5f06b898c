// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace masu::cli {

// This process's program and arguments, the program's name first. Both throw io where /proc does not tell.
std::string own_program();
std::vector<std::string> command_line();

}  // namespace masu::cli
