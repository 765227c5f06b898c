// SPDX-License-Identifier: Apache-2.0
// The histograms that the suite of masu and its peers count.
#pragma once

#include "harness.h"
#include "inputs.h"

#include <masu/bins.h>
#include <masu/dtype.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::bench {

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

inline constexpr std::array<std::string_view, 7> histogram_distributions = {"uniform", "constant", "normal", "zipf",
                                                                            "sorted",  "runs",     "few"};

std::span<const HistogramCase> histogram_cases();
// A generator's text (docs/generators.md): integers from 0 to below the case's `hi`, floats in [0, 1).
std::string histogram_input_text(const HistogramCase& what, std::uint64_t count, std::string_view distribution);
// About `bytes` bytes of it, in whole units of the case and at most 2^16 rows.
Input histogram_input(const HistogramCase& what, std::uint64_t bytes, std::string_view distribution);
// What the rows of an input have in common.
Row histogram_row(const HistogramCase& what, const Input& input, std::string_view distribution);
// Fixed pseudo-random edges from 0 to 1, all of them f32 values: the elements of random:f32:N:seed=1 in order, with 0
// in front and 1 behind.
std::vector<double> random_edges(std::uint64_t bins);

}  // namespace masu::bench
