// SPDX-License-Identifier: Apache-2.0
// One thread's loops of exact sums, compiled once for each instruction set.
#pragma once

#include "sum/fixed_point.h"

#include <masu/dtype.h>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace masu::cpu {

// Adds the elements of x, or their products with those of y, which may be x.
template <class T>
void add_values(const T* x, std::uint64_t count, fixed::Sum& total);
template <class T>
void add_products(const T* x, const T* y, std::uint64_t count, fixed::Products& total);

// Exact sums by the plain loop: each element, or product of two, is taken apart as an integer and added. What the fast
// loops leave over goes this way, and benchmarks compare with it.
template <class T>
inline constexpr bool is_real = is_float(dtype_of<T>);

// ±mantissa * 2^exponent; or, where special is not 0, no finite number.
struct Decoded {
  std::uint64_t mantissa = 0;
  int exponent = 0;
  bool negative = false;
  std::uint8_t special = 0;
};

template <class T>
Decoded decode(T x) {
  if constexpr (!is_real<T>) {
    const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    const bool negative = std::is_signed_v<T> && x < T{0};
    return {negative ? 0 - bits : bits, 0, negative, 0};
  } else {
    using Bits = UnsignedOf<sizeof(T)>;
    constexpr unsigned fraction_bits = detail::form_of(dtype_of<T>).fraction_bits;
    constexpr int lowest = float_format(dtype_of<T>).least;
    constexpr std::uint64_t top = (std::uint64_t{1} << (sizeof(T) * 8 - 1 - fraction_bits)) - 1;
    const std::uint64_t bits = std::bit_cast<Bits>(x);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
    const std::uint64_t field = bits >> fraction_bits & top;
    const bool negative = bits >> (sizeof(T) * 8 - 1) != 0;
    if (field == top) {
      return {fraction, 0, negative,
              fraction != 0 ? fixed::has_nan
              : negative    ? fixed::has_minus_infinity
                            : fixed::has_infinity};
    }
    if (field == 0) return {fraction, lowest, negative, 0};
    return {fraction | std::uint64_t{1} << fraction_bits, lowest + static_cast<int>(field) - 1, negative, 0};
  }
}

template <class T>
void add_plain(const T* x, std::uint64_t count, fixed::Sum& total) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const Decoded a = decode(x[i]);
    if (a.special == 0) total.add(a.mantissa, a.exponent, a.negative);
    else total.note(a.special);
  }
}

template <class T>
void add_plain(const T* x, const T* y, std::uint64_t count, fixed::Products& total) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const Decoded a = decode(x[i]);
    const Decoded b = decode(y[i]);
    const bool negative = a.negative != b.negative;
    if (a.special != 0 || b.special != 0) {
      const bool nan = a.special == fixed::has_nan || b.special == fixed::has_nan ||
                       (a.special == 0 && a.mantissa == 0) || (b.special == 0 && b.mantissa == 0);
      total.note(nan ? fixed::has_nan : negative ? fixed::has_minus_infinity : fixed::has_infinity);
      continue;
    }
    const fixed::Wide product = static_cast<fixed::Wide>(a.mantissa) * b.mantissa;
    const int exponent = a.exponent + b.exponent;
    total.add(static_cast<std::uint64_t>(product), exponent, negative);
    if (const auto high = static_cast<std::uint64_t>(product >> 64); high != 0) {
      total.add(high, exponent + 64, negative);
    }
  }
}

}  // namespace masu::cpu
