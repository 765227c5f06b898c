// SPDX-License-Identifier: Apache-2.0
// The SIMD loops of selection and partition on the CPU, dispatched at run time to the best instruction set (Highway).
//
// T: int32, uint32, int64, uint64, float or double. Elements are compared as values: -0 is equal to +0, NaN is greater
// than all else and equal to NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace masu::cpu {

// Elements that the loops may write behind what they return.
inline constexpr std::size_t spare_elements = 16;

struct Narrowed {
  std::uint64_t below, inside;
};
// Writes the elements from `low` to `high`, in order, to `found`, which has room for `count` and spare_elements; it may
// be x.
template <class T>
Narrowed narrow(const T* x, std::uint64_t count, T low, T high, T* found);

// The elements of a block that are less than a pivot and equal to it; the others are greater.
struct PartSizes {
  std::uint32_t less, equal;
};
inline constexpr std::size_t part_block = 2048;
template <class T>
PartSizes count_parts(const T* x, std::size_t count, T pivot);

// At most part_block elements in three parts, each in order.
template <class T>
struct Parts {
  static constexpr std::size_t room = part_block + spare_elements;
  alignas(64) T less[room];
  alignas(64) T equal[room];
  alignas(64) T greater[room];
};
template <class T>
PartSizes part_values(const T* x, std::size_t count, T pivot, Parts<T>& parts);
// Their places in the block.
template <class T>
using PlaceOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
template <class T>
PartSizes part_places(const T* x, std::size_t count, T pivot, Parts<PlaceOf<T>>& parts);

}  // namespace masu::cpu
