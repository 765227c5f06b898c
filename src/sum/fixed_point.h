// SPDX-License-Identifier: Apache-2.0
// Exact numbers in fixed point: wide enough for any sum of floats or of products of two, and rounded once.
#pragma once

#include "elements/dtypes.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace masu::fixed {

__extension__ using Wide = unsigned __int128;

inline constexpr int digit_bits = 32;
inline constexpr std::uint64_t digit_mask = 0xffffffff;
// A digit takes 2^31 additions of 32 bits before its 64 bits could overflow; carries are moved on before that.
inline constexpr std::uint64_t additions_before_carry = std::uint64_t{1} << 30;

// What came that is not a finite number.
inline constexpr std::uint8_t has_nan = 1;
inline constexpr std::uint8_t has_infinity = 2;
inline constexpr std::uint8_t has_minus_infinity = 4;

// The digits in the following are sums of digits[i] * 2^(32 i), each a signed number of 64 bits.

// Adds ±magnitude * times * 2^position. Bits above the last digit must be zeros.
inline void add(std::span<std::int64_t> digits, std::uint64_t magnitude, int position, bool negative,
                std::uint32_t times = 1) {
  Wide bits = static_cast<Wide>(magnitude) * times;
  auto digit = static_cast<std::size_t>(position / digit_bits);
  const int shift = position % digit_bits;
  std::uint64_t carry = 0;
  while (bits != 0 || carry != 0) {
    const std::uint64_t shifted = ((static_cast<std::uint64_t>(bits) & digit_mask) << shift) + carry;
    carry = shifted >> digit_bits;
    const auto amount = static_cast<std::int64_t>(shifted & digit_mask);
    digits[digit++] += negative ? -amount : amount;
    bits >>= digit_bits;
  }
}
// Moves carries on: every digit but the highest ends in [0, 2^32).
void propagate(std::span<std::int64_t> digits) noexcept;

// ±words * 2^exponent, the lowest word first; neither the first nor the last is 0.
struct Magnitude {
  static constexpr std::size_t capacity = 160;  // of what the variance needs
  std::array<std::uint32_t, capacity> words;
  std::size_t size = 0;
  int exponent = 0;
  bool negative = false;

  Magnitude() noexcept {}  // NOLINT(cppcoreguidelines-pro-type-member-init): words past `size` are unused
  Magnitude(std::uint64_t number, int of_lowest);
  [[nodiscard]] std::span<const std::uint32_t> span() const noexcept { return {words.data(), size}; }
  void trim() noexcept;
};
// The magnitude of digits * 2^exponent.
Magnitude magnitude_of(std::span<const std::int64_t> digits, int exponent) noexcept;

// Whether the number without its sign is at most count * 2^exponent.
bool is_at_most(const Magnitude& number, std::uint64_t count, int exponent) noexcept;

// Rounded to nearest, ties to even, to a dtype of floats. `more`: the number is greater by less than one of the lowest
// bit, which must be lower than what is rounded to. Too large a number becomes an infinity; zero is +0.
double rounded(const Magnitude& number, bool more, Dtype result) noexcept;

// A number that others are added to: digits * 2^lowest, from the lowest bit that can come to 2^64 times the highest.
template <int lowest_exponent, std::size_t size>
class Accumulator {
 public:
  static constexpr int lowest = lowest_exponent;
  static constexpr std::size_t digits = size;
  static_assert(lowest % digit_bits == 0);

  // ±magnitude * 2^exponent.
  void add(std::uint64_t magnitude, int exponent, bool negative) {
    fixed::add(digits_, magnitude, exponent - lowest, negative);
    if (++pending_ == additions_before_carry) carry();
  }
  void add(std::int64_t number, int exponent) {
    const auto bits = static_cast<std::uint64_t>(number);
    add(number < 0 ? -bits : bits, exponent, number < 0);
  }
  // A finite number.
  void add(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto field = static_cast<int>(bits >> 52 & 2047);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    add(field == 0 ? fraction : fraction | std::uint64_t{1} << 52, (field == 0 ? 1 : field) - 1075, bits >> 63 != 0);
  }
  void note(std::uint8_t special) noexcept { specials_ |= special; }
  void merge(const Accumulator& other) {
    carry();
    Accumulator theirs = other;
    theirs.add_to(digits_);
    specials_ |= theirs.specials_;
    pending_ = 1;
  }
  void add(const Magnitude& number) {
    for (std::size_t i = 0; i < number.size; ++i) {
      add(number.words[i], number.exponent + digit_bits * static_cast<int>(i), number.negative);
    }
  }
  // Adds it to digits of the same positions, each less than 2^33 more than it was.
  void add_to(std::span<std::int64_t, size> sums) {
    carry();
    for (std::size_t i = 0; i < size; ++i) sums[i] += digits_[i];
  }
  [[nodiscard]] Magnitude magnitude() const noexcept { return magnitude_of(digits_, lowest); }
  [[nodiscard]] std::uint8_t specials() const noexcept { return specials_; }

 private:
  void carry() noexcept {
    propagate(digits_);
    pending_ = 0;
  }
  std::array<std::int64_t, size> digits_{};
  std::uint64_t pending_ = 0;  // additions since carries were last moved on
  std::uint8_t specials_ = 0;
};

// Numbers of every dtype, and products of two.
using Sum = Accumulator<-1088, 70>;
using Products = Accumulator<-2176, 137>;

// A finished number, or what came that was none: then the number is 0.
struct Part {
  Magnitude number;
  std::uint8_t specials = 0;

  Part() = default;
  template <int lowest, std::size_t size>
  explicit Part(const Accumulator<lowest, size>& from) : specials(from.specials()) {
    if (specials == 0) number = from.magnitude();
  }
};

// The rules of sum.h. `count` is that of the elements.
double sum_of(const Part& sum, Dtype result) noexcept;
double mean_of(const Part& sum, std::uint64_t count, Dtype result) noexcept;
double norm2_of(const Part& squares, Dtype result) noexcept;
double variance_of(const Part& sum, const Part& squares, std::uint64_t count, std::uint64_t ddof,
                   Dtype result) noexcept;
double deviation_of(const Part& sum, const Part& squares, std::uint64_t count, std::uint64_t ddof,
                    Dtype result) noexcept;
// True where the number, which is whole, fits i64 (`is_signed`) or u64. `bits`: the number modulo 2^64.
bool integer_of(const Part& sum, bool is_signed, std::uint64_t& bits) noexcept;

// A part as bytes: equal parts give equal bytes.
void append(std::vector<std::byte>& bytes, const Part& part);
// Takes one off the front. False where the bytes are none that append() wrote, or hold a number outside of
// 2^lowest … 2^(32 words) * 2^lowest.
bool take(std::span<const std::byte>& bytes, int lowest, std::size_t words, Part& part) noexcept;
// The same for an unsigned integer of `size` bytes, little-endian.
void append(std::vector<std::byte>& bytes, std::uint64_t value, std::size_t size);
bool take(std::span<const std::byte>& bytes, std::size_t size, std::uint64_t& value) noexcept;

}  // namespace masu::fixed
