// SPDX-License-Identifier: Apache-2.0
// Plain distinct values and runs, which everything is compared with, and data for it. Shares no code with the fast
// ones.
#pragma once

#include "elements/stored_float.h"

#include <masu/unique.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace masu::reference {

template <class T>
auto number(T x) {
  if constexpr (is_stored<T>) {
    return to_double(x);
  } else {
    return x;
  }
}

// The order of spec: by value, NaN last.
template <class T>
bool less(T a, T b) {
  const auto x = number(a);
  const auto y = number(b);
  if constexpr (std::is_integral_v<T>) {
    return x < y;
  } else {
    return std::isnan(y) ? !std::isnan(x) : x < y;
  }
}
template <class T>
bool same(T a, T b) {
  return !less(a, b) && !less(b, a);
}

template <class T>
Runs<T> run_length(const std::vector<T>& data) {
  Runs<T> runs;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (i == 0 || !same(data[i - 1], data[i])) {
      runs.values.push_back(data[i]);
      runs.starts.push_back(i);
      runs.lengths.push_back(0);
    }
    ++runs.lengths.back();
  }
  return runs;
}

template <class T>
Unique<T> unique(const std::vector<T>& data) {
  std::vector<std::uint64_t> order(data.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::uint64_t a, std::uint64_t b) { return less(data[a], data[b]); });
  Unique<T> result;
  result.inverse.resize(data.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !same(data[order[i - 1]], data[order[i]])) {
      result.values.push_back(data[order[i]]);
      result.indices.push_back(order[i]);
      result.counts.push_back(0);
    }
    ++result.counts.back();
    result.inverse[order[i]] = result.values.size() - 1;
  }
  return result;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Values that are special to T: extremes; zeros, infinities, subnormals, NaNs of both signs with several payloads.
template <class T>
std::vector<T> special_values() {
  if constexpr (is_stored<T>) {
    constexpr auto infinity = static_cast<unsigned>(infinity_bits<T>);
    std::vector<T> all;
    for (const unsigned bits : {0U, 1U, infinity - 1, infinity, infinity + 1, infinity + 0x40, 0x7fffU}) {
      for (const unsigned sign : {0U, 0x8000U}) all.push_back(T{static_cast<std::uint16_t>(bits | sign)});
    }
    return all;
  } else if constexpr (std::is_integral_v<T>) {
    return {T{0}, T{1}, std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), static_cast<T>(~T{0})};
  } else {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    using Limits = std::numeric_limits<T>;
    const auto nan = std::bit_cast<Bits>(Limits::quiet_NaN());
    const Bits sign = Bits{1} << (8 * sizeof(T) - 1);
    const auto of = [](Bits bits) { return std::bit_cast<T>(bits); };
    return {T{0},
            -T{0},
            Limits::infinity(),
            -Limits::infinity(),
            Limits::denorm_min(),
            -Limits::denorm_min(),
            Limits::max(),
            Limits::lowest(),
            of(nan),
            of(nan | sign),
            of(nan | 5),
            of(std::bit_cast<Bits>(Limits::infinity()) + 1)};
  }
}

enum class Shape { random_bits, few, runs, equal, sorted, special };
inline constexpr Shape shapes[] = {Shape::random_bits, Shape::few,    Shape::runs,
                                   Shape::equal,       Shape::sorted, Shape::special};

// `count` elements. `runs`: of geometric lengths, some very long; `sorted`: about each third a new value.
template <class T>
std::vector<T> data_of(Shape shape, std::size_t count, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  const std::vector<T> special = special_values<T>();
  const auto small = [&](std::uint64_t n) {
    if constexpr (is_stored<T>) {
      return rounded_to<T>(static_cast<double>(n) - 3);
    } else {
      return static_cast<T>(n);
    }
  };
  std::vector<T> data(count);
  std::uint64_t value = 0;
  std::uint64_t left = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (left == 0) {
      left = random() % 5 == 0 ? random() % 3000 : random() % 4;
      value = random() % 7;
    } else {
      --left;
    }
    const std::uint64_t bits = random();
    switch (shape) {
      case Shape::random_bits: std::memcpy(&data[i], &bits, sizeof(T)); break;
      case Shape::few: data[i] = small(bits % 5); break;
      case Shape::runs: data[i] = small(value); break;
      case Shape::equal: data[i] = small(4); break;
      case Shape::sorted: data[i] = small(i / 3 % 120); break;
      case Shape::special: data[i] = special[bits % special.size()]; break;
    }
  }
  if (shape == Shape::sorted) std::ranges::stable_sort(data, less<T>);
  return data;
}

}  // namespace masu::reference
