// SPDX-License-Identifier: Apache-2.0
// What surrounds the data: title, legend, notes, axes and grid, laid out to fit the page.
#pragma once

#include "plot/canvas.h"

#include <masu/plot.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::plot {

// Axes: where a value lies along one, and which values are named there.

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

// Which colours are used. Readers who see fewer of them tell the palette's apart too.
inline constexpr Colour ink{0x26, 0x26, 0x26};
inline constexpr Colour faded_ink{0x66, 0x66, 0x66};
inline constexpr Colour axis_colour{0x4D, 0x4D, 0x4D};
inline constexpr Colour grid_colour{0xE4, 0xE4, 0xE4};

struct Look {
  Colour colour;
  double dash = 0;  // of its outline
  friend bool operator==(const Look&, const Look&) = default;
};
// Of the series `index` of that name: a channel's own colour, or the next of the palette, dashed when it is used up.
Look look(std::string_view name, std::uint64_t index);

// 0 … 1 from dark to bright, each step as much brighter as the one before. 0xRRGGBB.
std::uint32_t heat(double part);

struct LegendEntry {
  std::string name;
  Look look;
  double fill = 0;  // how opaque
};

struct PageParts {
  std::vector<LegendEntry> legend;
  std::vector<std::string> notes;
  bool colour_bar = false;
};

class Page {
 public:
  // Throws invalid_argument for a size out of bounds.
  Page(const Frame& frame, Format format, const PageParts& parts);

  // Finds the place of the data, and names the ticks of the two axes (and of the colour bar).
  void lay_out(Axis x, Axis y, Numbers x_numbers, Numbers y_numbers, Axis* bar = nullptr, bool y_down = false);
  void grid();
  // After the data. `boxed`: all four sides.
  void axes(bool boxed);
  // Strips of colour from bottom to top, for the axis given to lay_out.
  void colour_bar(const Axis& bar, const std::string& label);

  [[nodiscard]] const Rect& area() const noexcept { return area_; }
  [[nodiscard]] const Axis& x() const noexcept { return x_; }
  [[nodiscard]] const Axis& y() const noexcept { return y_; }
  [[nodiscard]] double font() const noexcept { return font_; }
  [[nodiscard]] Canvas& canvas() noexcept { return canvas_; }
  // Where a value of y lies on the page.
  [[nodiscard]] double y_place(double value) const noexcept;
  // Shortened with "…" to fit.
  std::string fitted(const std::string& text, double width, double size, bool bold = false);

 private:
  void name_to_fit(Axis& axis, Numbers numbers, double length, bool level);
  double widest(const Axis& axis);
  std::vector<std::vector<LegendEntry>> legend_rows(double width);
  double entry_width(const LegendEntry& entry);
  std::vector<std::string> note_lines(double width);

  const Frame& frame_;
  PageParts parts_;
  double font_;
  Canvas canvas_;
  Rect area_;
  Axis x_;
  Axis y_;
  bool y_down_ = false;
  double x_names_ = 0;  // where the line of x's numbers stands
};

// Throws invalid_argument for a width, height or number of pixels out of bounds.
void check_size(const Frame& frame, Format format);
double font_size(double width, double height);

}  // namespace masu::plot
