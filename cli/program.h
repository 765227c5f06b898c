// SPDX-License-Identifier: Apache-2.0
// Subcommands, one add_… function a file, and programs of them.
#pragma once

#include "command_line.h"
#include "errors.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace masu::bench {
struct Options;
}

namespace masu::cli {

// What a subcommand is to main(): its options, and what to do when it was chosen.
struct Command {
  Subcommand app;
  std::function<Exit()> run;
};

Command add_bench(CommandLine& line);
Command add_convert(CommandLine& line);
Command add_devices(CommandLine& line);
Command add_dot(CommandLine& line);
Command add_histogram(CommandLine& line);
Command add_quantile(CommandLine& line);
Command add_reduce(CommandLine& line);
Command add_run(CommandLine& line);
Command add_scan(CommandLine& line);
Command add_selftest(CommandLine& line);
Command add_sort(CommandLine& line);
Command add_topk(CommandLine& line);
Command add_transpose(CommandLine& line);
Command add_unique(CommandLine& line);

// What `masu bench` does. Two programs define it: masu-bench measures (bench/command.cpp), masu runs masu-bench
// (cli/bench_elsewhere.cpp).
Exit run_bench(const bench::Options& options);

// A program of subcommands: finds the one that was asked for, runs it, and turns what went wrong into one line and an
// exit status.
struct CommandProgram {
  std::string name;
  std::string description;
  std::span<Command (*const)(CommandLine& line)> commands;  // a subcommand is a file with one such function
  std::string more;                                         // behind the help
  const char* interrupted = nullptr;                        // a line that says that a signal has ended it
};

int run_program(const CommandProgram& program, int argc, char** argv);

inline constexpr const char* exit_statuses =
    "Exit status: 0 done, 1 failed, 2 wrong usage, 3 checked and found\notherwise, 130 interrupted.";

// This process's program and arguments, the program's name first. Both throw io where /proc does not tell.
std::string own_program();
std::vector<std::string> command_line();

}  // namespace masu::cli
