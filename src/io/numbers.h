// SPDX-License-Identifier: Apache-2.0
// Numbers of every dtype as text, without an allocation.
#pragma once

#include <masu/dtype.h>

#include <charconv>
#include <concepts>
#include <cstddef>

namespace masu::io {

// Enough for any number.
inline constexpr std::size_t number_room = 40;

// Writes the shortest form and returns its length.
std::size_t put_number(char* target, std::size_t room, Half value) noexcept;
std::size_t put_number(char* target, std::size_t room, float value) noexcept;
std::size_t put_number(char* target, std::size_t room, double value) noexcept;
template <std::integral T>
std::size_t put_number(char* target, std::size_t room, T value) noexcept {
  return static_cast<std::size_t>(std::to_chars(target, target + room, +value).ptr - target);
}

}  // namespace masu::io
