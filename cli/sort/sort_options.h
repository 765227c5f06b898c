// SPDX-License-Identifier: Apache-2.0
// The options of masu sort.
#pragma once

#include "command_line.h"
#include "options.h"

#include <masu/sort.h>

#include <cstdint>
#include <string>

namespace masu::cli {

struct SortCommandOptions {
  CommonOptions common;
  InputOptions input;
  std::string algorithm = "auto";
  std::string values;
  std::string values_dtype;
  std::string values_output;
  std::string rows;
  bool descending = false;
  bool index = false;
  bool is_sorted = false;
  bool trace = false;

  void add_to(const Subcommand& app);
  // Throws invalid_argument for options that exclude each other.
  void check() const;
  [[nodiscard]] Order order() const { return descending ? Order::descending : Order::ascending; }
  [[nodiscard]] std::uint64_t row_count() const { return cli::row_count(rows); }
};

}  // namespace masu::cli
