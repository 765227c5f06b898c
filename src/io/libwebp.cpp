// SPDX-License-Identifier: Apache-2.0
#include "io/libwebp.h"

namespace masu::io {
namespace {

LibWebp load() {
  LibWebp webp;
#define MASU_FIND(name) webp.library.find(webp.name, #name);
  MASU_WEBP_FUNCTIONS(MASU_FIND)
#undef MASU_FIND
  return webp;
}

}  // namespace

const LibWebp& LibWebp::instance() {
  static const LibWebp webp = load();
  return webp;
}

}  // namespace masu::io
