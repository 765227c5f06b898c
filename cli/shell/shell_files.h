// SPDX-License-Identifier: Apache-2.0
// The manual page and the shells' completions, made from the options that the command itself reads.
#pragma once

#include "command_line.h"

#include <string>

namespace masu::cli {

std::string manual(const CommandLine& line);
std::string bash_completion(const CommandLine& line);
std::string zsh_completion(const CommandLine& line);
std::string fish_completion(const CommandLine& line);

}  // namespace masu::cli
