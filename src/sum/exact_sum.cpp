// SPDX-License-Identifier: Apache-2.0
// Kulisch's long accumulator as a plain value: fixed_point.h has the arithmetic.
#include "runtime/half.h"
#include "sum/fixed_point.h"

#include <masu/exact_sum.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace masu {

namespace {

constexpr int lowest = fixed::Sum::lowest;     // exponent of the lowest bit of digit 0
constexpr std::uint64_t version = 0x3130534d;  // "MS01"

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
  const int position = (exponent == 0 ? 1 : exponent) - 1075 - lowest;
  const bool negative = bits >> 63 != 0;
  fixed::add(digits_, mantissa, position, negative, static_cast<std::uint32_t>(times & fixed::digit_mask));
  if (times >> 32 != 0) {
    fixed::add(digits_, mantissa, position + 32, negative, static_cast<std::uint32_t>(times >> 32));
  }
  if (++pending_ >= fixed::additions_before_carry) {
    fixed::propagate(digits_);
    pending_ = 0;
  }
}

void ExactSum::add(const ArrayView& data) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    if constexpr (std::is_same_v<T, Half>) {
      for (std::uint64_t i = 0; i < data.count; ++i) add(runtime::to_double(x[i]));
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
            low += static_cast<std::uint64_t>(x[i]) & fixed::digit_mask;
            if constexpr (std::is_signed_v<T>) {
              high += x[i] >> 32;
            } else {
              high += static_cast<std::int64_t>(x[i] >> 32);
            }
          }
        }
        const bool negative = high < 0;
        const std::uint64_t magnitude = negative ? -static_cast<std::uint64_t>(high) : static_cast<std::uint64_t>(high);
        fixed::add(digits_, magnitude, (sizeof(T) == 8 ? 32 : 0) - lowest, negative);
        fixed::add(digits_, low, -lowest, false);
        fixed::propagate(digits_);
        pending_ = 0;
      }
      count_ += data.count;
    }
  });
}

void ExactSum::merge(const ExactSum& other) {
  fixed::propagate(digits_);
  auto theirs = other.digits_;
  fixed::propagate(theirs);
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += theirs[i];
  pending_ = 1;
  count_ += other.count_;
  positive_infinity_ = positive_infinity_ || other.positive_infinity_;
  negative_infinity_ = negative_infinity_ || other.negative_infinity_;
  nan_ = nan_ || other.nan_;
}

// The sum as the functions of fixed_point.h take it.
struct ExactSumPart {
  static fixed::Part of(const ExactSum& sum) noexcept {
    fixed::Part part;
    part.number = fixed::magnitude_of(sum.digits_, lowest);
    part.specials =
        static_cast<std::uint8_t>((sum.nan_ ? fixed::has_nan : 0) | (sum.positive_infinity_ ? fixed::has_infinity : 0) |
                                  (sum.negative_infinity_ ? fixed::has_minus_infinity : 0));
    return part;
  }
};

double ExactSum::sum(Dtype result) const noexcept {
  return fixed::sum_of(ExactSumPart::of(*this), result);
}

double ExactSum::mean() const {
  if (count_ == 0) throw Error(ErrorCode::invalid_argument, "ExactSum::mean: needs at least one value, got 0");
  return fixed::mean_of(ExactSumPart::of(*this), count_, Dtype::f64);
}

std::vector<std::byte> ExactSum::bytes() const {
  std::vector<std::byte> result;
  fixed::append(result, version, sizeof(std::uint32_t));
  fixed::append(result, count_, sizeof(std::uint64_t));
  fixed::append(result, ExactSumPart::of(*this));
  return result;
}

ExactSum ExactSum::from_bytes(std::span<const std::byte> bytes) {
  ExactSum sum;
  std::uint64_t head = 0;
  fixed::Part part;
  if (!fixed::take(bytes, sizeof(std::uint32_t), head) || head != version ||
      !fixed::take(bytes, sizeof(std::uint64_t), sum.count_) || !fixed::take(bytes, lowest, digits, part) ||
      !bytes.empty()) {
    throw Error(ErrorCode::invalid_argument, "ExactSum::from_bytes: these are not the bytes of an ExactSum");
  }
  const auto first = static_cast<std::size_t>((part.number.exponent - lowest) / fixed::digit_bits);
  for (std::size_t i = 0; i < part.number.size; ++i) {
    const auto word = static_cast<std::int64_t>(part.number.words[i]);
    sum.digits_[first + i] = part.number.negative ? -word : word;
  }
  sum.pending_ = 1;
  sum.nan_ = (part.specials & fixed::has_nan) != 0;
  sum.positive_infinity_ = (part.specials & fixed::has_infinity) != 0;
  sum.negative_infinity_ = (part.specials & fixed::has_minus_infinity) != 0;
  return sum;
}

}  // namespace masu
