// SPDX-License-Identifier: Apache-2.0
// A page to draw on: the one place that talks to Cairo.
#pragma once

#include <masu/plot.h>

#include <cairo.h>

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace masu::plot {

// Cairo, opened when the first plot is drawn. Only its headers are needed to build.
struct CairoLibrary {
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
#define MASU_DECLARE(name) decltype(&::name) name = nullptr;
  MASU_CAIRO_FUNCTIONS(MASU_DECLARE)
#undef MASU_DECLARE
  std::string missing;  // why it cannot be used; empty when it can

  static const CairoLibrary& instance();
  // What is found in a library of another name; for tests too.
  static CairoLibrary open(const char* name);
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

// A line of text, and what stands raised behind it: "10" and "−3".
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

class Canvas {
 public:
  // Throws unsupported where Cairo is missing. A white page.
  Canvas(Format format, double width, double height, double pixel_ratio);
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  ~Canvas();

  [[nodiscard]] double text_width(const Label& label, double size, bool bold = false);
  // Stands on the line through `at`.
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

  // How many steps of a unit can be told apart.
  [[nodiscard]] double resolution() const noexcept { return resolution_; }
  // A place on the page where a line of this width is sharp.
  [[nodiscard]] double snapped(double place, double width) const noexcept;

  // The file; an SVG has a title. Nothing can be drawn afterwards.
  std::string finish(std::string_view title);

 private:
  struct State;
  std::unique_ptr<State> state_;
  double resolution_;
};

// Valid UTF-8 without control characters: what Cairo can draw.
std::string drawable(std::string_view text);

}  // namespace masu::plot
