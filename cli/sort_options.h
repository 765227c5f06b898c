// SPDX-License-Identifier: Apache-2.0
// The options of masu sort.
#pragma once

#include "options.h"

#include <masu/sort.h>

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

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

  void add_to(CLI::App& app);
  // Throws invalid_argument for options that exclude each other.
  void check() const;
  [[nodiscard]] Order order() const { return descending ? Order::descending : Order::ascending; }
  [[nodiscard]] std::uint64_t row_count() const { return cli::row_count(rows); }
};

}  // namespace masu::cli
