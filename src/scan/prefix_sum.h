// SPDX-License-Identifier: Apache-2.0
// Exact running sums of floats, each prefix rounded once.
#pragma once

#include <masu/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace masu {

// A running sum as one fixed-point number in two's complement, from 2^-1088 to 2^1087: room for 2^48 numbers of any
// size, all of one dtype.
class PrefixSum {
 public:
  // Adds elements of Half, float or double; where `output` is not null, writes the rounded sum in front of (exclusive)
  // or behind each. `output` may be `input`.
  template <class T>
  void run(const T* input, T* output, std::uint64_t count, bool exclusive);
  // Adds digits[i] * 2^(32 i - 1088), and numbers that are not finite.
  void add(std::span<const std::int64_t> digits, bool nan, bool infinity, bool minus_infinity) noexcept;
  // Adds what another one has added.
  void merge(const PrefixSum& later) noexcept;

 private:
  __extension__ using Wide = __int128;
  static constexpr std::size_t limbs = 34;
  static constexpr int lowest = -1088;  // exponent of the lowest bit

  void add_bits(std::uint64_t magnitude, int exponent, bool negative) noexcept;
  template <class T>
  void add(T x) noexcept;
  [[nodiscard]] bool special() const noexcept { return nan_ || infinity_ || minus_infinity_; }
  template <class T>
  [[nodiscard]] T value() const noexcept;
  // The sum in units of 2^exponent, where it is a whole number of them that `bits` bits hold with a sign.
  [[nodiscard]] bool in_units(int exponent, int bits, Wide& value) const noexcept;
  // The exponent of the lowest bit that is set; a great one where the sum is 0.
  [[nodiscard]] int lowest_bit() const noexcept;
  // Of all bits above the highest limb.
  [[nodiscard]] std::uint64_t fill() const noexcept { return -(limbs_.back() >> 63); }
  template <class T>
  void run_block(const T* input, T* output, std::size_t count, bool exclusive);
  template <class T>
  void run_specials(const T* input, T* output, std::size_t count, bool exclusive);

  std::array<std::uint64_t, limbs> limbs_{};
  bool nan_ = false;
  bool infinity_ = false;
  bool minus_infinity_ = false;
};

extern template void PrefixSum::run<Half>(const Half*, Half*, std::uint64_t, bool);
extern template void PrefixSum::run<float>(const float*, float*, std::uint64_t, bool);
extern template void PrefixSum::run<double>(const double*, double*, std::uint64_t, bool);

}  // namespace masu
