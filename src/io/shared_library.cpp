// SPDX-License-Identifier: Apache-2.0
#include "io/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <masu/error.h>

namespace masu::io {

SharedLibrary::SharedLibrary(std::string_view format, const char* file, std::string_view package)
    : handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)), file_(file) {
  if (handle_ == nullptr)
    missing_ = fmt::format("{} needs the library {} (Debian: {}), which cannot be opened", format, file, package);
}

void* SharedLibrary::symbol(const char* name) {
  if (handle_ == nullptr) return nullptr;
  void* found = ::dlsym(handle_, name);
  if (found == nullptr) missing_ = fmt::format("{} has no function {}", file_, name);
  return found;
}

void SharedLibrary::require(std::string_view input) const {
  if (!missing_.empty()) throw Error(ErrorCode::unsupported, fmt::format("{}: {}", input, missing_));
}

}  // namespace masu::io
