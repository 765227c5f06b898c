// SPDX-License-Identifier: Apache-2.0
// What a subcommand is to main(): its options, and what to do when it was chosen. One add_… function per file.
#pragma once

#include <masu/error.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace masu::cli {

// The exit status of the command.
enum class Exit : int {
  done = 0,
  failed = 1,         // a file, its data, an absent device, memory
  usage = 2,          // options, values, unknown names
  differs = 3,        // checked and found otherwise
  interrupted = 130,  // by SIGINT
};

struct Command {
  CLI::App* app;
  std::function<Exit()> run;
};

Command add_bench(CLI::App& root);
Command add_devices(CLI::App& root);
Command add_histogram(CLI::App& root);
Command add_selftest(CLI::App& root);

// Wrong use of the command: exit status 2.
[[noreturn]] inline void usage_error(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

// --verify found another result: exit status 3.
struct Differs : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace masu::cli
