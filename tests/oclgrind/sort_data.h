// SPDX-License-Identifier: Apache-2.0
// Keys that are hard to sort, their stable order by std::stable_sort, and the comparison: for the programs that sort
// under Oclgrind.
#pragma once

#include "expect.h"

#include "sort/sort_job.h"

#include <masu/sort.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace masu::oclgrind {

// Keys with many equal ones, other digits in each; floats with zeros of both signs and NaNs of several kinds.
template <class T>
std::vector<T> make_keys(std::size_t count) {
  using Bits = UnsignedOf<sizeof(T)>;
  constexpr Bits every_byte = static_cast<Bits>(~Bits{0}) / 255;
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  constexpr Bits infinity = static_cast<Bits>(infinity_bits<T>);
  constexpr Bits finite = static_cast<Bits>(~(infinity & (~infinity + 1)));  // leaves no exponent of ones alone
  std::vector<T> keys(count);
  std::uint32_t state = 1;
  for (T& key : keys) {
    state = state * 1664525U + 1013904223U;
    const std::uint32_t kind = state >> 28U;
    const Bits number = static_cast<Bits>(every_byte * (state >> 24U) & finite);
    key = std::bit_cast<T>(kind == 0   ? sign
                           : kind == 1 ? Bits{0}
                           : kind == 2 ? static_cast<Bits>(infinity | (infinity >> 1))
                           : kind == 3 ? static_cast<Bits>(infinity | sign | 1U)
                                       : number);
  }
  return keys;
}

// The stable order of each piece of `length` keys, counted from its begin.
template <class T>
std::vector<std::uint32_t> order_of(const std::vector<T>& keys, std::size_t length, Order order) {
  std::vector<std::uint32_t> indices(keys.size());
  for (std::size_t first = 0; first < keys.size(); first += length) {
    const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(length, keys.size() - first));
    std::iota(begin, end, 0U);
    std::stable_sort(begin, end, [&](std::uint32_t a, std::uint32_t b) {
      return sort_key(keys[first + a], order) < sort_key(keys[first + b], order);
    });
  }
  return indices;
}

template <class T>
bool same_bits(T a, T b) {
  return std::bit_cast<UnsignedOf<sizeof(T)>>(a) == std::bit_cast<UnsignedOf<sizeof(T)>>(b);
}

}  // namespace masu::oclgrind
