// SPDX-License-Identifier: Apache-2.0
// What a subcommand is to main(): its options, and what to do when it was chosen. One add_… function per file.
#pragma once

#include "errors.h"

#include <functional>

namespace CLI {
class App;
}

namespace masu::cli {

struct Command {
  CLI::App* app;
  std::function<Exit()> run;
};

Command add_bench(CLI::App& root);
Command add_convert(CLI::App& root);
Command add_devices(CLI::App& root);
Command add_dot(CLI::App& root);
Command add_histogram(CLI::App& root);
Command add_quantile(CLI::App& root);
Command add_reduce(CLI::App& root);
Command add_run(CLI::App& root);
Command add_scan(CLI::App& root);
Command add_selftest(CLI::App& root);
Command add_sort(CLI::App& root);
Command add_topk(CLI::App& root);
Command add_transpose(CLI::App& root);
Command add_unique(CLI::App& root);

}  // namespace masu::cli
