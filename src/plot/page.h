// SPDX-License-Identifier: Apache-2.0
// What surrounds the data: title, legend, notes, axes and grid, laid out to fit the page.
#pragma once

#include "plot/colours.h"
#include "plot/ticks.h"

#include <masu/plot.h>

#include <string>
#include <vector>

namespace masu::plot {

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
