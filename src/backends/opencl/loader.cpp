// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/loader.h"

#include <dlfcn.h>

namespace masu::opencl {
namespace {

// A process may have an OpenCL already, linked or preloaded (as Oclgrind's): two of them would not know each other's
// objects, so that one is used.
void* find_library(std::string& why) {
  if (::dlsym(RTLD_DEFAULT, "clGetPlatformIDs") != nullptr) return RTLD_DEFAULT;
  for (const char* name : {"libOpenCL.so.1", "libOpenCL.so"}) {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      why.clear();
      return handle;
    }
    const char* error = ::dlerror();
    if (why.empty()) why = error != nullptr ? error : std::string(name) + ": cannot be opened";
  }
  return nullptr;
}

template <class F>
void find_function(void* handle, const char* name, F& function, std::string& why) {
  function = reinterpret_cast<F>(::dlsym(handle, name));
  if (function == nullptr && why.empty()) {
    why = std::string("the OpenCL library lacks ") + name + ", OpenCL 1.2 is needed";
  }
}

Library load() {
  Library library;
  void* handle = find_library(library.why);
  if (!library.why.empty()) return library;
#define MASU_OPENCL_FIND(name) find_function(handle, #name, library.api.name, library.why);
  MASU_OPENCL_FUNCTIONS(MASU_OPENCL_FIND)
#undef MASU_OPENCL_FIND
  return library;
}

}  // namespace

const Library& library() {
  // Never closed, as drivers do not survive that, and never destroyed, as devices may be static.
  static const Library& loaded = *new Library(load());
  return loaded;
}

}  // namespace masu::opencl
