// SPDX-License-Identifier: Apache-2.0
// What a subcommand is to main(): its options, and what to do when it was chosen. One add_… function per file.
#pragma once

#include "command_line.h"
#include "errors.h"

#include <functional>

namespace masu::cli {

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

}  // namespace masu::cli
