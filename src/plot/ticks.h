// SPDX-License-Identifier: Apache-2.0
// Axes: where a value lies along one, and which values are named there.
#pragma once

#include "plot/canvas.h"

#include <cstdint>
#include <string>
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

}  // namespace masu::plot
