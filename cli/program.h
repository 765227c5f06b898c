// SPDX-License-Identifier: Apache-2.0
// A program of subcommands: finds the one that was asked for, runs it, and turns what went wrong into one line and an
// exit status.
#pragma once

#include "command.h"

#include <span>
#include <string>

namespace masu::cli {

struct Program {
  std::string name;
  std::string description;
  std::span<Command (*const)(CommandLine& line)> commands;  // a subcommand is a file with one such function
  std::string more;                                         // behind the help
  const char* interrupted = nullptr;                        // a line that says that a signal has ended it
};

int run_program(const Program& program, int argc, char** argv);

inline constexpr const char* exit_statuses =
    "Exit status: 0 done, 1 failed, 2 wrong usage, 3 checked and found\notherwise, 130 interrupted.";

}  // namespace masu::cli
