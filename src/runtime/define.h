// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <masu/error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace masu::runtime {

// One "#define NAME VALUE" in front of masu's own kernel files. A bool is 0 or 1. Of a fixed size, since calls make
// some tens of them.
class Define {
 public:
  Define(std::string_view name, std::string_view value) : Define(name) {
    if (value.size() > text_.size() - name_bytes_) refuse();
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
  // Both, behind each other.
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), end_}; }

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

  std::array<char, most_bytes> text_;
  std::uint8_t name_bytes_;
  std::uint8_t end_ = 0;
};

}  // namespace masu::runtime
