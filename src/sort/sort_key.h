// SPDX-License-Identifier: Apache-2.0
// Values as unsigned integers of their own width that are ordered as masu orders values: both zeros are one key, and
// all NaNs are one, the greatest. The kernels' ordered_key() in sort_key.cl is the same function.
#pragma once

#include <masu/dtype.h>
#include <masu/sort.h>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace masu {

template <std::size_t Bytes>
using UnsignedOf = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

// The bits of T's infinity, 0 where T has none.
template <class T>
inline constexpr std::uint64_t infinity_bits = 0;
template <>
inline constexpr std::uint64_t infinity_bits<Half> = 0x7c00;
template <>
inline constexpr std::uint64_t infinity_bits<float> = 0x7f800000;
template <>
inline constexpr std::uint64_t infinity_bits<double> = 0x7ff0000000000000;

template <class T>
[[nodiscard]] constexpr UnsignedOf<sizeof(T)> sort_key(T value) noexcept {
  using Key = UnsignedOf<sizeof(T)>;
  constexpr Key sign = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  const Key bits = std::bit_cast<Key>(value);
  if constexpr (std::is_unsigned_v<T>) {
    return bits;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<Key>(bits ^ sign);
  } else {
    const Key magnitude = static_cast<Key>(bits & static_cast<Key>(~sign));
    if (magnitude > infinity_bits<T>) return static_cast<Key>(~Key{0});
    return static_cast<Key>((bits & sign) != 0 ? sign - magnitude : sign + magnitude);
  }
}

// The same, reversed where the order is descending: lesser keys come first.
template <class T>
[[nodiscard]] constexpr UnsignedOf<sizeof(T)> sort_key(T value, Order order) noexcept {
  const auto key = sort_key(value);
  return order == Order::ascending ? key : static_cast<decltype(sort_key(value))>(~key);
}

}  // namespace masu
