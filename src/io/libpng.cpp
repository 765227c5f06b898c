// SPDX-License-Identifier: Apache-2.0
#include "io/libpng.h"

#include <dlfcn.h>

namespace masu::io {
namespace {

LibPng load() {
  LibPng png;
  void* library = ::dlopen("libpng16.so.16", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    png.missing = "PNG needs the library libpng16.so.16 (Debian: libpng16-16), which cannot be opened";
    return png;
  }
#define MASU_FIND(name)                                                     \
  png.name = reinterpret_cast<decltype(png.name)>(::dlsym(library, #name)); \
  if (png.name == nullptr) png.missing = "libpng16.so.16 has no function " #name;
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
