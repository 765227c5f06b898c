// SPDX-License-Identifier: Apache-2.0
// LibTIFF.
#pragma once

#include <tiffio.h>

#include "io/shared_library.h"

namespace masu::io {

struct LibTiff {
  // clang-format off
#define MASU_TIFF_FUNCTIONS(X)                                                                     \
  X(TIFFClientOpenExt) X(TIFFClose) X(TIFFGetField) X(TIFFGetFieldDefaulted) X(TIFFSetField)       \
  X(TIFFGetStrileByteCount) X(TIFFGetStrileOffset) X(TIFFIsByteSwapped) X(TIFFIsCODECConfigured)   \
  X(TIFFIsTiled) X(TIFFLastDirectory) X(TIFFNumberOfDirectories) X(TIFFNumberOfStrips) X(TIFFNumberOfTiles) X(TIFFOpenOptionsAlloc)                \
  X(TIFFOpenOptionsFree) X(TIFFOpenOptionsSetErrorHandlerExtR) X(TIFFOpenOptionsSetMaxSingleMemAlloc) \
  X(TIFFOpenOptionsSetWarningHandlerExtR) X(TIFFReadEncodedStrip) X(TIFFReadEncodedTile)           \
  X(TIFFReadScanline) X(TIFFScanlineSize64) X(TIFFTileRowSize64)
  // clang-format on
#define MASU_DECLARE(name) decltype(&::name) name = nullptr;
  MASU_TIFF_FUNCTIONS(MASU_DECLARE)
#undef MASU_DECLARE
  SharedLibrary library{"TIFF", "libtiff.so.6", "libtiff6"};

#define MASU_FIND(name) library.find(name, #name);
  LibTiff() {
    MASU_TIFF_FUNCTIONS(MASU_FIND)
  }
#undef MASU_FIND
  static const LibTiff& instance() {
    static const LibTiff opened;
    return opened;
  }
};

}  // namespace masu::io
