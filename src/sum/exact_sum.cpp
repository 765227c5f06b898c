// SPDX-License-Identifier: Apache-2.0
// Kulisch's long accumulator: the sum as a fixed-point number whose lowest bit is that of the smallest subnormal.
#include <masu/exact_sum.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <tuple>

namespace masu {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr int lowest_exponent = -1074;  // of the lowest bit of digit 0
constexpr int one_position = 1074;      // the bit of 1.0
constexpr std::uint64_t digit_mask = 0xffffffff;
// A digit takes 2^31 additions of 32 bits before its 64 bits could overflow; carries are moved on before that.
constexpr std::uint64_t additions_before_carry = std::uint64_t{1} << 30;

void add_magnitude(std::span<std::int64_t> digits, std::uint64_t magnitude, int position, bool negative,
                   std::uint32_t times) {
  Wide bits = static_cast<Wide>(magnitude) * times;
  // Up to 96 bits, shifted by up to 31.
  auto digit = static_cast<std::size_t>(position / 32);
  const int shift = position % 32;
  std::uint64_t carry = 0;
  for (int part = 0; part < 4; ++part, ++digit) {
    const std::uint64_t word = static_cast<std::uint64_t>(bits) & digit_mask;
    const std::uint64_t shifted = (word << shift) + carry;
    carry = shifted >> 32;
    const auto amount = static_cast<std::int64_t>(shifted & digit_mask);
    digits[digit] += negative ? -amount : amount;
    bits >>= 32;
    if (bits == 0 && carry == 0) return;
  }
}

// Moves carries on: every digit but the highest ends in [0, 2^32).
void propagate(std::span<std::int64_t> digits) {
  std::int64_t carry = 0;
  for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
    const std::int64_t value = digits[i] + carry;
    carry = value >> 32;
    digits[i] = value & static_cast<std::int64_t>(digit_mask);
  }
  digits.back() += carry;
}

// The digits' magnitude, lowest first, and whether the number is negative.
template <std::size_t size>
std::array<std::uint32_t, size + 1> magnitude_of(const std::array<std::int64_t, size>& digits, bool& negative) {
  std::array<std::int64_t, size> copy = digits;
  propagate(copy);
  negative = copy.back() < 0;
  if (negative) {
    for (std::int64_t& digit : copy) digit = -digit;
    propagate(copy);
  }
  std::array<std::uint32_t, size + 1> result{};
  for (std::size_t i = 0; i < copy.size(); ++i) result[i] = static_cast<std::uint32_t>(copy[i]);
  result.back() = static_cast<std::uint32_t>(static_cast<std::uint64_t>(copy.back()) >> 32);
  return result;
}

bool bit_at(std::span<const std::uint32_t> digits, int position) {
  return (digits[static_cast<std::size_t>(position / 32)] >> (position % 32) & 1U) != 0;
}

// digits * 2^exponent, and a little more if `more`, rounded to nearest, ties to even.
double rounded(std::span<const std::uint32_t> digits, int exponent, bool more) {
  int top = static_cast<int>(digits.size()) * 32 - 1;
  while (top >= 0 && !bit_at(digits, top)) --top;
  if (top < 0) return 0;
  // The lowest bit kept: 53 bits, or as many as a subnormal has.
  const int low = std::max(top - 52, lowest_exponent - exponent);
  std::uint64_t mantissa = 0;
  for (int position = top; position >= std::max(low, 0); --position) {
    mantissa = mantissa << 1 | static_cast<std::uint64_t>(bit_at(digits, position));
  }
  if (low < 0) mantissa <<= -low;
  const bool half = low > 0 && low - 1 <= top && bit_at(digits, low - 1);
  bool rest = more;
  for (int position = 0; position < low - 1 && position <= top && !rest; ++position) rest = bit_at(digits, position);
  if (half && (rest || (mantissa & 1U) != 0)) ++mantissa;
  return std::ldexp(static_cast<double>(mantissa), low + exponent);
}

}  // namespace

void ExactSum::add(double value, std::uint64_t times) {
  count_ += times;
  if (times == 0) return;
  if (!std::isfinite(value)) {
    nan_ = nan_ || std::isnan(value);
    positive_infinity_ = positive_infinity_ || value == std::numeric_limits<double>::infinity();
    negative_infinity_ = negative_infinity_ || value == -std::numeric_limits<double>::infinity();
    return;
  }
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<int>(bits >> 52 & 2047);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  const int position = exponent == 0 ? 0 : exponent - 1;
  const bool negative = bits >> 63 != 0;
  add_magnitude(digits_, mantissa, position, negative, static_cast<std::uint32_t>(times & digit_mask));
  if (times >> 32 != 0) {
    add_magnitude(digits_, mantissa, position + 32, negative, static_cast<std::uint32_t>(times >> 32));
  }
  if (++pending_ >= additions_before_carry) {
    propagate(digits_);
    pending_ = 0;
  }
}

namespace {

double value_of(Half half) {
  const unsigned exponent = half.bits >> 10 & 31U;
  const unsigned fraction = half.bits & 1023U;
  const double sign = (half.bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  if (exponent == 0) return sign * fraction * 0x1p-24;
  return sign * std::ldexp(1024.0 + fraction, static_cast<int>(exponent) - 25);
}

}  // namespace

void ExactSum::add(const ArrayView& data) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    if constexpr (std::is_same_v<T, Half>) {
      for (std::uint64_t i = 0; i < data.count; ++i) add(value_of(x[i]));
    } else if constexpr (std::is_floating_point_v<T>) {
      for (std::uint64_t i = 0; i < data.count; ++i) add(static_cast<double>(x[i]));
    } else {
      // The two 32-bit halves of the values' two's complement are added up apart; neither sum can overflow in a block.
      constexpr std::uint64_t block = std::uint64_t{1} << 30;
      for (std::uint64_t first = 0; first < data.count; first += block) {
        std::uint64_t low = 0;
        std::int64_t high = 0;
        const std::uint64_t end = std::min(data.count, first + block);
        for (std::uint64_t i = first; i < end; ++i) {
          if constexpr (sizeof(T) < 8) {
            high += static_cast<std::int64_t>(x[i]);
          } else {
            low += static_cast<std::uint64_t>(x[i]) & digit_mask;
            if constexpr (std::is_signed_v<T>) {
              high += x[i] >> 32;
            } else {
              high += static_cast<std::int64_t>(x[i] >> 32);
            }
          }
        }
        const bool negative = high < 0;
        const std::uint64_t magnitude = negative ? -static_cast<std::uint64_t>(high) : static_cast<std::uint64_t>(high);
        add_magnitude(digits_, magnitude, one_position + (sizeof(T) == 8 ? 32 : 0), negative, 1);
        add_magnitude(digits_, low, one_position, false, 1);
        propagate(digits_);
        pending_ = 0;
      }
      count_ += data.count;
    }
  });
}

void ExactSum::merge(const ExactSum& other) {
  propagate(digits_);
  auto theirs = other.digits_;
  propagate(theirs);
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += theirs[i];
  pending_ = 1;
  count_ += other.count_;
  positive_infinity_ = positive_infinity_ || other.positive_infinity_;
  negative_infinity_ = negative_infinity_ || other.negative_infinity_;
  nan_ = nan_ || other.nan_;
}

double ExactSum::sum() const noexcept {
  if (nan_ || (positive_infinity_ && negative_infinity_)) return std::numeric_limits<double>::quiet_NaN();
  if (positive_infinity_) return std::numeric_limits<double>::infinity();
  if (negative_infinity_) return -std::numeric_limits<double>::infinity();
  bool negative = false;
  const auto magnitude = magnitude_of(digits_, negative);
  const double result = rounded(magnitude, lowest_exponent, false);
  return negative && result != 0 ? -result : result;
}

double ExactSum::mean() const {
  if (count_ == 0) throw Error(ErrorCode::invalid_argument, "ExactSum::mean: needs at least one value, got 0");
  const double total = sum();
  if (!std::isfinite(total) && (nan_ || positive_infinity_ || negative_infinity_)) return total;
  bool negative = false;
  const auto magnitude = magnitude_of(digits_, negative);
  // Long division with 128 bits behind the point, more than a 64-bit divisor can take away.
  constexpr std::size_t extra = 4;
  std::array<std::uint32_t, std::tuple_size_v<decltype(magnitude)> + extra> quotient{};
  Wide remainder = 0;
  for (std::size_t i = quotient.size(); i-- > 0;) {
    const Wide part = remainder << 32 | (i >= extra ? magnitude[i - extra] : 0U);
    quotient[i] = static_cast<std::uint32_t>(part / count_);
    remainder = part % count_;
  }
  const double result = rounded(quotient, lowest_exponent - 32 * static_cast<int>(extra), remainder != 0);
  return negative && result != 0 ? -result : result;
}

}  // namespace masu
