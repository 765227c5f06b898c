// SPDX-License-Identifier: Apache-2.0
#include "io/libjpeg.h"

namespace masu::io {
namespace {

LibJpeg load() {
  LibJpeg jpeg;
#define MASU_FIND(name) jpeg.library.find(jpeg.name, #name);
  MASU_JPEG_FUNCTIONS(MASU_FIND)
#undef MASU_FIND
  return jpeg;
}

}  // namespace

const LibJpeg& LibJpeg::instance() {
  static const LibJpeg jpeg = load();
  return jpeg;
}

}  // namespace masu::io
