// SPDX-License-Identifier: Apache-2.0
// Kulisch's long accumulator as a plain value: fixed_point.h has the arithmetic.
#include "call/state_bytes.h"
#include "sum/fixed_point.h"
#include "sum/sum_simd.h"

#include <masu/sum.h>

#include <fmt/format.h>

#include <span>

namespace masu {

namespace {

constexpr int lowest = fixed::Sum::lowest;     // exponent of the lowest bit of digit 0
constexpr std::uint64_t letters = 0x3130534d;  // "MS01"

}  // namespace

void ExactSum::add(double value, std::uint64_t times) {
  const FloatingPointScope usual;
  count_ += times;
  if (times == 0) return;
  const cpu::Decoded number = cpu::decode(value);
  if (number.special != 0) return note(number.special);
  const int position = number.exponent - lowest;
  fixed::add(digits_, number.mantissa, position, number.negative,
             static_cast<std::uint32_t>(times & fixed::digit_mask));
  if (times >> 32 != 0) {
    fixed::add(digits_, number.mantissa, position + 32, number.negative, static_cast<std::uint32_t>(times >> 32));
  }
  if (++pending_ >= fixed::additions_before_carry) {
    fixed::propagate(digits_);
    pending_ = 0;
  }
}

void ExactSum::add(const ArrayView& data) {
  const FloatingPointScope usual;
  fixed::Sum added;
  dispatch(data.dtype,
           [&]<class T>(TypeTag<T>) { cpu::add_values(static_cast<const T*>(data.data), data.count, added); });
  fixed::propagate(digits_);
  pending_ = 1;
  added.add_to(digits_);
  note(added.specials());
  count_ += data.count;
}

void ExactSum::note(std::uint8_t specials) noexcept {
  nan_ = nan_ || (specials & fixed::has_nan) != 0;
  positive_infinity_ = positive_infinity_ || (specials & fixed::has_infinity) != 0;
  negative_infinity_ = negative_infinity_ || (specials & fixed::has_minus_infinity) != 0;
}

void ExactSum::merge(const ExactSum& other) {
  const FloatingPointScope usual;
  const std::uint64_t count = call::elements_of_both("ExactSum::merge", count_, other.count_);
  fixed::propagate(digits_);
  auto theirs = other.digits_;
  fixed::propagate(theirs);
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += theirs[i];
  pending_ = 1;
  count_ = count;
  positive_infinity_ = positive_infinity_ || other.positive_infinity_;
  negative_infinity_ = negative_infinity_ || other.negative_infinity_;
  nan_ = nan_ || other.nan_;
}

// The sum as the functions of fixed_point.h take it.
struct ExactSumPart {
  static fixed::Part of(const ExactSum& sum) noexcept {
    fixed::Part part;
    part.specials =
        static_cast<std::uint8_t>((sum.nan_ ? fixed::has_nan : 0) | (sum.positive_infinity_ ? fixed::has_infinity : 0) |
                                  (sum.negative_infinity_ ? fixed::has_minus_infinity : 0));
    if (part.specials == 0) part.number = fixed::magnitude_of(sum.digits_, lowest);
    return part;
  }
};

double ExactSum::sum(Dtype result) const noexcept {
  const FloatingPointScope usual;
  return fixed::sum_of(ExactSumPart::of(*this), result);
}

double ExactSum::mean() const {
  const FloatingPointScope usual;
  if (count_ == 0) throw Error(ErrorCode::invalid_argument, "ExactSum::mean: needs at least one value, got 0");
  return fixed::mean_of(ExactSumPart::of(*this), count_, Dtype::f64);
}

std::vector<std::byte> ExactSum::bytes() const {
  std::vector<std::byte> result;
  fixed::append(result, letters, sizeof(std::uint32_t));
  fixed::append(result, count_, sizeof(std::uint64_t));
  fixed::append(result, ExactSumPart::of(*this));
  return result;
}

ExactSum ExactSum::from_bytes(std::span<const std::byte> bytes) {
  const auto require = [](bool good, const auto& rule) {
    if (!good) throw Error(ErrorCode::invalid_argument, "ExactSum::from_bytes: " + rule());
  };
  ExactSum sum;
  std::uint64_t head = 0;
  fixed::Part part;
  const std::size_t size = bytes.size();
  require(fixed::take(bytes, sizeof(std::uint32_t), head) && head == letters,
          [&] { return fmt::format("the bytes must begin with MS01, got {} bytes that do not", size); });
  require(fixed::take(bytes, sizeof(std::uint64_t), sum.count_) && fixed::take(bytes, lowest, digits, part) &&
              bytes.empty(),
          [&] { return fmt::format("the bytes must be what bytes() wrote, got {} bytes of another form", size); });
  require(sum.count_ <= call::most_in_state,
          [&] { return fmt::format("the sum must be of fewer than 2^63 values, got {}", sum.count_); });
  require(fixed::is_at_most(part.number, sum.count_, 1024),
          [&] { return fmt::format("the sum must be one that {} values can have, got a greater one", sum.count_); });
  const auto first = static_cast<std::size_t>((part.number.exponent - lowest) / fixed::digit_bits);
  for (std::size_t i = 0; i < part.number.size; ++i) {
    const auto word = static_cast<std::int64_t>(part.number.words[i]);
    sum.digits_[first + i] = part.number.negative ? -word : word;
  }
  sum.pending_ = 1;
  sum.note(part.specials);
  return sum;
}

}  // namespace masu
