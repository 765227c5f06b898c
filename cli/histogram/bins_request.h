// SPDX-License-Identifier: Apache-2.0
// Which bins the options --bins, --range, --edges, --integers and --log ask for.
#pragma once

#include <masu/bins.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace masu::cli {

inline constexpr std::uint64_t default_bins = 100;

// What was asked for one column: at most one of `edges`, `integers`, `rule`, and `bins` with or without `range`.
struct BinsRequest {
  std::optional<std::uint64_t> bins;
  std::optional<Estimator> rule;  // may have a `range` too
  std::optional<std::pair<double, double>> range;
  std::optional<std::uint64_t> integers;
  std::vector<double> edges;
  bool log = false;  // the bins have equal ratios
};

// The options' values as they were given.
struct BinsTexts {
  std::string bins;
  std::string range;
  std::string edges;
  std::string integers;
  bool log = false;
};

// One request, or, with `joint`, as many as the values separated by ';' are. Throws invalid_argument for what no data
// can be counted in, before any input is opened.
std::vector<BinsRequest> parse_bins(const BinsTexts& texts, bool joint);

}  // namespace masu::cli
