// SPDX-License-Identifier: Apache-2.0
// Exact sums, dots and moments by arithmetic on big integers as on paper, for --verify and selftest: it shares no code
// with what it checks.
#pragma once

#include <masu/dtype.h>

#include <cstdint>
#include <vector>

namespace masu::cli {

// An unsigned integer of any size, the lowest digit first.
class BigNumber {
 public:
  // Adds number * 2^shift.
  void add(std::uint64_t number, unsigned shift);
  [[nodiscard]] bool is_zero() const noexcept { return bits() == 0; }
  // The position of the highest bit that is set, from 1; 0 for zero.
  [[nodiscard]] unsigned bits() const noexcept;
  [[nodiscard]] bool bit(unsigned position) const noexcept;
  // Whether a bit below the position is set.
  [[nodiscard]] bool any_below(unsigned position) const noexcept;
  // The lowest 64 bits of this / 2^shift.
  [[nodiscard]] std::uint64_t word(unsigned shift) const noexcept;
  [[nodiscard]] BigNumber shifted(unsigned by) const;
  [[nodiscard]] BigNumber times(const BigNumber& other) const;
  // Divides by a number that is not 0; returns whether something was left over.
  bool divide(std::uint64_t divisor);
  // -1, 0 or 1, as this is less than, equal to or greater than the other.
  [[nodiscard]] int compare(const BigNumber& other) const noexcept;
  // this - other, where that is not negative.
  [[nodiscard]] BigNumber minus(const BigNumber& other) const;

 private:
  std::vector<std::uint32_t> digits_;
};

// The exact sum of values and of products of two; each result is rounded once.
class ReferenceSum {
 public:
  // Element i of the array, or the product of two elements.
  void add(const ArrayView& data, std::uint64_t i);
  void add_product(const ArrayView& x, std::uint64_t i, const ArrayView& y, std::uint64_t j);
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  // Rounded to nearest, ties to even, to f16, f32 or f64.
  [[nodiscard]] double sum(Dtype to) const;
  [[nodiscard]] double mean(Dtype to) const;
  // The square root of the sum.
  [[nodiscard]] double root(Dtype to) const;
  // Of the values whose sum this is and the sum of whose squares is given.
  [[nodiscard]] double variance(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const;
  [[nodiscard]] double standard_deviation(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const;
  // The sum of integers in 64 bits with or without a sign; false where it does not fit.
  bool integer(bool with_sign, std::uint64_t& bits) const;

 private:
  struct Parts;
  static Parts parts_of(const ArrayView& data, std::uint64_t i);
  // Adds mantissa * 2^exponent.
  void add_finite(bool negative, const BigNumber& mantissa, int exponent);
  void add_infinity(bool negative);
  // What infinities and NaNs make of the sum; true where there are any.
  bool special(double& result) const;
  // The variance of finite values in units of 2^(2 unit - bits), rounded down; `more` tells that something is below it.
  [[nodiscard]] BigNumber variance_in_bits(const ReferenceSum& squares, std::uint64_t ddof, unsigned bits,
                                           bool& more) const;
  // The sum without its sign, and the sign.
  [[nodiscard]] BigNumber magnitude(bool& negative) const;

  BigNumber positive_;  // in units of 2^unit
  BigNumber negative_;
  std::uint64_t count_ = 0;
  bool nan_ = false;
  bool positive_infinity_ = false;
  bool negative_infinity_ = false;
};

}  // namespace masu::cli
