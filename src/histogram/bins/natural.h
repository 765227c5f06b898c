// SPDX-License-Identifier: Apache-2.0
// Whole numbers of any size, for the few comparisons that rounding must not decide, and for exact references.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <vector>

namespace masu {

class Natural {
 public:
  Natural() = default;
  explicit Natural(std::uint64_t value) {
    if (value != 0) digits_.push_back(value);
  }
  // value * 2^shift.
  Natural(std::uint64_t value, unsigned shift) : digits_(shift / 64 + 2) {
    const unsigned bits = shift % 64;
    digits_[shift / 64] = value << bits;
    if (bits != 0) digits_[shift / 64 + 1] = value >> (64 - bits);
    trim();
  }

  friend Natural operator+(Natural a, const Natural& b) {
    a.digits_.resize(std::max(a.digits_.size(), b.digits_.size()) + 1);
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < a.digits_.size(); ++i) {
      const Wide sum = Wide{a.digits_[i]} + b.digit(i) + carry;
      a.digits_[i] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    a.trim();
    return a;
  }
  // a >= b.
  friend Natural operator-(Natural a, const Natural& b) {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < a.digits_.size(); ++i) {
      const Wide difference = Wide{a.digits_[i]} - b.digit(i) - borrow;
      a.digits_[i] = static_cast<std::uint64_t>(difference);
      borrow = static_cast<std::uint64_t>(difference >> 64) & 1U;
    }
    a.trim();
    return a;
  }
  friend Natural operator*(const Natural& a, const Natural& b) {
    Natural result;
    result.digits_.resize(a.digits_.size() + b.digits_.size());
    for (std::size_t i = 0; i < a.digits_.size(); ++i) {
      std::uint64_t carry = 0;
      for (std::size_t k = 0; k < b.digits_.size(); ++k) {
        const Wide sum = Wide{a.digits_[i]} * b.digits_[k] + result.digits_[i + k] + carry;
        result.digits_[i + k] = static_cast<std::uint64_t>(sum);
        carry = static_cast<std::uint64_t>(sum >> 64);
      }
      result.digits_[i + b.digits_.size()] = carry;
    }
    result.trim();
    return result;
  }
  friend std::strong_ordering operator<=>(const Natural& a, const Natural& b) {
    if (a.digits_.size() != b.digits_.size()) return a.digits_.size() <=> b.digits_.size();
    return std::lexicographical_compare_three_way(a.digits_.rbegin(), a.digits_.rend(), b.digits_.rbegin(),
                                                  b.digits_.rend());
  }
  friend bool operator==(const Natural&, const Natural&) = default;

  // Adds value * 2^shift.
  void add(std::uint64_t value, unsigned shift) {
    std::size_t at = shift / 64;
    digits_.resize(std::max(digits_.size(), at + 2) + 1);
    const Wide shifted = Wide{value} << shift % 64;
    Wide sum = Wide{digits_[at]} + static_cast<std::uint64_t>(shifted);
    digits_[at] = static_cast<std::uint64_t>(sum);
    for (sum = (sum >> 64) + (shifted >> 64); sum != 0; sum >>= 64) {
      sum += digits_[++at];
      digits_[at] = static_cast<std::uint64_t>(sum);
    }
    trim();
  }
  // Divides by a number that is not 0; returns the rest.
  std::uint64_t divide(std::uint64_t divisor) {
    std::uint64_t rest = 0;
    for (std::size_t i = digits_.size(); i-- > 0;) {
      const Wide part = Wide{rest} << 64 | digits_[i];
      digits_[i] = static_cast<std::uint64_t>(part / divisor);
      rest = static_cast<std::uint64_t>(part % divisor);
    }
    trim();
    return rest;
  }
  // The position of the highest bit that is set, from 1; 0 for zero.
  [[nodiscard]] unsigned bits() const {
    return digits_.empty() ? 0 : static_cast<unsigned>(64 * digits_.size()) - std::countl_zero(digits_.back());
  }
  // The lowest 64 bits of this / 2^shift.
  [[nodiscard]] std::uint64_t word(unsigned shift) const {
    return static_cast<std::uint64_t>((Wide{digit(shift / 64 + 1)} << 64 | digit(shift / 64)) >> shift % 64);
  }
  // Whether a bit below the position is set.
  [[nodiscard]] bool any_below(unsigned position) const {
    const auto whole = static_cast<std::ptrdiff_t>(std::min<std::size_t>(position / 64, digits_.size()));
    return std::any_of(digits_.begin(), digits_.begin() + whole, [](std::uint64_t digit) { return digit != 0; }) ||
           (digit(position / 64) & ((std::uint64_t{1} << position % 64) - 1)) != 0;
  }

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t digit(std::size_t i) const { return i < digits_.size() ? digits_[i] : 0; }
  void trim() {
    while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
  }

  std::vector<std::uint64_t> digits_;  // lowest first, the highest not 0
};

}  // namespace masu
