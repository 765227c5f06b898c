// SPDX-License-Identifier: Apache-2.0
// Data for the tests of selection, and the plain oracle: a stable sort in the order of the public headers.
#pragma once

#include "elements/stored_float.h"

#include <masu/topk.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace masu::test {

template <class T>
auto number_of(T x) {
  if constexpr (is_stored<T>) {
    return to_double(x);
  } else {
    return x;
  }
}
template <class T>
bool is_nan(T x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return std::isnan(number_of(x));
  }
}
// Ascending, NaN last.
template <class T>
bool comes_before(T a, T b) {
  if (is_nan(a) || is_nan(b)) return !is_nan(a);
  return number_of(a) < number_of(b);
}

template <class T>
struct Expected {
  std::vector<std::uint64_t> indices;
  std::vector<T> values;
  std::uint64_t skipped = 0;
};

template <class T>
std::vector<Expected<T>> expected_topk(const std::vector<T>& data, std::uint64_t k, const TopkOptions& options) {
  std::vector<Expected<T>> result;
  const std::uint64_t count = data.size() / options.rows;
  for (std::uint64_t row = 0; row < options.rows; ++row) {
    const T* x = data.data() + row * count;
    Expected<T> one;
    std::vector<std::uint64_t> order;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (options.nan == NanPolicy::skip && is_nan(x[i])) {
        ++one.skipped;
      } else {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
      if (is_nan(x[a]) && is_nan(x[b])) return false;
      return options.largest ? comes_before(x[b], x[a]) : comes_before(x[a], x[b]);
    });
    order.resize(std::min<std::size_t>(order.size(), k));
    for (const std::uint64_t i : order) one.values.push_back(x[i]);
    one.indices = std::move(order);
    result.push_back(std::move(one));
  }
  return result;
}

// Random values, many equal ones, and all that is special about T.
template <class T>
std::vector<T> mixed_values(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> special;
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_integral_v<T>) {
    special = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1}};
  } else {
    constexpr unsigned fraction = float_format(dtype_of<T>).precision - 1;
    const auto infinity = static_cast<Bits>((Bits{sign} - (Bits{1} << fraction)));
    const Bits positive[] = {Bits{0},
                             Bits{1},
                             infinity,
                             static_cast<Bits>(infinity - 1),
                             static_cast<Bits>(infinity + 1),
                             static_cast<Bits>(infinity | Bits{1} << (fraction - 1)),
                             static_cast<Bits>(sign - 1)};
    for (const Bits bits : positive) {
      special.push_back(std::bit_cast<T>(bits));
      special.push_back(std::bit_cast<T>(static_cast<Bits>(bits | sign)));
    }
  }
  std::vector<T> result(size);
  for (T& x : result) {
    const std::uint64_t draw = random();
    if (draw % 29 == 0) {
      x = special[(draw >> 8) % special.size()];
    } else if (draw % 3 == 0) {
      x = std::bit_cast<T>(static_cast<Bits>((draw >> 8) % 5));
    } else {
      x = std::bit_cast<T>(static_cast<Bits>(draw >> 8));
    }
  }
  return result;
}

inline std::vector<std::vector<float>> distributions(std::size_t size) {
  std::mt19937_64 random(11);
  std::vector<std::vector<float>> result(7, std::vector<float>(size));
  for (std::size_t i = 0; i < size; ++i) {
    const double part = static_cast<double>(random() >> 11) * 0x1p-53;
    result[0][i] = static_cast<float>(part);
    result[1][i] = 3;                                                  // constant
    result[2][i] = static_cast<float>(i);                              // ascending
    result[3][i] = static_cast<float>(size - i);                       // descending
    result[4][i] = static_cast<float>(std::floor(1 / (part + 1e-4)));  // few large, many small
    result[5][i] = static_cast<float>(random() % 4);                   // few
    result[6][i] = i % 977 == 5 ? 2.0F : 1.0F;                         // two, one of them rare
  }
  return result;
}

}  // namespace masu::test
