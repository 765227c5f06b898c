// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest/references.h"

#include "runtime/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

namespace masu::cli {
namespace {

constexpr int unit = -2148;          // the lowest bit of a product of two subnormal numbers of f64
constexpr unsigned more_bits = 160;  // below what is rounded, of quotients and roots

struct Format {
  int precision;
  int least;     // exponent of the lowest bit
  int greatest;  // numbers from 2^greatest on are infinite
};

Format format_of(Dtype dtype) {
  if (dtype == Dtype::f16) return {11, -24, 16};
  return dtype == Dtype::f32 ? Format{24, -149, 128} : Format{53, -1074, 1024};
}

// magnitude * 2^exponent, and a little more where `more` says so, to nearest.
double rounded(bool negative, const Natural& magnitude, bool more, int exponent, Dtype to) {
  const Format format = format_of(to);
  const int bits = static_cast<int>(magnitude.bits());
  if (bits == 0) return 0;
  const int drop = std::max({bits - format.precision, format.least - exponent, 0});
  const auto at = static_cast<unsigned>(drop);
  std::uint64_t kept = magnitude.word(at);
  const bool half = drop > 0 && (magnitude.word(at - 1) & 1U) != 0;
  const bool rest = more || (drop > 1 && magnitude.any_below(at - 1));
  if (half && (rest || (kept & 1U) != 0)) ++kept;
  double value = std::ldexp(static_cast<double>(kept), drop + exponent);
  if (value >= std::ldexp(1.0, format.greatest - 1) * 2) value = std::numeric_limits<double>::infinity();
  return negative ? -value : value;
}

// The root of a number of 2^exponent, which is even; `more`: the number is a little larger, by less than 1.
double rounded_root(const Natural& square, bool more, int exponent, Dtype to) {
  // The highest bits of the root, one after the other; what is below them only has to be told from zero.
  Natural root;
  const unsigned highest = (square.bits() + 1) / 2;
  for (unsigned bit = highest, done = 0; bit > 0 && done < 70; --bit, ++done) {
    Natural next = root;
    next.add(1, bit - 1);
    if (next * next <= square) root = next;
  }
  more = more || root * root != square;
  return rounded(false, root, more, exponent / 2, to);
}

}  // namespace

struct ReferenceSum::Parts {
  bool negative = false;
  bool nan = false;
  bool infinite = false;
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

ReferenceSum::Parts ReferenceSum::parts_of(const ArrayView& data, std::uint64_t i) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T element = static_cast<const T*>(data.data)[i];
    Parts parts;
    if constexpr (std::integral<T>) {
      parts.negative = element < 0;
      using U = std::make_unsigned_t<T>;
      const U bits = static_cast<U>(element);
      parts.mantissa = parts.negative ? static_cast<U>(U{0} - bits) : bits;
    } else {
      double value = 0;
      if constexpr (std::same_as<T, Half>) value = runtime::to_double(element);
      else value = element;
      parts.negative = std::signbit(value);
      parts.nan = std::isnan(value);
      parts.infinite = std::isinf(value);
      if (std::isfinite(value) && value != 0) {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        const auto exponent = static_cast<int>(bits >> 52U & 0x7ffU);
        parts.mantissa = bits & ((std::uint64_t{1} << 52U) - 1);
        if (exponent != 0) parts.mantissa |= std::uint64_t{1} << 52U;
        parts.exponent = std::max(exponent, 1) - 1075;
      }
    }
    return parts;
  });
}

void ReferenceSum::add_infinity(bool negative) {
  (negative ? negative_infinity_ : positive_infinity_) = true;
}

void ReferenceSum::add(const ArrayView& data, std::uint64_t i) {
  const Parts parts = parts_of(data, i);
  ++count_;
  nan_ = nan_ || parts.nan;
  if (parts.infinite) add_infinity(parts.negative);
  if (parts.mantissa == 0) return;
  (parts.negative ? negative_ : positive_).add(parts.mantissa, static_cast<unsigned>(parts.exponent - unit));
}

void ReferenceSum::add_product(const ArrayView& x, std::uint64_t i, const ArrayView& y, std::uint64_t j) {
  const Parts a = parts_of(x, i);
  const Parts b = parts_of(y, j);
  ++count_;
  const bool zero = (!a.infinite && a.mantissa == 0) || (!b.infinite && b.mantissa == 0);
  if (a.nan || b.nan || ((a.infinite || b.infinite) && zero)) {
    nan_ = true;
  } else if (a.infinite || b.infinite) {
    add_infinity(a.negative != b.negative);
  } else if (!zero) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{a.mantissa} * b.mantissa;
    Natural& part = a.negative != b.negative ? negative_ : positive_;
    const auto shift = static_cast<unsigned>(a.exponent + b.exponent - unit);
    part.add(static_cast<std::uint64_t>(product), shift);
    part.add(static_cast<std::uint64_t>(product >> 64), shift + 64);
  }
}

bool ReferenceSum::special(double& result) const {
  const double infinity = std::numeric_limits<double>::infinity();
  if (nan_ || (positive_infinity_ && negative_infinity_)) result = std::numeric_limits<double>::quiet_NaN();
  else if (positive_infinity_ || negative_infinity_) result = positive_infinity_ ? infinity : -infinity;
  else return false;
  return true;
}

Natural ReferenceSum::magnitude(bool& negative) const {
  negative = positive_ < negative_;
  return negative ? negative_ - positive_ : positive_ - negative_;
}

double ReferenceSum::sum(Dtype to) const {
  double result = 0;
  if (special(result)) return result;
  bool negative = false;
  const Natural all = magnitude(negative);
  return rounded(negative, all, false, unit, to);
}

double ReferenceSum::mean(Dtype to) const {
  double result = 0;
  if (special(result)) return result;
  bool negative = false;
  Natural all = magnitude(negative) * Natural(1, more_bits);
  const bool more = all.divide(count_) != 0;
  return rounded(negative, all, more, unit - static_cast<int>(more_bits), to);
}

double ReferenceSum::root(Dtype to) const {
  double result = 0;
  if (special(result)) return result;
  bool negative = false;
  return rounded_root(magnitude(negative) * Natural(1, 2 * more_bits), false, unit - 2 * static_cast<int>(more_bits),
                      to);
}

Natural ReferenceSum::variance_in_bits(const ReferenceSum& squares, std::uint64_t ddof, unsigned bits,
                                       bool& more) const {
  bool negative = false;
  const Natural sum = magnitude(negative);
  const Natural sum_of_squares = squares.magnitude(negative);
  // (n * sum of squares - square of the sum) / n / (n - ddof), in units of 2^(2 unit)
  Natural all = (sum_of_squares * Natural(count_, static_cast<unsigned>(-unit)) - sum * sum) * Natural(1, bits);
  more = all.divide(count_) != 0;
  more = all.divide(count_ - ddof) != 0 || more;
  return all;
}

double ReferenceSum::variance(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const {
  double result = 0;
  if (special(result)) return std::numeric_limits<double>::quiet_NaN();
  bool more = false;
  const Natural all = variance_in_bits(squares, ddof, more_bits, more);
  return rounded(false, all, more, 2 * unit - static_cast<int>(more_bits), to);
}

double ReferenceSum::standard_deviation(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const {
  double result = 0;
  if (special(result)) return std::numeric_limits<double>::quiet_NaN();
  bool more = false;
  const Natural all = variance_in_bits(squares, ddof, 2 * more_bits, more);
  return rounded_root(all, more, 2 * unit - 2 * static_cast<int>(more_bits), to);
}

bool ReferenceSum::integer(bool with_sign, std::uint64_t& bits) const {
  bool negative = false;
  const Natural all = magnitude(negative);
  const auto shift = static_cast<unsigned>(-unit);
  bits = all.word(shift);
  if (negative) bits = 0 - bits;
  if (!with_sign) return !negative && all.bits() <= shift + 64;
  const bool lowest = negative && bits == std::uint64_t{1} << 63U;
  return all.bits() <= shift + 63 || (lowest && all.bits() == shift + 64);
}

}  // namespace masu::cli
