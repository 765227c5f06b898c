// SPDX-License-Identifier: Apache-2.0
// Data for the tests of sums: what makes plain addition go wrong.
#pragma once

#include "elements/stored_float.h"

#include <masu/dtype.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace masu::test {

template <class T>
inline constexpr bool is_real = is_float(dtype_of<T>);

template <class T>
T real(double x) {
  if constexpr (is_stored<T>) return rounded_to<T>(x);
  else return static_cast<T>(x);
}

// Any bits; of floats the finite ones.
template <class T>
T any_bits(std::mt19937_64& random) {
  for (;;) {
    const std::uint64_t bits = random();
    T x;
    std::memcpy(&x, &bits, sizeof(T));
    if constexpr (is_real<T>) {
      if constexpr (is_stored<T>) {
        if (!std::isfinite(to_double(x))) continue;
      } else if (!std::isfinite(x)) {
        continue;
      }
    }
    return x;
  }
}

inline const std::vector<std::string>& sum_data_names() {
  static const auto& names = *new std::vector<std::string>{"uniform", "normal",    "wide",  "cancelling",
                                                           "equal",   "subnormal", "zeros", "extremes"};
  return names;
}

template <class T>
std::vector<T> sum_data(const std::string& name, std::size_t count, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> x(count);
  if constexpr (!is_real<T>) {
    // The products of some thousands must fit.
    constexpr int unused = std::max(static_cast<int>(sizeof(T)) * 8 - 24, 0);
    for (T& value : x) {
      value = any_bits<T>(random);
      value = static_cast<T>(value >> unused);
    }
    if (name == "equal") std::fill(x.begin(), x.end(), static_cast<T>(std::numeric_limits<T>::max() >> unused));
    if (name == "zeros") std::fill(x.begin(), x.end(), T{0});
    return x;
  } else {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
    constexpr int fraction = float_format(dtype_of<T>).precision - 1;
    const T top = std::bit_cast<T>(static_cast<Bits>((std::numeric_limits<Bits>::max() >> 1) - (Bits{1} << fraction)));
    for (std::size_t i = 0; i < count; ++i) {
      if (name == "uniform") x[i] = real<T>(uniform(random));
      if (name == "normal") x[i] = real<T>(normal(random));
      if (name == "wide" || name == "cancelling") x[i] = any_bits<T>(random);
      if (name == "equal") x[i] = real<T>(0.1);
      if (name == "subnormal") {
        const auto bits = static_cast<Bits>(random());
        constexpr Bits sign = static_cast<Bits>(~(std::numeric_limits<Bits>::max() >> 1));
        x[i] = std::bit_cast<T>(static_cast<Bits>(bits & (sign | ((Bits{1} << fraction) - 1))));
      }
      if (name == "zeros") x[i] = real<T>(i % 2 == 0 ? -0.0 : 0.0);
      if (name == "extremes") x[i] = top;
    }
    if (name == "cancelling") {
      // Pairs, and two that are left.
      const std::size_t half = count / 2;
      for (std::size_t i = 0; i < half; ++i) {
        x[half + i] = std::bit_cast<T>(
            static_cast<Bits>(std::bit_cast<Bits>(x[i]) ^ static_cast<Bits>(~(std::numeric_limits<Bits>::max() >> 1))));
      }
      if (count > 2) x[count / 3] = std::bit_cast<T>(Bits{1});
      std::shuffle(x.begin(), x.end(), random);
    }
    return x;
  }
}

}  // namespace masu::test
