// SPDX-License-Identifier: Apache-2.0
// A page to draw on, whose canvas is the one place that talks to Cairo; and what surrounds the data there: title,
// legend, notes, axes and grid, laid out to fit.
#pragma once

#include "runtime/shared_library.h"
#include "runtime/text.h"

#include <masu/plot.h>

#include <cairo.h>

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::plot {

// Cairo, opened when the first plot is drawn.
struct CairoLibrary {
  explicit CairoLibrary(const char* file) : library("plots", file, "libcairo2", "need") {}
  runtime::SharedLibrary library;
  // The functions masu calls, each found by name.
  // clang-format off
#define MASU_CAIRO_FUNCTIONS(X)                                                                                    \
  X(cairo_clip) X(cairo_close_path) X(cairo_create) X(cairo_destroy) X(cairo_fill) X(cairo_font_options_create)    \
  X(cairo_font_options_destroy) X(cairo_font_options_set_hint_metrics) X(cairo_font_options_set_hint_style)        \
  X(cairo_get_source) X(cairo_image_surface_create) X(cairo_image_surface_get_data)                                \
  X(cairo_image_surface_get_stride) X(cairo_line_to) X(cairo_move_to) X(cairo_paint) X(cairo_pattern_set_filter)   \
  X(cairo_pdf_surface_create_for_stream) X(cairo_pdf_surface_set_metadata) X(cairo_rectangle) X(cairo_restore)     \
  X(cairo_rotate) X(cairo_save) X(cairo_scale) X(cairo_select_font_face) X(cairo_set_dash)                         \
  X(cairo_set_font_options) X(cairo_set_font_size) X(cairo_set_line_join) X(cairo_set_line_width)                  \
  X(cairo_set_source_rgba) X(cairo_set_source_surface) X(cairo_show_text) X(cairo_status)                          \
  X(cairo_status_to_string) X(cairo_stroke) X(cairo_surface_destroy) X(cairo_surface_finish)                       \
  X(cairo_surface_flush) X(cairo_surface_mark_dirty) X(cairo_surface_status) X(cairo_surface_write_to_png_stream)  \
  X(cairo_svg_surface_create_for_stream) X(cairo_svg_surface_set_document_unit) X(cairo_text_extents)              \
  X(cairo_translate)
  // clang-format on
  MASU_CAIRO_FUNCTIONS(MASU_FOUND_FUNCTION)
};

struct Point {
  double x = 0;
  double y = 0;
};

struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  [[nodiscard]] double right() const noexcept { return x + width; }
  [[nodiscard]] double bottom() const noexcept { return y + height; }
};

// A line of text, and the exponent that stands raised after it: "10" and "−3".
struct Label {
  std::string text;
  std::string power;
  friend bool operator==(const Label&, const Label&) = default;
};

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = 12;
  Colour colour;
  Anchor anchor = Anchor::start;
  bool bold = false;
  bool upwards = false;  // turned to the left, read from below
};

struct Stroke {
  Colour colour;
  double width = 1;
  double alpha = 1;
  double dash = 0;  // length of its dashes; 0: none
};

// As it is drawn on a dark page.
Colour on_dark(Colour colour);

class Canvas {
 public:
  // Throws unsupported where Cairo is missing; other errors stay until finish(). A white page, or a dark one: all
  // colours but those of images are given for a white one.
  Canvas(Format format, double width, double height, double pixel_ratio, bool dark);
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  ~Canvas();

  [[nodiscard]] double text_width(const Label& label, double size, bool bold = false);
  // Stands on the line through `at`. An SVG has it as text, over all else.
  void text(Point at, const Label& label, const TextStyle& style);
  void fill(std::span<const Point> polygon, Colour colour, double alpha = 1);
  void fill(const Rect& rect, Colour colour, double alpha = 1);
  void line(std::span<const Point> points, const Stroke& stroke);
  // A line from `a` to `b`, level or upright, moved by less than a pixel to be sharp.
  void rule(Point a, Point b, const Stroke& stroke);
  // columns * rows opaque colours, 0xRRGGBB, without smoothing.
  void image(const Rect& rect, std::uint64_t columns, std::uint64_t rows, std::span<const std::uint32_t> colours);
  // What is drawn until unclip() stays within.
  void clip(const Rect& rect);
  void unclip();

  // How many steps of a unit can be distinguished.
  [[nodiscard]] double resolution() const noexcept { return resolution_; }
  // A place on the page where a line of this width is sharp.
  [[nodiscard]] double snapped(double place, double width) const noexcept;

  // The file; an SVG has a title. Nothing can be drawn afterwards.
  std::string finish(std::string_view title);

 private:
  [[nodiscard]] Colour shown(Colour colour) const { return dark_ ? on_dark(colour) : colour; }
  void use(Colour given, double alpha) const;
  void path(std::span<const Point> points) const;
  void font(double size, bool bold) const;
  [[nodiscard]] double advance(const std::string& text, double size, bool bold) const;
  void write(Point at, const Label& label, const TextStyle& style);
  void show(Point at, const std::string& text, double size, bool bold) const;

  double resolution_;
  const CairoLibrary& c_;
  Format format_;
  bool dark_;
  std::string texts_;  // elements of an SVG
  std::string bytes_;
  cairo_surface_t* surface_ = nullptr;
  cairo_t* context_ = nullptr;
};

// Valid UTF-8 without control characters: what Cairo can draw.
std::string drawable(std::string_view text);

// Axes: where a value lies along one, and which values are named there.

// How numbers on an axis are written: as they are, with a power of ten for the whole axis where they are long; or as
// counts, 10k and 1M; or as values with nothing between whole numbers.
enum class Numbers { values, counts, whole };

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

using runtime::grouped;

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
  double lowest = 0;                 // above 0; 0 when there is none
  double least = 0;                  // of totals below 0
  std::uint64_t most_in_column = 1;  // bins that share one step
  std::uint64_t unplaced = 0;        // values in bins that have no place on the axis
};
// `columns`: how many steps can be distinguished along the axis.
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
// The look of series `index`, so named: a channel's own colour, or the next of the palette, dashed when it is used up.
Look look(std::string_view name, std::uint64_t index);

// 0 … 1 from dark to bright, each step as much brighter as the one before. 0xRRGGBB.
std::uint32_t heat(double part);
inline constexpr double darkest = 0.15;  // part of it that a dark page begins with, to differ from the page

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
  // Strips of colour from bottom to top, for the axis given to lay_out, over a box for 0.
  void colour_bar(const Axis& bar, const std::string& label);

  [[nodiscard]] const Rect& area() const noexcept { return area_; }
  [[nodiscard]] const Axis& x() const noexcept { return x_; }
  [[nodiscard]] const Axis& y() const noexcept { return y_; }
  [[nodiscard]] double font() const noexcept { return font_; }
  [[nodiscard]] Canvas& canvas() noexcept { return canvas_; }
  // The colour of 0 … 1 in a heat map, 0xRRGGBB; and that of the page.
  [[nodiscard]] std::uint32_t shade(double part) const {
    return heat(frame_.dark ? darkest + (1 - darkest) * part : part);
  }
  [[nodiscard]] std::uint32_t paper() const;
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

// Throws invalid_argument: "plot: RULE".
[[noreturn]] void refuse(const std::string& rule);

// Throws invalid_argument for a width, height or number of pixels out of bounds.
void check_size(const Frame& frame, Format format);
double font_size(double width, double height);

}  // namespace masu::plot
