// SPDX-License-Identifier: Apache-2.0
#include "io/libpng.h"

namespace masu::io {
namespace {

LibPng load() {
  LibPng png;
#define MASU_FIND(name) png.library.find(png.name, #name);
  MASU_PNG_FUNCTIONS(MASU_FIND)
#undef MASU_FIND
  return png;
}

}  // namespace

const LibPng& LibPng::instance() {
  static const LibPng png = load();
  return png;
}

}  // namespace masu::io
