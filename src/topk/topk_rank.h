// SPDX-License-Identifier: Apache-2.0
// Elements as ranks: unsigned numbers that are the greater the earlier an element comes; elements of one rank are equal
// and come by index. The kernels' twin is topk_elements.cl.
#pragma once

#include "histogram/ordered_key.h"

#include <masu/dtype.h>
#include <masu/topk.h>

#include <cstdint>
#include <type_traits>

namespace masu {

template <class T>
inline constexpr bool is_float_type = std::is_floating_point_v<T> || std::is_same_v<T, Half>;

// The key of the greatest number, beyond which lie NaNs.
template <class T>
constexpr KeyOf<T> infinity_key() noexcept {
  constexpr unsigned exponent_bits = sizeof(T) == 2 ? 5 : sizeof(T) == 4 ? 8 : 11;
  constexpr unsigned fraction_bits = 8 * sizeof(T) - 1 - exponent_bits;
  constexpr std::uint64_t exponent = ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  return static_cast<KeyOf<T>>(key_sign<T> | exponent);
}

// Which element comes first. NaNs that come last and NaNs that are skipped have the rank 0, which nothing else of a
// float has.
struct Ranking {
  bool largest = true;
  bool nan_first = false;
  bool skip = false;

  Ranking(Dtype dtype, bool largest_first, NanPolicy nan)
      : largest(largest_first),
        nan_first(is_float(dtype) && largest_first && nan == NanPolicy::last),
        skip(is_float(dtype) && nan == NanPolicy::skip) {}

  template <class T>
  [[nodiscard]] KeyOf<T> operator()(T x) const noexcept {
    const KeyOf<T> key = key_of(x);
    if constexpr (is_float_type<T>) {
      const auto magnitude = static_cast<KeyOf<T>>(std::bit_cast<KeyOf<T>>(x) & ~key_sign<T>);
      if (magnitude > static_cast<KeyOf<T>>(infinity_key<T>() ^ key_sign<T>)) {
        return nan_first ? static_cast<KeyOf<T>>(~KeyOf<T>{0}) : KeyOf<T>{0};
      }
    }
    return largest ? key : static_cast<KeyOf<T>>(~key);
  }
};

}  // namespace masu
