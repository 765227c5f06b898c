// SPDX-License-Identifier: Apache-2.0
// The order of values: each has a key, the unsigned integer of its own width whose order is the value's order. Both
// zeros are one key, and all NaNs are one, the greatest. The kernels' half is order.cl.
#pragma once

#include "elements/stored_float.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace masu {

template <class T>
using KeyOf = UnsignedOf<sizeof(T)>;

template <class T>
inline constexpr bool is_float_type = is_float(dtype_of<T>);
template <class T>
inline constexpr auto key_sign = static_cast<KeyOf<T>>(KeyOf<T>{1} << (8 * sizeof(T) - 1));

// The key of a float's infinity: what is above it is NaN.
template <class T>
constexpr KeyOf<T> infinity_key() noexcept {
  return static_cast<KeyOf<T>>(key_sign<T> | infinity_bits<T>);
}

// The keys of the least and of the greatest element that is no NaN.
template <class T>
constexpr KeyOf<T> least_key() noexcept {
  if constexpr (is_float_type<T>) return static_cast<KeyOf<T>>(key_sign<T> - infinity_bits<T>);
  else return 0;
}
template <class T>
constexpr KeyOf<T> greatest_number_key() noexcept {
  if constexpr (is_float_type<T>) return infinity_key<T>();
  else return static_cast<KeyOf<T>>(~KeyOf<T>{0});
}

template <class T>
[[nodiscard]] constexpr bool is_nan_bits(KeyOf<T> bits) noexcept {
  return is_float_type<T> && static_cast<KeyOf<T>>(bits & static_cast<KeyOf<T>>(~key_sign<T>)) > infinity_bits<T>;
}

template <class T>
[[nodiscard]] constexpr KeyOf<T> ordered_key(T value) noexcept {
  const auto bits = std::bit_cast<KeyOf<T>>(value);
  if constexpr (std::is_unsigned_v<T>) {
    return bits;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<KeyOf<T>>(bits ^ key_sign<T>);
  } else {
    const auto magnitude = static_cast<KeyOf<T>>(bits & static_cast<KeyOf<T>>(~key_sign<T>));
    if (magnitude > infinity_bits<T>) return static_cast<KeyOf<T>>(~KeyOf<T>{0});
    return static_cast<KeyOf<T>>((bits & key_sign<T>) != 0 ? key_sign<T> - magnitude : key_sign<T> + magnitude);
  }
}

// The value that has a key; +0 of the zeros, some NaN of NaNs.
template <class T>
[[nodiscard]] constexpr T value_of_key(std::uint64_t key) noexcept {
  const auto bits = static_cast<KeyOf<T>>(key);
  if constexpr (std::is_unsigned_v<T>) {
    return bits;
  } else if constexpr (std::is_integral_v<T>) {
    return std::bit_cast<T>(static_cast<KeyOf<T>>(bits ^ key_sign<T>));
  } else {
    return std::bit_cast<T>(
        static_cast<KeyOf<T>>((bits & key_sign<T>) != 0 ? bits ^ key_sign<T> : key_sign<T> | (key_sign<T> - bits)));
  }
}

template <class T>
[[nodiscard]] double to_f64(T x) noexcept {
  if constexpr (is_stored<T>) {
    return to_double(x);
  } else {
    return static_cast<double>(x);
  }
}

// The same for a dtype known at run time.
[[nodiscard]] inline double value_of_key(Dtype dtype, std::uint64_t key) {
  return dispatch(dtype, [&](auto tag) { return to_f64(value_of_key<typename decltype(tag)::type>(key)); });
}

}  // namespace masu
