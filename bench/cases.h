// SPDX-License-Identifier: Apache-2.0
// The histograms that the suite of masu and its peers count.
#pragma once

#include <masu/bins.h>
#include <masu/dtype.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::bench {

struct Selection;

struct HistogramCase {
  enum class Kind { integers, even, edges, logarithmic };

  std::string_view name;
  Dtype dtype;
  std::uint64_t bins;      // of one histogram, and along each column
  Kind kind = Kind::even;  // even bins of [0, hi]
  double hi = 1;           // integers are 0 … hi - 1, floats lie in [0, 1)
  unsigned channels = 1;   // interleaved
  unsigned columns = 1;    // one after the other, counted together
  std::uint64_t row = 0;   // elements of a row; 0: the data is one row
  bool usual = false;      // measured unless cases are named

  // Elements that belong together: pixels, points, rows are not cut.
  [[nodiscard]] std::uint64_t unit() const noexcept;
  [[nodiscard]] Bins definite_bins() const;
};

std::span<const HistogramCase> histogram_cases();
// Those that are named, all of them for "all", the usual ones for nothing. Throws invalid_argument.
std::vector<HistogramCase> chosen_cases(const Selection& selection);
// All names, with commas.
std::string case_names();
// Fixed pseudo-random edges from 0 to 1, all of them f32 values: the elements of random:f32:N:seed=1 in order, with 0
// in front and 1 behind.
std::vector<double> random_edges(std::uint64_t bins);

}  // namespace masu::bench
