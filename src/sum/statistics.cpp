// SPDX-License-Identifier: Apache-2.0
// What is made of exact sums: each result is a rational number, or the root of one, rounded once.
#include "sum/fixed_point.h"

#include <algorithm>
#include <limits>

namespace masu::fixed {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The result where not all numbers were finite.
double special(std::uint8_t flags) {
  if (flags == has_infinity) return infinity;
  if (flags == has_minus_infinity) return -infinity;
  return std::numeric_limits<double>::quiet_NaN();
}

// number / divisor, rounded down to a multiple of 2^lowest. `more` is set where that is not exact. Four words below
// those of the number are more than a divisor of 64 bits can take away.
Magnitude quotient(const Magnitude& number, std::uint64_t divisor, int lowest, bool& more) {
  if (number.size == 0) return number;
  const auto extra = static_cast<std::size_t>((number.exponent - lowest) / digit_bits);
  Magnitude result;
  result.size = number.size + extra;
  result.exponent = lowest;
  result.negative = number.negative;
  Wide remainder = 0;
  for (std::size_t i = result.size; i-- > 0;) {
    const Wide part = remainder << digit_bits | (i >= extra ? number.words[i - extra] : 0U);
    result.words[i] = static_cast<std::uint32_t>(part / divisor);
    remainder = part % divisor;
  }
  more = more || remainder != 0;
  result.trim();
  return result;
}

Magnitude product(const Magnitude& a, const Magnitude& b) {
  Magnitude result;
  result.size = a.size + b.size;
  result.exponent = a.exponent + b.exponent;
  std::fill_n(result.words.begin(), result.size, 0U);
  for (std::size_t i = 0; i < a.size; ++i) {
    std::uint64_t carry = 0;
    for (std::size_t k = 0; k < b.size; ++k) {
      carry += std::uint64_t{a.words[i]} * b.words[k] + result.words[i + k];
      result.words[i + k] = static_cast<std::uint32_t>(carry);
      carry >>= digit_bits;
    }
    result.words[i + b.size] = static_cast<std::uint32_t>(carry);
  }
  result.trim();
  return result;
}

// a - b, which is not negative. The exponents are multiples of 32.
Magnitude difference(const Magnitude& a, const Magnitude& b) {
  if (b.size == 0) return a;
  Magnitude result;
  result.exponent = std::min(a.exponent, b.exponent);
  const auto shift_a = static_cast<std::size_t>((a.exponent - result.exponent) / digit_bits);
  const auto shift_b = static_cast<std::size_t>((b.exponent - result.exponent) / digit_bits);
  result.size = std::max(a.size + shift_a, b.size + shift_b);
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < result.size; ++i) {
    if (i >= shift_a && i - shift_a < a.size) borrow += a.words[i - shift_a];
    if (i >= shift_b && i - shift_b < b.size) borrow -= b.words[i - shift_b];
    result.words[i] = static_cast<std::uint32_t>(borrow);
    borrow >>= digit_bits;
  }
  result.trim();
  return result;
}

// The 128 bits from `position` on, which may be below the lowest one.
Wide window(const Magnitude& number, int position) {
  Wide result = 0;
  for (std::size_t i = 0; i < number.size; ++i) {
    const int at = static_cast<int>(i) * digit_bits - position;
    if (at <= -digit_bits || at >= 128) continue;
    const Wide word = number.words[i];
    result |= at >= 0 ? word << at : word >> -at;
  }
  return result;
}

}  // namespace

double sum_of(const Part& sum, Dtype result) noexcept {
  return sum.specials != 0 ? special(sum.specials) : rounded(sum.number, false, result);
}

double mean_of(const Part& sum, std::uint64_t count, Dtype result) noexcept {
  if (sum.specials != 0) return special(sum.specials);
  bool more = false;
  const Magnitude mean = quotient(sum.number, count, sum.number.exponent - 4 * digit_bits, more);
  return rounded(mean, more, result);
}

namespace {

// The root of a number, which has at least 128 bits if there is `more` of it.
double root_of(const Magnitude& number, bool more, Dtype result) {
  if (number.size == 0) return 0;
  // The square is cut to 127 or 128 bits above an even exponent; the root of that has 64, and no whole number lies
  // between it and the root of all bits.
  const int width = static_cast<int>(number.size) * digit_bits - std::countl_zero(number.words[number.size - 1]);
  int low = width - 128;
  if ((number.exponent + low) % 2 != 0) ++low;
  const Wide square = window(number, low);
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 63; bit != 0; bit >>= 1U) {
    const Wide trial = root | bit;
    if (trial * trial <= square) root |= bit;
  }
  more = more || low > std::countr_zero(number.words[0]) || static_cast<Wide>(root) * root != square;
  return rounded(Magnitude(root, (number.exponent + low) / 2), more, result);
}

// (n Σx² - (Σx)²) / (n (n - ddof)), rounded down to at least 128 bits; `more` is set where that is not exact.
Magnitude variance_number(const Part& sum, const Part& squares, std::uint64_t count, std::uint64_t ddof, bool& more) {
  const Magnitude squared = product(sum.number, sum.number);
  const Magnitude above = difference(product(squares.number, Magnitude(count, 0)), squared);
  // A quotient of quotients, both rounded down to multiples of one number, is rounded down.
  const int lowest = above.exponent - 8 * digit_bits;
  return quotient(quotient(above, count, lowest, more), count - ddof, lowest, more);
}

}  // namespace

double norm2_of(const Part& squares, Dtype result) noexcept {
  return squares.specials != 0 ? special(squares.specials) : root_of(squares.number, false, result);
}

double variance_of(const Part& sum, const Part& squares, std::uint64_t count, std::uint64_t ddof,
                   Dtype result) noexcept {
  if (squares.specials != 0) return std::numeric_limits<double>::quiet_NaN();
  bool more = false;
  const Magnitude variance = variance_number(sum, squares, count, ddof, more);
  return rounded(variance, more, result);
}

double deviation_of(const Part& sum, const Part& squares, std::uint64_t count, std::uint64_t ddof,
                    Dtype result) noexcept {
  if (squares.specials != 0) return std::numeric_limits<double>::quiet_NaN();
  bool more = false;
  const Magnitude variance = variance_number(sum, squares, count, ddof, more);
  return root_of(variance, more, result);
}

bool integer_of(const Part& sum, bool is_signed, std::uint64_t& bits) noexcept {
  const Magnitude& number = sum.number;
  const auto magnitude = static_cast<std::uint64_t>(window(number, -number.exponent));
  bits = number.negative ? -magnitude : magnitude;
  if (number.size == 0) return true;
  const int width =
      number.exponent + static_cast<int>(number.size) * digit_bits - std::countl_zero(number.words[number.size - 1]);
  if (width > 64) return false;
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  if (!is_signed) return !number.negative;
  return magnitude < half || (number.negative && magnitude == half);
}

}  // namespace masu::fixed
