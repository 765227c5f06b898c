// SPDX-License-Identifier: Apache-2.0
// The order of masu/sort.h as unsigned integers, and what it leaves open.
#pragma once

#include <masu/dtype.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace masu_python {

template <class T>
struct KeyOf {
  using type = std::make_unsigned_t<T>;
};
template <>
struct KeyOf<masu::Half> {
  using type = std::uint16_t;
};
template <>
struct KeyOf<float> {
  using type = std::uint32_t;
};
template <>
struct KeyOf<double> {
  using type = std::uint64_t;
};
template <class T>
using Key = typename KeyOf<T>::type;

template <class T>
inline constexpr Key<T> sign_of = static_cast<Key<T>>(Key<T>{1} << (sizeof(T) * 8 - 1));

// Both zeros are one key; all NaNs are one, the greatest.
template <class T>
Key<T> key_of(T value) {
  const auto bits = std::bit_cast<Key<T>>(value);
  if constexpr (masu::is_float(masu::dtype_of<T>)) {
    constexpr Key<T> infinity = sizeof(T) == 2 ? 0x7c00 : sizeof(T) == 4 ? 0x7f800000 : Key<T>(0x7ff0000000000000);
    const Key<T> magnitude = static_cast<Key<T>>(bits & static_cast<Key<T>>(~sign_of<T>));
    Key<T> key = static_cast<Key<T>>((bits & sign_of<T>) != 0 ? ~bits : bits | sign_of<T>);
    key = magnitude == 0 ? sign_of<T> : key;
    return magnitude > infinity ? std::numeric_limits<Key<T>>::max() : key;
  } else {
    return std::is_signed_v<T> ? static_cast<Key<T>>(bits ^ sign_of<T>) : bits;
  }
}

// The same of a float that is neither a zero nor a NaN.
template <class T>
Key<T> plain_key_of(T value) {
  const auto bits = std::bit_cast<Key<T>>(value);
  const auto negative = static_cast<Key<T>>(static_cast<std::make_signed_t<Key<T>>>(bits) >> (sizeof(T) * 8 - 1));
  return static_cast<Key<T>>(bits ^ (negative | sign_of<T>));
}

// An element of that key: a zero is +0, a NaN the quiet one with no other bit set.
template <class T>
T element_of_key(Key<T> key) {
  if constexpr (masu::is_float(masu::dtype_of<T>)) {
    constexpr Key<T> quiet = sizeof(T) == 2 ? 0x7e00 : sizeof(T) == 4 ? 0x7fc00000 : Key<T>(0x7ff8000000000000);
    if (key == std::numeric_limits<Key<T>>::max()) return std::bit_cast<T>(quiet);
    return std::bit_cast<T>(static_cast<Key<T>>((key & sign_of<T>) != 0 ? key ^ sign_of<T> : ~key));
  } else {
    return std::bit_cast<T>(std::is_signed_v<T> ? static_cast<Key<T>>(key ^ sign_of<T>) : key);
  }
}

// What of these elements a comparison leaves in any order: bit 0 zeros of both signs, bit 1 NaNs, bit 2 NaNs with other
// bits than the one that NumPy's sort writes for all of them, which of f16 may be any.
inline constexpr unsigned has_both_zeros = 1;
inline constexpr unsigned has_nan = 2;
inline constexpr unsigned has_other_nan = 4;
unsigned unordered(masu::Dtype dtype, const void* data, std::uint64_t count) noexcept;

}  // namespace masu_python
