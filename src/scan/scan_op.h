// SPDX-License-Identifier: Apache-2.0
// What is scanned with: the operations on single elements.
#pragma once

#include "elements/order.h"
#include "reduce/reduce_rank.h"

#include <masu/dtype.h>
#include <masu/scan.h>

#include <cstdint>
#include <type_traits>

namespace masu {

template <class T>
inline constexpr bool has_infinity = infinity_bits<T> != 0;

// The identity's bits.
template <class T>
[[nodiscard]] constexpr std::uint64_t scan_identity(ScanOp op) noexcept {
  using Bits = UnsignedOf<sizeof(T)>;
  constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  if (op == ScanOp::sum) return 0;
  if constexpr (has_infinity<T>) {
    return op == ScanOp::min ? infinity_bits<T> : infinity_bits<T> | sign;
  } else {
    constexpr auto greatest = static_cast<Bits>(std::is_signed_v<T> ? sign - 1 : ~Bits{0});
    return op == ScanOp::min ? greatest : static_cast<Bits>(~greatest);
  }
}
[[nodiscard]] inline std::uint64_t scan_identity(Dtype dtype, ScanOp op) {
  return dispatch(dtype, [&](auto tag) { return scan_identity<typename decltype(tag)::type>(op); });
}

// Sums of floats are exact; the others have states that are elements.
[[nodiscard]] constexpr bool is_exact_sum(Dtype dtype, ScanOp op) noexcept {
  return op == ScanOp::sum && is_float(dtype);
}

}  // namespace masu
