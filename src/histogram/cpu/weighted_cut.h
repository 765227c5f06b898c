// SPDX-License-Identifier: Apache-2.0
// Weights cut in two: what is a multiple of a high unit, and the rest, a multiple of a low one. The units are so far
// apart, and the sizes so far below 2^53 of them, that no sum of either part is rounded.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace masu::cpu {

struct WeightHalves {
  double high = 0;
  double low = 0;
  void add(const WeightHalves& other) noexcept {
    high += other.high;
    low += other.low;
  }
};

// Units for `count` weights of the size of the first ones.
struct WeightUnits {
  template <class W>
  WeightUnits(const W* weights, std::uint64_t count) {
    constexpr std::uint64_t sampled = 64;
    double largest = 0;
    for (std::uint64_t i = 0; i < std::min(count, sampled); ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(weights[i])));
    }
    // A part is at most 2^exponent, or half of the high unit, and 2^count_bits of them are at most 2^53 units.
    const int exponent = largest == 0 || !(largest < 0x1p900) ? 0 : std::max(std::ilogb(largest), -900) + 2;
    const auto count_bits = static_cast<int>(std::bit_width(count));
    const int high_unit = exponent + count_bits - 53;
    most = std::ldexp(1.0, exponent);
    high = std::ldexp(0x1.8p52, high_unit);
    low = std::ldexp(0x1.8p52, high_unit - 1 + count_bits - 53);
  }
  double most;
  double high;  // 1.5 * 2^52 units
  double low;
};

// Cuts a block of weights; false where it cannot.
bool cut_weights(const double* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves);
bool cut_weights(const float* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves);

}  // namespace masu::cpu
