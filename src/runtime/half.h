// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 to and from double, round to nearest even; and to float.
#pragma once

#include <masu/dtype.h>

#include <bit>
#include <cstdint>

namespace masu::runtime {

inline double to_double(Half half) noexcept {
  const std::uint64_t sign = static_cast<std::uint64_t>(half.bits & 0x8000U) << 48;
  const unsigned exponent = (half.bits >> 10) & 31U;
  const std::uint64_t fraction = half.bits & 0x3ffU;
  if (exponent == 31) return std::bit_cast<double>(sign | 0x7ff0000000000000U | fraction << 42);
  if (exponent != 0)
    return std::bit_cast<double>(sign | static_cast<std::uint64_t>(exponent + 1008) << 52 | fraction << 42);
  const double magnitude = static_cast<double>(fraction) * 0x1p-24;
  return sign != 0 ? -magnitude : magnitude;
}

// The same as a float, without branches, for loops that vectors take; a NaN keeps its bits. Only where subnormal
// numbers are numbers.
inline float to_float(Half half) noexcept {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(half.bits & 0x7fffU) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const std::uint32_t bits = magnitude >= 0x0f800000U ? magnitude | 0x7f800000U : std::bit_cast<std::uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

inline Half to_half(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000U);
  const double magnitude = std::bit_cast<double>(bits & 0x7fffffffffffffffU);
  if (magnitude != magnitude) return {static_cast<std::uint16_t>(sign | 0x7e00U)};
  if (magnitude >= 65520.0) return {static_cast<std::uint16_t>(sign | 0x7c00U)};
  // Adding a power of two whose last place is the unit of the result rounds as the hardware does, to nearest even.
  if (magnitude < 0x1p-14) {
    const double units = (magnitude + 0x1p28) - 0x1p28;  // the last place of 2^28 is 2^-24
    return {static_cast<std::uint16_t>(sign | static_cast<unsigned>(units * 0x1p24))};
  }
  const std::uint64_t rest = bits & 0x7fffffffffffffffU;
  const std::uint64_t rounded = rest + 0x1ffffffffffU + (rest >> 42 & 1U);
  return {static_cast<std::uint16_t>(sign | ((rounded >> 42) - (std::uint64_t{1008} << 10)))};
}

}  // namespace masu::runtime
