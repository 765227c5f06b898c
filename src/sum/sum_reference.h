// SPDX-License-Identifier: Apache-2.0
// Exact totals as whole numbers of any size, and whether a double is one of them, rounded once. Shares nothing with the
// room's own arithmetic.
#pragma once

#include "elements/stored_float.h"
#include "histogram/bins/natural.h"

#include <masu/dtype.h>

#include <cmath>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <type_traits>
#include <vector>

namespace masu::reference {

// Numbers are multiples of 2^-scale, and those that are squared of 2^-(scale / 2).
inline constexpr int scale = 2400;

template <class T>
double number(T x) {
  if constexpr (is_stored<T>) return to_double(x);
  else return static_cast<double>(x);
}

// The difference of two numbers that are not negative.
struct Total {
  Natural plus;
  Natural minus;

  void add(bool negative, const Natural& magnitude) {
    Natural& part = negative ? minus : plus;
    part = part + magnitude;
  }
  [[nodiscard]] bool negative() const { return plus < minus; }
  [[nodiscard]] Natural magnitude() const { return negative() ? minus - plus : plus - minus; }
};

// |x| as mantissa * 2^exponent.
template <class T>
std::uint64_t mantissa_of(T x, int& exponent) {
  if constexpr (std::is_integral_v<T>) {
    exponent = 0;
    const auto bits = static_cast<std::uint64_t>(x);
    return x < T{0} ? 0 - bits : bits;
  } else {
    const double fraction = std::frexp(std::abs(number(x)), &exponent);
    exponent -= 53;
    return static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  }
}

template <class T>
bool is_negative(T x) {
  if constexpr (std::is_integral_v<T>) return x < T{0};
  else return std::signbit(number(x));
}

template <class T>
Total sum(const std::vector<T>& x) {
  Total total;
  for (const T& value : x) {
    int exponent = 0;
    const std::uint64_t mantissa = mantissa_of(value, exponent);
    total.add(is_negative(value), Natural(mantissa, static_cast<unsigned>(scale + exponent)));
  }
  return total;
}

template <class T>
Total dot(const std::vector<T>& x, const std::vector<T>& y) {
  Total total;
  for (std::size_t i = 0; i < x.size(); ++i) {
    int a = 0;
    int b = 0;
    const Natural m(mantissa_of(x[i], a));
    const Natural n(mantissa_of(y[i], b));
    total.add(is_negative(x[i]) != is_negative(y[i]), m * n * Natural(1, static_cast<unsigned>(scale + a + b)));
  }
  return total;
}

struct Format {
  int precision;
  int lowest;
  double largest;
};
inline Format format_of(Dtype dtype) {
  if (dtype == Dtype::f16) return {11, -24, 65504};
  if (dtype == Dtype::bf16) return {8, -133, 0x1.fep127};
  if (dtype == Dtype::f32) return {24, -149, 0x1.fffffep127};
  return {53, -1074, 0x1.fffffffffffffp1023};
}

// How the exact value stands to mantissa * 2^exponent.
using Compare = std::function<std::strong_ordering(std::uint64_t mantissa, int exponent)>;

// Whether |got| is the number of the format that is nearest to the value, the even one of two.
inline bool is_nearest(const Compare& value, double got, Dtype dtype) {
  const Format format = format_of(dtype);
  const double magnitude = std::abs(got);
  if (magnitude == 0) return value(1, format.lowest - 1) <= 0;
  const bool infinite = std::isinf(magnitude);
  const double finite = infinite ? format.largest : magnitude;
  if (finite > format.largest) return false;
  const int unit = std::max(std::ilogb(finite) - format.precision + 1, format.lowest);
  const double units = std::ldexp(finite, -unit);
  if (units != std::floor(units)) return false;  // no number of the format
  const auto mantissa = static_cast<std::uint64_t>(units);
  if (infinite) return value(2 * mantissa + 1, unit - 1) >= 0;
  const bool even = mantissa % 2 == 0;
  const std::strong_ordering above = value(2 * mantissa + 1, unit - 1);
  if (even ? above > 0 : above >= 0) return false;
  const bool power = mantissa == std::uint64_t{1} << (format.precision - 1) && unit > format.lowest;
  const std::strong_ordering below = power ? value(4 * mantissa - 1, unit - 2) : value(2 * mantissa - 1, unit - 1);
  return even ? below >= 0 : below > 0;
}

// total / divisor.
inline bool is_quotient(const Total& total, const Natural& divisor, double got, Dtype dtype = Dtype::f64) {
  const Natural magnitude = total.magnitude();
  if (magnitude == Natural()) return got == 0 && !std::signbit(got);
  if (got != 0 && std::signbit(got) != total.negative()) return false;
  if (got == 0 && std::signbit(got)) return false;
  return is_nearest(
      [&](std::uint64_t mantissa, int exponent) {
        return magnitude <=> divisor * Natural(mantissa, static_cast<unsigned>(scale + exponent));
      },
      got, dtype);
}

inline bool is_root(const Total& total, double got, Dtype dtype = Dtype::f64) {
  const Natural magnitude = total.magnitude();
  return !std::signbit(got) && is_nearest(
                                   [&](std::uint64_t mantissa, int exponent) {
                                     const Natural m(mantissa, static_cast<unsigned>(scale / 2 + exponent));
                                     return magnitude <=> m * m;
                                   },
                                   got, dtype);
}

// n * squares - sum^2 over n * (n - ddof).
inline bool is_variance(const Total& sum, const Total& squares, std::uint64_t n, std::uint64_t ddof, double got,
                        Dtype dtype = Dtype::f64) {
  // sum^2 has twice the scale: so has everything.
  const Natural one(1, static_cast<unsigned>(scale));
  const Natural above = Natural(n) * squares.magnitude() * one - sum.magnitude() * sum.magnitude();
  return is_quotient({above, Natural()}, Natural(n) * Natural(n - ddof) * one, got, dtype);
}

// The root of the same.
inline bool is_deviation(const Total& sum, const Total& squares, std::uint64_t n, std::uint64_t ddof, double got,
                         Dtype dtype = Dtype::f64) {
  const Natural one(1, static_cast<unsigned>(scale));
  const Natural above = Natural(n) * squares.magnitude() * one - sum.magnitude() * sum.magnitude();
  const Natural divisor = Natural(n) * Natural(n - ddof);
  if (above == Natural()) return got == 0 && !std::signbit(got);
  return !std::signbit(got) && is_nearest(
                                   [&](std::uint64_t mantissa, int exponent) {
                                     const Natural m(mantissa, static_cast<unsigned>(scale + exponent));
                                     return above <=> divisor * m * m;
                                   },
                                   got, dtype);
}

}  // namespace masu::reference
