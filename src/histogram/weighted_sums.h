// SPDX-License-Identifier: Apache-2.0
// Exact sums of weights, one a slot: fixed-point numbers whose unit is that of the smallest weight there is.
#pragma once

#include "call/state_bytes.h"
#include "sum/fixed_point.h"

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace masu {

// How the sums of weights of a dtype, or of their squares, are kept. Every weight is a whole number of units.
struct WeightFormat {
  Dtype weights;
  bool squared;
  int unit = 0;        // the exponent of the unit: it is 2^unit
  unsigned bits = 0;   // of a weight before it is shifted to its place
  unsigned range = 0;  // of the largest weight, in units

  constexpr WeightFormat(Dtype dtype, bool square) noexcept : weights(dtype), squared(square) {
    const unsigned times = square ? 2 : 1;
    if (is_float(dtype)) {
      const FloatFormat format = float_format(dtype);
      unit = format.least * static_cast<int>(times);
      bits = static_cast<unsigned>(format.precision) * times;
      range = static_cast<unsigned>(format.end - format.least) * times;
    } else {
      bits = range = static_cast<unsigned>(8 * size_of(dtype)) * times;
    }
  }
  // Digits of 32 bits on the host, in words of 64 that carries are taken from; the last one has room for 2^60 weights.
  [[nodiscard]] constexpr std::size_t words() const noexcept { return range / 32 + 2; }
  // Digits of 16 bits on devices; the last one only takes carries.
  [[nodiscard]] constexpr unsigned digits() const noexcept { return (range + 15) / 16 + 1; }
  // How many of them one weight lies in.
  [[nodiscard]] constexpr unsigned touched() const noexcept { return (bits + (is_float(weights) ? 15 : 0) + 15) / 16; }
};

// Adds `count` weights to the words and the flags (those of sum/fixed_point.h) of their slots. A word takes
// fixed::additions_before_carry weights before its carry must be moved on.
using AddWeights = void (*)(const std::uint32_t* slots, const void* weights, std::size_t count, std::int64_t* words,
                            std::uint8_t* flags);
AddWeights add_weights(const WeightFormat& format) noexcept;

class WeightSums {
 public:
  WeightSums(const WeightFormat& format, std::uint64_t slots)
      : format_(format), words_(slots * format.words()), flags_(slots) {}
  static std::uint64_t bytes_for(const WeightFormat& format, std::uint64_t slots) noexcept {
    return slots * (format.words() * sizeof(std::int64_t) + 1);
  }

  [[nodiscard]] const WeightFormat& format() const noexcept { return format_; }
  [[nodiscard]] std::uint64_t slots() const noexcept { return flags_.size(); }
  [[nodiscard]] std::int64_t* words(std::uint64_t slot) noexcept { return words_.data() + slot * format_.words(); }
  [[nodiscard]] std::uint8_t* flags(std::uint64_t slot) noexcept { return flags_.data() + slot; }
  // Moves the carries of slots [first, end) on: each word then counts as one weight.
  void propagate(std::uint64_t first, std::uint64_t end) noexcept;
  // Adds all slots of `other` to those from `first` on: each word then counts as the weights of both.
  void merge(const WeightSums& other, std::uint64_t first = 0) noexcept;
  // Adds what a device has of a slot: digits() 64-bit totals of 16-bit digits, then flags.
  void add_digits(std::uint64_t slot, const std::uint64_t* digits) noexcept;
  // All words, whose carries have been moved on, then all flags. False where they are not what write() wrote of sums of
  // at most n weights.
  void write(call::StateWriter& to) const;
  [[nodiscard]] bool read(call::StateReader& from, std::uint64_t n);

  // The exact sum, rounded once; NaN and infinities as masu/weighted_histogram.h says.
  [[nodiscard]] double total(std::uint64_t slot) const noexcept;
  // Whether the exact sum of integer weights fits i64 (u64 of unsigned ones). `bits`: the sum modulo 2^64.
  bool integer_total(std::uint64_t slot, std::uint64_t& bits) const noexcept;

 private:
  [[nodiscard]] fixed::Part part(std::uint64_t slot) const noexcept;
  WeightFormat format_;
  std::vector<std::int64_t> words_;
  std::vector<std::uint8_t> flags_;
};

}  // namespace masu
