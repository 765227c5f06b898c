// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_source.h"

#include <fmt/format.h>
#include <masu/error.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace masu::runtime {

namespace {

const char* kernel_directory() noexcept {
  const char* directory = std::getenv("MASU_KERNEL_DIR");
  return directory == nullptr || *directory == '\0' ? nullptr : directory;
}

}  // namespace

bool kernels_may_change() noexcept {
  return kernel_directory() != nullptr;
}

std::string kernel_text(std::string_view path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path != path) continue;
    const char* directory = kernel_directory();
    if (directory == nullptr) return std::string(file.text);
    const std::string name = fmt::format("{}/{}", directory, path);
    std::ifstream stream(name, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) throw Error(ErrorCode::io, fmt::format("kernel_text: {}: cannot be read (MASU_KERNEL_DIR)", name));
    return text;
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("kernel_text: the library carries no file \"{}\"", path));
}

}  // namespace masu::runtime
