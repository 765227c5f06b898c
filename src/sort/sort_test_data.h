// SPDX-License-Identifier: Apache-2.0
// Keys that are hard to sort right, and the plain way to sort them.
#pragma once

#include "sort/sort_job.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace masu::test {

enum class Keys { random, few, equal, sorted, reversed, special };
inline constexpr Keys all_keys[] = {Keys::random, Keys::few, Keys::equal, Keys::sorted, Keys::reversed, Keys::special};

// Any bits: of floats also NaNs of all kinds, infinities, subnormals. `special` of floats: zeros of both signs and NaNs
// of several payloads between numbers; of integers: the extremes and what lies around zero.
template <class T>
std::vector<T> make_keys(Keys kind, std::uint64_t count, unsigned seed = 1) {
  using Bits = UnsignedOf<sizeof(T)>;
  std::mt19937_64 random(seed + count);
  std::vector<T> keys(count);
  const auto any = [&] { return std::bit_cast<T>(static_cast<Bits>(random())); };
  const T one = any();
  std::vector<T> few{any(), any(), any(), any()};
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  constexpr auto top = static_cast<Bits>(infinity_bits<T>);
  const std::vector<Bits> special{0,
                                  sign,
                                  1,
                                  static_cast<Bits>(sign | 1),
                                  top,
                                  static_cast<Bits>(top | sign),
                                  static_cast<Bits>(top | 1),
                                  static_cast<Bits>(top | sign | 1),
                                  static_cast<Bits>(~Bits{0}),
                                  static_cast<Bits>(~sign),
                                  static_cast<Bits>(top - 1),
                                  7};
  for (T& key : keys) {
    switch (kind) {
      case Keys::few: key = few[random() % few.size()]; break;
      case Keys::equal: key = one; break;
      case Keys::special: key = std::bit_cast<T>(special[random() % special.size()]); break;
      default: key = any();
    }
  }
  if (kind == Keys::sorted || kind == Keys::reversed) {
    const Order order = kind == Keys::sorted ? Order::ascending : Order::descending;
    std::ranges::stable_sort(keys, {}, [&](T x) { return sort_key(x, order); });
  }
  return keys;
}

// The order of a piece, by std::stable_sort.
template <class T>
std::vector<std::uint64_t> plain_order(const T* keys, std::uint64_t count, Order order) {
  std::vector<std::uint64_t> indices(count);
  std::iota(indices.begin(), indices.end(), std::uint64_t{0});
  std::ranges::stable_sort(indices, {}, [&](std::uint64_t i) { return sort_key(keys[i], order); });
  return indices;
}

// The bits of keys: NaNs compare by them, and zeros by their sign.
template <class T>
std::vector<UnsignedOf<sizeof(T)>> bits_of(const std::vector<T>& keys) {
  std::vector<UnsignedOf<sizeof(T)>> bits;
  for (const T key : keys) bits.push_back(std::bit_cast<UnsignedOf<sizeof(T)>>(key));
  return bits;
}

}  // namespace masu::test
