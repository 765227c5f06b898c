// SPDX-License-Identifier: Apache-2.0
// The kernel files that the library carries, byte for byte, comments kept (cmake/embed_kernels.cmake), and the programs
// that are made of them.
#pragma once

#include "runtime/define.h"
#include "runtime/environment.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace masu::runtime {

class Device;
class Module;

struct EmbeddedFile {
  std::string_view path;  // from the source tree's root: "src/ROOM/NAME.cl"
  std::string_view text;
  std::string_view sha256;  // of the text, in hexadecimal
};

// Defined by the generated file.
std::span<const EmbeddedFile> embedded_files() noexcept;

// The text of a kernel file by its path; from MASU_KERNEL_DIR (a checkout's root) where that is set, while developing.
// Throws invalid_argument for a path that the library does not carry, io for one that the directory lacks.
std::string kernel_text(std::string_view path, const std::string& directory = environment().kernel_directory);

// masu's own kernel files at `paths` for a device: prelude, defines, then each file behind its "#line 1 path"; through
// the program cache, compiled once per device and set of defines. Thread-safe.
std::shared_ptr<Module> own_program(Device& device, std::span<const std::string_view> paths,
                                    std::span<const Define> defines);

// The text that own_program would compile: for tests that compile kernels without a device.
std::string own_program_text(std::string_view prelude, std::span<const std::string_view> paths,
                             std::span<const Define> defines);
inline std::string own_program_text(std::string_view prelude, std::string_view path, std::span<const Define> defines) {
  return own_program_text(prelude, std::span(&path, 1), defines);
}

}  // namespace masu::runtime
