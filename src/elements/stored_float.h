// SPDX-License-Identifier: Apache-2.0
// Floats that are only stored, such as IEEE binary16, to and from double and float, rounded to nearest even. The table
// of dtypes has their formats.
#pragma once

#include "elements/dtypes.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace masu {

template <class T>
requires is_stored<T>
double to_double(T value) noexcept {
  constexpr int fraction_bits = float_format(dtype_of<T>).precision - 1;
  constexpr int end = float_format(dtype_of<T>).end;
  constexpr unsigned most = 2 * end - 1;  // the exponent's field of what is not finite
  const std::uint64_t sign = static_cast<std::uint64_t>(value.bits & 0x8000U) << 48;
  const unsigned exponent = (value.bits >> fraction_bits) & most;
  const std::uint64_t fraction = value.bits & ((1U << fraction_bits) - 1);
  if (exponent == most) return std::bit_cast<double>(sign | 0x7ff0000000000000U | fraction << (52 - fraction_bits));
  if (exponent != 0) {
    const auto field = static_cast<std::uint64_t>(exponent + 1024 - end);
    return std::bit_cast<double>(sign | field << 52 | fraction << (52 - fraction_bits));
  }
  const double magnitude = static_cast<double>(fraction) * power_of_two(float_format(dtype_of<T>).least);
  return sign != 0 ? -magnitude : magnitude;
}

// The same as a float, without branches, for loops that vectors take; a NaN keeps its bits. Only where subnormal
// numbers are numbers.
template <class T>
requires is_stored<T>
float to_float(T value) noexcept {
  constexpr int moved = 24 - float_format(dtype_of<T>).precision;
  constexpr auto scale = static_cast<float>(power_of_two(128 - float_format(dtype_of<T>).end));
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fffU) << moved;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const float scaled = std::bit_cast<float>(magnitude) * scale;
  const bool finite = magnitude < static_cast<std::uint32_t>(infinity_bits<T> << moved);
  const std::uint32_t bits = finite ? std::bit_cast<std::uint32_t>(scaled) : magnitude | 0x7f800000U;
  return std::bit_cast<float>(bits | sign);
}

// A number rounded to T, once; what T is too narrow for becomes infinite, a NaN the quiet one with the same sign.
template <class T>
requires is_stored<T> T rounded_to(double value)
noexcept {
  constexpr FloatFormat format = float_format(dtype_of<T>);
  constexpr int dropped = 53 - format.precision;  // bits of a double's fraction that T lacks
  constexpr auto infinity = static_cast<unsigned>(infinity_bits<T>);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<unsigned>(bits >> 48 & 0x8000U);
  const std::uint64_t rest = bits & 0x7fffffffffffffffU;
  const auto magnitude = std::bit_cast<double>(rest);
  const auto with_sign = [&](std::uint64_t found) { return T{static_cast<std::uint16_t>(sign | found)}; };
  if (magnitude != magnitude) return with_sign(infinity | 1U << (format.precision - 2));
  if (magnitude >= overflow_of(format)) return with_sign(infinity);
  // Adding a power of two whose last place is the unit of the result rounds as the hardware does, to nearest even.
  if (magnitude < power_of_two(format.least + format.precision - 1)) {
    constexpr double unit = power_of_two(format.least);
    constexpr double added = power_of_two(format.least + 52);
    const double units = (magnitude + added) - added;
    return with_sign(static_cast<std::uint64_t>(units / unit));
  }
  const std::uint64_t rounded = rest + ((std::uint64_t{1} << (dropped - 1)) - 1) + (rest >> dropped & 1U);
  return with_sign((rounded >> dropped) - (static_cast<std::uint64_t>(1024 - format.end) << (format.precision - 1)));
}
template <class T>
requires(!is_stored<T>) T rounded_to(double value)
noexcept {
  return static_cast<T>(value);
}

// The value of a stored float of a dtype by its bits.
[[nodiscard]] inline double stored_value(Dtype dtype, std::uint16_t bits) noexcept {
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_stored<T>) return to_double(T{bits});
    else return 0.0;
  });
}

// The bits of a number rounded to a dtype.
[[nodiscard]] inline std::uint64_t bits_rounded_to(Dtype dtype, double value) {
  if (dtype == Dtype::f64) return std::bit_cast<std::uint64_t>(value);  // the most frequent one
  return dispatch(dtype, [&](auto tag) -> std::uint64_t {
    using T = typename decltype(tag)::type;
    return std::bit_cast<UnsignedOf<sizeof(T)>>(rounded_to<T>(value));
  });
}

// A number rounded to a dtype of floats; of integers the number itself.
[[nodiscard]] inline double rounded_to(Dtype dtype, double value) noexcept {
  if (dtype == Dtype::f64 || !is_float(dtype)) return value;
  return dispatch(dtype, [&](auto tag) {
    const auto rounded = rounded_to<typename decltype(tag)::type>(value);
    if constexpr (is_stored<decltype(rounded)>) return to_double(rounded);
    else return static_cast<double>(rounded);
  });
}

}  // namespace masu
