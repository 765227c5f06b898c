// SPDX-License-Identifier: Apache-2.0
// A library of a format, opened when the first such input is met. Only its headers are needed to build.
#pragma once

#include <string>
#include <string_view>

namespace masu::io {

class SharedLibrary {
 public:
  // `format` is what it reads, `package` Debian's name of what brings it.
  SharedLibrary(std::string_view format, const char* file, std::string_view package);
  // A function; null where it, or the library, is missing.
  template <class F>
  F find(const char* name) {
    return reinterpret_cast<F>(symbol(name));
  }
  // Why it cannot be used; empty when it can.
  [[nodiscard]] const std::string& missing() const noexcept { return missing_; }
  // Throws unsupported, naming the input, when it cannot be used.
  void require(std::string_view input) const;

 private:
  void* symbol(const char* name);

  void* handle_;  // stays open as long as the process runs
  std::string file_;
  std::string missing_;
};

// In a struct behind its SharedLibrary `library`: a member for one of its functions.
#define MASU_FOUND(name) decltype(&::name) name = library.find<decltype(&::name)>(#name);

// Such a struct, made when it is first asked for.
template <class Library>
const Library& opened() {
  static const Library library;
  return library;
}

}  // namespace masu::io
