// SPDX-License-Identifier: Apache-2.0
// Axes: where a value lies along one, and which values are named there.
#pragma once

#include "plot/canvas.h"

#include <masu/plot.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace masu::plot {

// How numbers on an axis are written: as they are, with a power of ten for the whole axis where they are long; or as
// counts, 10k and 1M.
enum class Numbers { values, counts };

struct Tick {
  double value = 0;
  Label label;
};

// A piece of a line, linear or logarithmic, lo < hi.
struct Axis {
  double lo = 0;
  double hi = 1;
  bool logarithmic = false;
  std::vector<Tick> ticks;
  std::vector<double> minor;  // ticks without a name
  Label factor;               // stands at the axis's end: every label is to be multiplied by it …
  std::string offset;         // … and added to this; empty: none

  // 0 at lo, 1 at hi.
  [[nodiscard]] double at(double value) const noexcept;
  // The value at 0 … 1: the other way round.
  [[nodiscard]] double value(double at) const noexcept;
  // Replaces the ticks by at most `most` (at least 2) named ones at 1, 2 or 5 times a power of ten.
  void name(unsigned most, Numbers numbers);
};

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number);

// Bins as they are drawn: each as wide as it is, or several in a column of pixels.

// The bins [first, end) have a place on an axis: both their edges are finite, and positive on a logarithmic one.
struct Placed {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  double lo = 0;  // edge(first)
  double hi = 0;  // edge(end)
};
Placed placed(const BinAxis& bins, bool logarithmic);
bool is_logarithmic(const BinAxis& bins);
// A range that has room for all these, lo < hi.
std::pair<double, double> widened(double lo, double hi, bool logarithmic);

// For `columns` equal parts of an axis, the bins [first, end) that lie in each, wholly or in part.
struct Span {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};
std::vector<Span> bins_in_columns(const BinAxis& bins, const Placed& place, const Axis& axis, std::uint64_t columns);

struct Step {
  double left = 0;  // along the axis, 0 … 1
  double right = 0;
  double height = 0;
};

struct Steps {
  std::vector<Step> steps;
  double highest = 0;
  double lowest = 0;                 // but for 0; 0 when all are
  std::uint64_t most_in_column = 1;  // bins that share one step
  std::uint64_t unplaced = 0;        // values in bins that have no place on the axis
};
// `columns`: how many steps can be told apart along the axis.
Steps steps(const Series& series, const Axis& axis, std::uint64_t columns, Quantity quantity, std::uint64_t total);

}  // namespace masu::plot
