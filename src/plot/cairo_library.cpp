// SPDX-License-Identifier: Apache-2.0
#include "plot/cairo_library.h"

#include <dlfcn.h>

namespace masu::plot {

CairoLibrary CairoLibrary::open(const char* library_name) {
  CairoLibrary cairo;
  void* library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    cairo.missing =
        std::string("plots need the library ") + library_name + " (Debian: libcairo2), which cannot be opened";
    return cairo;
  }
#define MASU_FIND(name)                                                         \
  cairo.name = reinterpret_cast<decltype(cairo.name)>(::dlsym(library, #name)); \
  if (cairo.name == nullptr) cairo.missing = std::string(library_name) + " has no function " #name;
  MASU_CAIRO_FUNCTIONS(MASU_FIND)
#undef MASU_FIND
  return cairo;
}

const CairoLibrary& CairoLibrary::instance() {
  static const CairoLibrary cairo = open("libcairo.so.2");
  return cairo;
}

}  // namespace masu::plot
