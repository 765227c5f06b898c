// SPDX-License-Identifier: Apache-2.0
// The kernel files that the library carries, without lines of comments (cmake/embed_kernels.cmake), and the programs
// that are made of them.
#pragma once

#include <masu/error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace masu::runtime {

class Device;
class Module;

// One "#define NAME VALUE" in front of masu's own kernel files. A bool is 0 or 1. Of a fixed size, since calls make
// some tens of them.
class Define {
 public:
  Define(std::string_view name, std::string_view value) : Define(name) {
    if (value.size() > most_bytes - name_bytes_) refuse();
    std::ranges::copy(value, text_.begin() + name_bytes_);
    end_ = static_cast<std::uint8_t>(name_bytes_ + value.size());
  }
  Define(std::string_view name, std::integral auto value) : Define(name) {
    char* const begin = text_.data();
    const auto whole = [value] {
      if constexpr (std::signed_integral<decltype(value)>) return static_cast<std::int64_t>(value);
      else return static_cast<std::uint64_t>(value);
    }();
    end_ = static_cast<std::uint8_t>(std::to_chars(begin + name_bytes_, begin + text_.size(), whole).ptr - begin);
  }
  [[nodiscard]] std::string_view name() const noexcept { return {text_.data(), name_bytes_}; }
  [[nodiscard]] std::string_view value() const noexcept {
    return {text_.data() + name_bytes_, std::size_t{end_} - name_bytes_};
  }
  // Writes name and value one after the other, and where each ends, so that defines stay distinct. Returns the end. May
  // also write what follows, up to most_image bytes from `to` on: copies of a fixed size need no function calls.
  static constexpr std::size_t most_image = 112;
  char* image(char* to) const noexcept {
    constexpr std::size_t block = 16;
    for (std::size_t i = 0; i < end_; i += block) std::memcpy(to + i, text_.data() + i, block);
    to[end_] = static_cast<char>(name_bytes_);
    to[end_ + 1] = static_cast<char>(end_);
    return to + end_ + 2;
  }

 private:
  static constexpr std::size_t most_bytes = 94;
  static constexpr std::size_t most_digits = 20;
  explicit Define(std::string_view name) : name_bytes_(static_cast<std::uint8_t>(name.size())) {
    if (name.size() > most_bytes - most_digits) refuse();
    std::ranges::copy(name, text_.begin());
  }
  [[noreturn]] static void refuse() {
    throw Error(ErrorCode::invalid_argument, "Define: a name and its value must have at most 94 bytes");
  }

  std::array<char, 96> text_;  // whole blocks
  std::uint8_t name_bytes_;
  std::uint8_t end_ = 0;
};

struct EmbeddedFile {
  std::string_view path;  // from the source tree's root: "src/ROOM/NAME.cl"
  std::string_view text;
  std::string_view sha256;  // of the text, in hexadecimal
};

// Defined by the generated file.
std::span<const EmbeddedFile> embedded_files() noexcept;

// The text of a kernel file by its path; from MASU_KERNEL_DIR (a checkout's root) where that is set, while developing.
// Throws invalid_argument for a path that the library does not carry, io for one that the directory lacks.
std::string kernel_text(std::string_view path);
std::string kernel_text(std::string_view path, const std::string& directory);

// masu's own kernel files at `paths`, which stay, for a device: prelude, defines, then each file after its "#line 1
// path"; through the program cache, compiled once per device and set of defines, or each kernel of it
// (Device::compiles_apart). Thread-safe.
std::shared_ptr<Module> own_program(Device& device, std::span<const std::string_view> paths,
                                    std::span<const Define> defines);

// The text that own_program would compile: for tests that compile kernels without a device.
std::string own_program_text(std::string_view prelude, std::span<const std::string_view> paths,
                             std::span<const Define> defines);
inline std::string own_program_text(std::string_view prelude, std::string_view path, std::span<const Define> defines) {
  return own_program_text(prelude, std::span(&path, 1), defines);
}
// The same text with one kernel alone, on a device that compiles them apart.
std::string with_kernel_alone(std::string_view text, std::string_view name);

}  // namespace masu::runtime
