// SPDX-License-Identifier: Apache-2.0
// Whole numbers of any size, for the few comparisons that rounding must not decide.
#pragma once

#include <algorithm>
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

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t digit(std::size_t i) const { return i < digits_.size() ? digits_[i] : 0; }
  void trim() {
    while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
  }

  std::vector<std::uint64_t> digits_;  // lowest first, the highest not 0
};

}  // namespace masu
