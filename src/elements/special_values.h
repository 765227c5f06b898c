// SPDX-License-Identifier: Apache-2.0
// NaNs and infinities among elements in host memory.
#pragma once

#include "elements/order.h"

#include <masu/dtype.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace masu {

// Copies what is no NaN to `to`, which has room for all elements and may be the data itself. Returns how many these
// are.
inline std::uint64_t copy_numbers(const ArrayView& data, void* to) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const from = static_cast<const T*>(data.data);
    T* const numbers = static_cast<T*>(to);
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; i < data.count; ++i) {  // without a branch
      const T value = from[i];
      numbers[found] = value;
      found += is_nan_bits<T>(std::bit_cast<KeyOf<T>>(value)) ? 0 : 1;
    }
    return found;
  });
}

template <class T>
std::uint64_t count_nans(const T* x, std::uint64_t count) {
  std::uint64_t nans = 0;
  if constexpr (is_float_type<T>) {
    using Bits = KeyOf<T>;
    constexpr auto infinity = static_cast<Bits>(infinity_bits<T>);
    for (std::uint64_t i = 0; i < count;) {  // in blocks whose counts the compiler can keep in vectors of the dtype
      constexpr std::uint64_t block = 1 << 14;
      const std::uint64_t end = std::min(count, i + block);
      Bits here = 0;
      for (; i < end; ++i) {
        here = static_cast<Bits>(here + (static_cast<Bits>(std::bit_cast<Bits>(x[i]) & ~key_sign<T>) > infinity));
      }
      nans += here;
    }
  }
  return nans;
}

// Whether no element is infinite or NaN.
[[nodiscard]] inline bool all_finite(const ArrayView& data) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_float_type<T>) {
      return true;
    } else {
      const T* const x = static_cast<const T*>(data.data);
      return std::all_of(x, x + data.count, [](T value) {
        return (std::bit_cast<KeyOf<T>>(value) & infinity_bits<T>) != infinity_bits<T>;
      });
    }
  });
}

// Makes each of these floats the quiet NaN.
inline void fill_with_nan(MutableArrayView floats) {
  dispatch(floats.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr std::uint64_t infinity = infinity_bits<T>;
    constexpr auto quiet = static_cast<KeyOf<T>>(infinity | (infinity >> 1 & ~infinity));  // the highest fraction bit
    std::fill_n(static_cast<T*>(floats.data), floats.count, std::bit_cast<T>(quiet));
  });
}

}  // namespace masu
