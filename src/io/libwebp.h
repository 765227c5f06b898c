// SPDX-License-Identifier: Apache-2.0
// libwebp.
#pragma once

#include <webp/decode.h>

#include "io/shared_library.h"

namespace masu::io {

struct LibWebp {
#define MASU_WEBP_FUNCTIONS(X) X(WebPDecode) X(WebPGetFeaturesInternal) X(WebPInitDecoderConfigInternal)
#define MASU_DECLARE(name) decltype(&::name) name = nullptr;
  MASU_WEBP_FUNCTIONS(MASU_DECLARE)
#undef MASU_DECLARE
  SharedLibrary library{"WebP", "libwebp.so.7", "libwebp7"};

#define MASU_FIND(name) library.find(name, #name);
  LibWebp() {
    MASU_WEBP_FUNCTIONS(MASU_FIND)
  }
#undef MASU_FIND
  static const LibWebp& instance() {
    static const LibWebp opened;
    return opened;
  }
};

}  // namespace masu::io
