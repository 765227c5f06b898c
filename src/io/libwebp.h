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

  static const LibWebp& instance();
};

}  // namespace masu::io
