// SPDX-License-Identifier: Apache-2.0
// The SIMD loops of selection and partition on the CPU, dispatched at run time to the best instruction set (Highway).
//
// T: an integer type, float or double; of partitions Half, too. Elements are compared as values: -0 is equal to +0, NaN
// is greater than all else and equal to NaN. Half is compared by its ordered keys.
#pragma once

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace masu::cpu {

// What elements are compared as.
template <class T>
using WorkOf = std::conditional_t<std::is_same_v<T, Half>, std::uint16_t, T>;

void ordered_keys(const Half* x, std::uint64_t count, std::uint16_t* keys);

// Elements that the loops may write behind what they return.
inline constexpr std::size_t spare_elements = 64;

struct Narrowed {
  std::uint64_t below, inside;
};
// Writes the elements from `low` to `high`, in order, to `found`, which has room for `count` and spare_elements; it may
// be x.
template <class T>
Narrowed narrow(const T* x, std::uint64_t count, T low, T high, T* found);

// The elements that are less than a pivot and equal to it; the others are greater.
struct PartSizes {
  std::uint64_t less, equal;
};
template <class T>
PartSizes count_parts(const T* x, std::uint64_t count, WorkOf<T> pivot);

// Places of a result: where each of the three parts goes on, or where it ends.
struct PartPlaces {
  std::uint64_t less, equal, greater;
};
// Writes the elements in three parts, each in order, and moves `at` on. Nothing is written from `ends` on.
template <class T>
void part_values(const T* x, std::uint64_t count, WorkOf<T> pivot, T* to, PartPlaces& at, const PartPlaces& ends);
// The same of their indices from `first` on. At most 2^31 elements.
template <class T>
void part_indices(const T* x, std::uint64_t count, WorkOf<T> pivot, std::uint64_t first, std::uint64_t* to,
                  PartPlaces& at, const PartPlaces& ends);

}  // namespace masu::cpu
