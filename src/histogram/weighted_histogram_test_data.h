// SPDX-License-Identifier: Apache-2.0
// Weights that are hard to sum, and the plainest exact sum of them and of their squares.
#pragma once

#include "histogram/histogram_test_data.h"

#include <masu/sum.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace masu::test {

// How weights are drawn: of all kinds; about one size; of every finite exponent; each followed by its negative.
enum class Hard { mixed, narrow, exponents, cancelling };

template <class T>
std::vector<T> hard_weights(Hard hard, std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> result(size);
  if constexpr (is_stored<T>) {
    for (T& w : result) {
      do {
        w.bits = static_cast<std::uint16_t>(random());
      } while (!std::isfinite(plain_value(w)) && hard != Hard::mixed);
    }
  } else if constexpr (std::is_integral_v<T>) {
    // Halved twice, so that few 64-bit totals overflow.
    for (T& w : result) w = static_cast<T>(static_cast<T>(random()) / (hard == Hard::mixed ? 4096 : 65536));
    if (sizeof(T) < 8) {
      for (T& w : result) w = static_cast<T>(random());
    }
  } else {
    using Limits = std::numeric_limits<T>;
    const auto pick = [&]() -> T {
      const T part = static_cast<T>(random() >> 11) * static_cast<T>(0x1p-53) + static_cast<T>(0.5);
      const T sign = (random() & 1) != 0 ? 1 : -1;
      if (hard == Hard::narrow) return sign * part;
      const int exponents = Limits::max_exponent - Limits::min_exponent + Limits::digits;
      const int low = Limits::min_exponent - Limits::digits;
      return sign * std::ldexp(part, low + static_cast<int>(random() % static_cast<unsigned>(exponents)));
    };
    for (std::size_t i = 0; i < size; ++i) {
      result[i] = hard == Hard::cancelling && i % 2 == 1 ? -result[i - 1] : pick();
      if (hard == Hard::mixed && random() % 16 == 0) {
        const T special[] = {
            0, -T{0}, Limits::denorm_min(), -Limits::denorm_min(), Limits::max(), Limits::lowest(), Limits::min()};
        result[i] = special[random() % std::size(special)];
      }
    }
  }
  return result;
}

__extension__ using Int128 = __int128;

// The exact sums of what falls into one slot.
struct PlainTotal {
  ExactSum sum;
  ExactSum squares;
  Int128 integer = 0;

  template <class T>
  void add(T weight) {
    if constexpr (std::is_integral_v<T>) {
      sum.add(ArrayView(std::span(&weight, 1)));
      integer += static_cast<Int128>(weight);
      // The square of a 64-bit integer in three parts of 32 bits and more, each exact as f64.
      const auto wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(weight));
      const std::uint64_t magnitude = weight < 0 ? -wide : wide;
      const auto low = static_cast<double>(magnitude & 0xffffffffU);
      const auto high = static_cast<double>(magnitude >> 32);
      add_product(low, low, 1);
      add_product(low, high, 0x1p33);
      add_product(high, high, 0x1p64);
    } else {
      const double x = plain_value(weight);
      sum.add(x);
      add_product(x, x, 1);
    }
  }

 private:
  // A product of f64 is the sum of two f64, where it neither overflows nor underflows.
  void add_product(double a, double b, double scale) {
    const double product = a * b;
    squares.add(product * scale);
    if (std::isfinite(product)) squares.add(std::fma(a, b, -product) * scale);
  }
};

}  // namespace masu::test
