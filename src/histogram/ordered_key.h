// SPDX-License-Identifier: Apache-2.0
// Values as unsigned integers of their own width that are ordered as the values are. Both zeros have one key; NaN lies
// beyond the infinities.
#pragma once

#include "runtime/half.h"

#include <masu/dtype.h>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace masu {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                 std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
inline constexpr auto key_sign = static_cast<KeyOf<T>>(KeyOf<T>{1} << (8 * sizeof(T) - 1));

template <class T>
KeyOf<T> key_of(T x) noexcept {
  const auto bits = std::bit_cast<KeyOf<T>>(x);
  if constexpr (std::is_unsigned_v<T>) {
    return bits;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<KeyOf<T>>(bits ^ key_sign<T>);
  } else {
    if (bits == key_sign<T>) return bits;  // -0 as +0
    return static_cast<KeyOf<T>>((bits & key_sign<T>) != 0 ? ~bits : bits | key_sign<T>);
  }
}

template <class T>
T value_of_key(std::uint64_t key) noexcept {
  const auto bits = static_cast<KeyOf<T>>(key);
  if constexpr (std::is_unsigned_v<T>) {
    return bits;
  } else if constexpr (std::is_integral_v<T>) {
    return std::bit_cast<T>(static_cast<KeyOf<T>>(bits ^ key_sign<T>));
  } else {
    return std::bit_cast<T>(static_cast<KeyOf<T>>((bits & key_sign<T>) != 0 ? bits ^ key_sign<T> : ~bits));
  }
}

template <class T>
double to_f64(T x) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    return runtime::to_double(x);
  } else {
    return static_cast<double>(x);
  }
}

// The same for a dtype known at run time.
inline double value_of_key(Dtype dtype, std::uint64_t key) {
  return dispatch(dtype, [&](auto tag) { return to_f64(value_of_key<typename decltype(tag)::type>(key)); });
}

}  // namespace masu
