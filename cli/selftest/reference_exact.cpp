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
constexpr unsigned digit_bits = 32;

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
double rounded(bool negative, const BigNumber& magnitude, bool more, int exponent, Dtype to) {
  const Format format = format_of(to);
  const int bits = static_cast<int>(magnitude.bits());
  if (bits == 0) return 0;
  const int drop = std::max({bits - format.precision, format.least - exponent, 0});
  const auto at = static_cast<unsigned>(drop);
  std::uint64_t kept = magnitude.word(at);
  const bool half = drop > 0 && magnitude.bit(at - 1);
  const bool rest = more || (drop > 1 && magnitude.any_below(at - 1));
  if (half && (rest || (kept & 1U) != 0)) ++kept;
  double value = std::ldexp(static_cast<double>(kept), drop + exponent);
  if (value >= std::ldexp(1.0, format.greatest - 1) * 2) value = std::numeric_limits<double>::infinity();
  return negative ? -value : value;
}

// The root of a number of 2^exponent, which is even; `more`: the number is a little larger, by less than 1.
double rounded_root(const BigNumber& square, bool more, int exponent, Dtype to) {
  // The highest bits of the root, one after the other; what is below them only has to be told from zero.
  BigNumber root;
  const unsigned highest = (square.bits() + 1) / 2;
  for (unsigned bit = highest, done = 0; bit > 0 && done < 70; --bit, ++done) {
    BigNumber next = root;
    next.add(1, bit - 1);
    if (next.times(next).compare(square) <= 0) root = next;
  }
  more = more || root.times(root).compare(square) != 0;
  return rounded(false, root, more, exponent / 2, to);
}

}  // namespace

void BigNumber::add(std::uint64_t number, unsigned shift) {
  const std::size_t first = shift / digit_bits;
  const unsigned by = shift % digit_bits;
  const std::uint64_t low = number << by;
  const std::uint64_t high = by == 0 ? 0 : number >> (64 - by);
  const std::uint32_t parts[] = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> digit_bits),
                                 static_cast<std::uint32_t>(high)};
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < 3 || carry != 0; ++i) {
    if (digits_.size() <= first + i) digits_.resize(first + i + 1);
    carry += std::uint64_t{digits_[first + i]} + (i < 3 ? parts[i] : 0);
    digits_[first + i] = static_cast<std::uint32_t>(carry);
    carry >>= digit_bits;
  }
}

unsigned BigNumber::bits() const noexcept {
  for (std::size_t i = digits_.size(); i > 0; --i) {
    if (digits_[i - 1] != 0) return static_cast<unsigned>(i * digit_bits) - std::countl_zero(digits_[i - 1]);
  }
  return 0;
}

bool BigNumber::bit(unsigned position) const noexcept {
  const std::size_t digit = position / digit_bits;
  return digit < digits_.size() && (digits_[digit] >> position % digit_bits & 1U) != 0;
}

bool BigNumber::any_below(unsigned position) const noexcept {
  const std::size_t whole = std::min<std::size_t>(position / digit_bits, digits_.size());
  if (std::any_of(digits_.begin(), digits_.begin() + static_cast<std::ptrdiff_t>(whole),
                  [](std::uint32_t digit) { return digit != 0; })) {
    return true;
  }
  for (unsigned i = position / digit_bits * digit_bits; i < position; ++i) {
    if (bit(i)) return true;
  }
  return false;
}

std::uint64_t BigNumber::word(unsigned shift) const noexcept {
  std::uint64_t result = 0;
  const unsigned by = shift % digit_bits;
  for (unsigned i = 0; i < 3; ++i) {
    const std::size_t digit = shift / digit_bits + i;
    const std::uint64_t bits = digit < digits_.size() ? digits_[digit] : 0;
    if (i == 0) result = bits >> by;
    else if (i * digit_bits - by < 64) result |= bits << (i * digit_bits - by);
  }
  return result;
}

BigNumber BigNumber::shifted(unsigned by) const {
  BigNumber result;
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    result.add(digits_[i], static_cast<unsigned>(i) * digit_bits + by);
  }
  return result;
}

BigNumber BigNumber::times(const BigNumber& other) const {
  BigNumber result;
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    if (digits_[i] == 0) continue;
    for (std::size_t j = 0; j < other.digits_.size(); ++j) {
      result.add(std::uint64_t{digits_[i]} * other.digits_[j], static_cast<unsigned>(i + j) * digit_bits);
    }
  }
  return result;
}

bool BigNumber::divide(std::uint64_t divisor) {
  std::uint64_t rest = 0;
  for (unsigned position = bits(); position > 0; --position) {
    const bool carry = rest >> 63U != 0;
    rest = rest << 1U | std::uint64_t{bit(position - 1)};
    const bool fits = carry || rest >= divisor;
    if (fits) rest -= divisor;
    const std::uint32_t mask = std::uint32_t{1} << (position - 1) % digit_bits;
    std::uint32_t& digit = digits_[(position - 1) / digit_bits];
    digit = fits ? digit | mask : digit & ~mask;
  }
  return rest != 0;
}

int BigNumber::compare(const BigNumber& other) const noexcept {
  for (std::size_t i = std::max(digits_.size(), other.digits_.size()); i > 0; --i) {
    const std::uint32_t a = i <= digits_.size() ? digits_[i - 1] : 0;
    const std::uint32_t b = i <= other.digits_.size() ? other.digits_[i - 1] : 0;
    if (a != b) return a < b ? -1 : 1;
  }
  return 0;
}

BigNumber BigNumber::minus(const BigNumber& other) const {
  BigNumber result = *this;
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < result.digits_.size(); ++i) {
    const std::int64_t subtrahend = i < other.digits_.size() ? other.digits_[i] : 0;
    const std::int64_t difference = std::int64_t{result.digits_[i]} - subtrahend + borrow;
    result.digits_[i] = static_cast<std::uint32_t>(difference);
    borrow = difference < 0 ? -1 : 0;
  }
  return result;
}

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

void ReferenceSum::add_finite(bool negative, const BigNumber& mantissa, int exponent) {
  BigNumber& part = negative ? negative_ : positive_;
  const auto shift = static_cast<unsigned>(exponent - unit);
  for (unsigned at = 0; at < mantissa.bits(); at += 64) part.add(mantissa.word(at), shift + at);
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
    BigNumber first;
    BigNumber second;
    first.add(a.mantissa, 0);
    second.add(b.mantissa, 0);
    add_finite(a.negative != b.negative, first.times(second), a.exponent + b.exponent);
  }
}

bool ReferenceSum::special(double& result) const {
  const double infinity = std::numeric_limits<double>::infinity();
  if (nan_ || (positive_infinity_ && negative_infinity_)) result = std::numeric_limits<double>::quiet_NaN();
  else if (positive_infinity_ || negative_infinity_) result = positive_infinity_ ? infinity : -infinity;
  else return false;
  return true;
}

BigNumber ReferenceSum::magnitude(bool& negative) const {
  negative = positive_.compare(negative_) < 0;
  return negative ? negative_.minus(positive_) : positive_.minus(negative_);
}

double ReferenceSum::sum(Dtype to) const {
  double result = 0;
  if (special(result)) return result;
  bool negative = false;
  const BigNumber all = magnitude(negative);
  return rounded(negative, all, false, unit, to);
}

double ReferenceSum::mean(Dtype to) const {
  double result = 0;
  if (special(result)) return result;
  bool negative = false;
  BigNumber all = magnitude(negative).shifted(more_bits);
  const bool more = all.divide(count_);
  return rounded(negative, all, more, unit - static_cast<int>(more_bits), to);
}

double ReferenceSum::root(Dtype to) const {
  double result = 0;
  if (special(result)) return result;
  bool negative = false;
  return rounded_root(magnitude(negative).shifted(2 * more_bits), false, unit - 2 * static_cast<int>(more_bits), to);
}

BigNumber ReferenceSum::variance_in_bits(const ReferenceSum& squares, std::uint64_t ddof, unsigned bits,
                                         bool& more) const {
  bool negative = false;
  const BigNumber sum = magnitude(negative);
  const BigNumber sum_of_squares = squares.magnitude(negative);
  BigNumber count;
  count.add(count_, 0);
  // (n * sum of squares - square of the sum) / n / (n - ddof), in units of 2^(2 unit)
  BigNumber all = sum_of_squares.times(count).shifted(static_cast<unsigned>(-unit)).minus(sum.times(sum));
  all = all.shifted(bits);
  more = all.divide(count_);
  more = all.divide(count_ - ddof) || more;
  return all;
}

double ReferenceSum::variance(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const {
  double result = 0;
  if (special(result)) return std::numeric_limits<double>::quiet_NaN();
  bool more = false;
  const BigNumber all = variance_in_bits(squares, ddof, more_bits, more);
  return rounded(false, all, more, 2 * unit - static_cast<int>(more_bits), to);
}

double ReferenceSum::standard_deviation(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const {
  double result = 0;
  if (special(result)) return std::numeric_limits<double>::quiet_NaN();
  bool more = false;
  const BigNumber all = variance_in_bits(squares, ddof, 2 * more_bits, more);
  return rounded_root(all, more, 2 * unit - 2 * static_cast<int>(more_bits), to);
}

bool ReferenceSum::integer(bool with_sign, std::uint64_t& bits) const {
  bool negative = false;
  const BigNumber all = magnitude(negative);
  const auto shift = static_cast<unsigned>(-unit);
  bits = all.word(shift);
  if (negative) bits = 0 - bits;
  if (!with_sign) return !negative && all.bits() <= shift + 64;
  const bool lowest = negative && bits == std::uint64_t{1} << 63U;
  return all.bits() <= shift + 63 || (lowest && all.bits() == shift + 64);
}

}  // namespace masu::cli
