// SPDX-License-Identifier: Apache-2.0
// The kernel files that the library carries, byte for byte, comments kept (cmake/embed_kernels.cmake).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace masu::runtime {

struct EmbeddedFile {
  std::string_view path;  // from the source tree's root: "src/ROOM/NAME.cl"
  std::string_view text;
  std::string_view sha256;  // of the text, in hexadecimal
};

// Defined by the generated file.
std::span<const EmbeddedFile> embedded_files() noexcept;

// The text of a kernel file by its path; from MASU_KERNEL_DIR (a checkout's root) where that is set, while developing.
// Throws invalid_argument for a path that the library does not carry, io for one that MASU_KERNEL_DIR lacks.
std::string kernel_text(std::string_view path);

// Whether MASU_KERNEL_DIR is set, so that a text may be another one next time.
bool kernels_may_change() noexcept;

}  // namespace masu::runtime
