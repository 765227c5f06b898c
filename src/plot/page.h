// SPDX-License-Identifier: Apache-2.0
// What surrounds the data: title, legend, notes, axes and grid, laid out to fit the page.
#pragma once

#include "plot/ticks.h"

#include <masu/plot.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace masu::plot {

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
