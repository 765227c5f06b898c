// SPDX-License-Identifier: Apache-2.0
// Libraries of formats, opened when the first such input or output is met. Only their headers are needed to build.
#pragma once

#include <masu/error.h>
#include <masu/floating_point.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace masu::runtime {

class SharedLibrary {
 public:
  // `format` is what it reads or writes, `package` Debian's name of what brings it. "PNG needs …", "plots need …".
  SharedLibrary(std::string_view format, const char* file, std::string_view package, std::string_view needs = "needs")
      : handle_((FloatingPointScope(), ::dlopen(file, RTLD_NOW | RTLD_LOCAL))), file_(file) {
    if (handle_ != nullptr) return;
    missing_ = fmt::format("{} {} the library {} (Debian: {}), which cannot be opened", format, needs, file, package);
  }
  // A function; null where it, or the library, is missing.
  template <class F>
  F find(const char* name) {
    if (handle_ == nullptr) return nullptr;
    void* found = ::dlsym(handle_, name);
    if (found == nullptr) missing_ = fmt::format("{} has no function {}", file_, name);
    return reinterpret_cast<F>(found);
  }
  // The same for a pointer that is declared with its type.
  class Function {
   public:
    explicit Function(void* found) : found_(found) {}
    template <class F>
    operator F*() const {
      return reinterpret_cast<F*>(found_);
    }

   private:
    void* found_;
  };
  Function function(const char* name) { return Function(find<void*>(name)); }
  // Why it cannot be used; empty when it can.
  [[nodiscard]] const std::string& missing() const noexcept { return missing_; }
  // Throws unsupported, naming who wants to use it, when it cannot be used.
  void require(std::string_view user) const {
    if (!missing_.empty()) throw Error(ErrorCode::unsupported, fmt::format("{}: {}", user, missing_));
  }

 private:
  void* handle_;  // stays open as long as the process runs
  std::string file_;
  std::string missing_;
};

// In a struct, after its SharedLibrary `library`: a member for one of the library's functions.
#define MASU_FOUND_FUNCTION(name) decltype(&::name) name = library.find<decltype(&::name)>(#name);

}  // namespace masu::runtime
