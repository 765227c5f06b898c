// SPDX-License-Identifier: Apache-2.0
// IEEE 754 binary16 by its definition, on integers and exact doubles: the oracle of vload_half and vstore_half.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace masu::vocabulary {

enum class Rounding { to_nearest_even, towards_zero, up, down };

// The value of a half, exactly.
inline double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// The half that a number is rounded to. Exact: the magnitudes of halves, in order, have consecutive bits, so the
// greatest that is not above is found by bisection, and the next one is the only other candidate.
inline std::uint16_t half_of(double value, Rounding rounding) {
  const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | 0x7c00U);
  const double magnitude = std::fabs(value);
  unsigned low = 0;
  unsigned high = 0x7c00;  // infinity: above every number here
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (half_value(static_cast<std::uint16_t>(middle)) <= magnitude ? low : high) = middle;
  }
  const double below = half_value(static_cast<std::uint16_t>(low));
  const double above =
      high == 0x7c00 ? 65536 : half_value(static_cast<std::uint16_t>(high));  // the number in its place
  bool away = false;
  if (magnitude != below) {
    if (rounding == Rounding::to_nearest_even) {
      const double middle = (below + above) / 2;  // exact
      away = magnitude > middle || (magnitude == middle && (low & 1U) != 0);
    } else if (rounding == Rounding::up) {
      away = sign == 0;
    } else if (rounding == Rounding::down) {
      away = sign != 0;
    }
  }
  return static_cast<std::uint16_t>(sign | (away ? high : low));
}

}  // namespace masu::vocabulary
