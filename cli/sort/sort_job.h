// SPDX-License-Identifier: Apache-2.0
// `masu sort`: its options, and from opening its inputs to writing its outputs.
#pragma once

#include "command_line.h"
#include "options.h"
#include "terminal.h"

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

// `masu sort` from opening its inputs to writing its outputs.
struct SortSummary {
  std::string name;
  std::uint64_t count = 0;
  Dtype dtype = Dtype::u8;
  std::string device;
  std::uint64_t rows = 1;
  std::uint64_t runs = 0;  // that were put into temporary files; 0: all was sorted in memory
  std::uint64_t bad_lines = 0;
  std::uint64_t bytes = 0;
  Seconds seconds;
};

// Throws Differs when it is to verify and the reference sorts otherwise; no file is left then.
SortSummary run_sort(const SortCommandOptions& asked, Progress& progress);
// The same of an input that the ranks share: each sorts what it has read, and gets its share of the order of all.
SortSummary run_shared_sort(const SortCommandOptions& asked, Progress& progress);

}  // namespace masu::cli
