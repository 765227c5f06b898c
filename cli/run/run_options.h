// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/check/check.h"
#include "cli/run/run_job.h"
#include "command_line.h"

#include <string>
#include <vector>

namespace masu::cli {

// The options of `masu run` as they are typed.
struct RunOptions {
  std::string file;
  std::string language;
  std::string device;
  std::string kernel;
  std::string global;
  std::string local;
  std::string options;
  std::string repeat;
  std::string timeout;
  std::vector<std::string> arguments;
  std::vector<std::string> expectations;
  bool json = false;
  bool quiet = false;
  bool time = false;
  bool check = false;
  std::string under_oclgrind;

  void add_to(const Subcommand& app);
  // Reads the kernel too. Throws invalid_argument for values that make no sense, io where the file cannot be read.
  [[nodiscard]] RunJob job() const;
  [[nodiscard]] CheckRequest check_request(const RunJob& job) const;
};

}  // namespace masu::cli
