// SPDX-License-Identifier: Apache-2.0
#include "io/libtiff.h"

namespace masu::io {
namespace {

LibTiff load() {
  LibTiff tiff;
#define MASU_FIND(name) tiff.library.find(tiff.name, #name);
  MASU_TIFF_FUNCTIONS(MASU_FIND)
#undef MASU_FIND
  return tiff;
}

}  // namespace

const LibTiff& LibTiff::instance() {
  static const LibTiff tiff = load();
  return tiff;
}

}  // namespace masu::io
