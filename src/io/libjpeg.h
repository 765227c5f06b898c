// SPDX-License-Identifier: Apache-2.0
// libjpeg-turbo, through the interface of libjpeg.
#pragma once

#include <cstddef>
#include <cstdio>  // jpeglib.h needs its names
//
#include <jpeglib.h>

#include "io/shared_library.h"

namespace masu::io {

// The library whose structures the header declares.
#if JPEG_LIB_VERSION >= 80
inline constexpr const char* libjpeg_file = "libjpeg.so.8";
#elif JPEG_LIB_VERSION >= 70
inline constexpr const char* libjpeg_file = "libjpeg.so.7";
#else
inline constexpr const char* libjpeg_file = "libjpeg.so.62";
#endif

struct LibJpeg {
  // clang-format off
#define MASU_JPEG_FUNCTIONS(X)                                                              \
  X(jpeg_std_error) X(jpeg_CreateDecompress) X(jpeg_destroy_decompress) X(jpeg_read_header) \
  X(jpeg_has_multiple_scans) X(jpeg_start_decompress) X(jpeg_read_scanlines)                \
  X(jpeg_finish_decompress) X(jpeg_resync_to_restart)
  // clang-format on
#define MASU_DECLARE(name) decltype(&::name) name = nullptr;
  MASU_JPEG_FUNCTIONS(MASU_DECLARE)
#undef MASU_DECLARE
  SharedLibrary library{"JPEG", libjpeg_file, "libjpeg62-turbo"};

#define MASU_FIND(name) library.find(name, #name);
  LibJpeg() {
    MASU_JPEG_FUNCTIONS(MASU_FIND)
  }
#undef MASU_FIND
  static const LibJpeg& instance() {
    static const LibJpeg opened;
    return opened;
  }
};

}  // namespace masu::io
