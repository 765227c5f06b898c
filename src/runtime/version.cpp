// SPDX-License-Identifier: Apache-2.0
#include <masu/version.h>

#include <fmt/format.h>

#include <array>

namespace masu {

std::string_view version() noexcept {
  struct Text {
    std::array<char, 48> characters{};
    std::size_t size = 0;
    Text() noexcept {
      size = static_cast<std::size_t>(fmt::format_to_n(characters.data(), characters.size(), "{}.{}.{}", version_major,
                                                       version_minor, version_patch)
                                          .out -
                                      characters.data());
    }
  };
  static const Text text;
  return {text.characters.data(), text.size};
}

}  // namespace masu
