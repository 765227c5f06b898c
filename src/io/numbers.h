// SPDX-License-Identifier: Apache-2.0
// Numbers of every dtype as text, without an allocation.
#pragma once

#include <masu/dtype.h>

#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace masu::io {

// Enough for any number.
inline constexpr std::size_t number_room = 40;

// Writes the shortest form and returns its length.
template <class T>
requires(is_float(dtype_of<T>)) std::size_t put_number(char* target, std::size_t room, T value)
noexcept;
template <std::integral T>
std::size_t put_number(char* target, std::size_t room, T value) noexcept {
  return static_cast<std::size_t>(std::to_chars(target, target + room, +value).ptr - target);
}

// A number in text, as a value of a dtype or as what the text itself says it is.

// Whether a text is a number, and whether the dtype holds it. A float holds what rounding does not make infinite; an
// integer type holds whole numbers of its range, in any notation.
enum class Fit { number, misfit, no_number };

template <class T>
Fit parse_number(std::string_view text, T& value);

// Whether f64 holds a whole number as it is.
constexpr bool exact_in_f64(std::uint64_t magnitude) noexcept {
  return magnitude == 0 || std::bit_width(magnitude) - std::countr_zero(magnitude) <= 53;
}

// A number of a column whose dtype its numbers decide.
struct TextNumber {
  enum Kind { no_number, whole, decimal, beyond_f64, beyond_64_bits };
  Kind kind = no_number;
  bool negative = false;        // whole, also of -0
  std::uint64_t magnitude = 0;  // whole: at most 2^63 of negative ones
  double value = 0;             // decimal: what has a point, an exponent or a name (nan, inf), or is whole, beyond 64
                                // bits, and as it is in f64
};
// `with_excess`: a line's end and Reader::excess bytes follow, which may be looked at, so that the text is not copied.
TextNumber parse_any_number(std::string_view text, bool with_excess = false);

}  // namespace masu::io
