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
  // Finds a function. One that is missing, or a library that is, leaves a null pointer.
  template <class F>
  void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(symbol(name));
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

}  // namespace masu::io
