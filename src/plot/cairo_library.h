// SPDX-License-Identifier: Apache-2.0
// Cairo, opened when the first plot is drawn. Only its headers are needed to build.
#pragma once

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

#include <string>

namespace masu::plot {

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

}  // namespace masu::plot
