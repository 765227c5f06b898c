// SPDX-License-Identifier: Apache-2.0
// libpng.
#pragma once

#include <png.h>

#include "io/shared_library.h"

namespace masu::io {

struct LibPng {
  // The functions masu calls, each found by name.
  // clang-format off
#define MASU_PNG_FUNCTIONS(X)                                                                                   \
  X(png_create_read_struct) X(png_create_info_struct) X(png_destroy_read_struct) X(png_error)                   \
  X(png_get_bit_depth) X(png_get_channels) X(png_get_color_type) X(png_get_image_height) X(png_get_image_width) \
  X(png_get_interlace_type) X(png_get_io_ptr) X(png_get_rowbytes) X(png_get_error_ptr) X(png_get_tRNS)          \
  X(png_get_valid) X(png_longjmp) X(png_read_end) X(png_read_info) X(png_read_row) X(png_read_update_info)      \
  X(png_set_interlace_handling) X(png_set_keep_unknown_chunks) X(png_set_longjmp_fn) X(png_set_packing)         \
  X(png_set_palette_to_rgb) X(png_set_read_fn) X(png_set_swap) X(png_set_tRNS_to_alpha) X(png_set_user_limits)
  // clang-format on
#define MASU_DECLARE(name) decltype(&::name) name = nullptr;
  MASU_PNG_FUNCTIONS(MASU_DECLARE)
#undef MASU_DECLARE
  SharedLibrary library{"PNG", "libpng16.so.16", "libpng16-16"};

#define MASU_FIND(name) library.find(name, #name);
  LibPng() {
    MASU_PNG_FUNCTIONS(MASU_FIND)
  }
#undef MASU_FIND
  static const LibPng& instance() {
    static const LibPng opened;
    return opened;
  }
};

}  // namespace masu::io
