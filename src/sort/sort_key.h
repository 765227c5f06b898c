// SPDX-License-Identifier: Apache-2.0
// Ordered keys, reversed where the order is descending. The kernels' ordered_key() in sort_key.cl is the same function.
#pragma once

#include "elements/order.h"

#include <masu/dtype.h>
#include <masu/sort.h>

namespace masu {

template <class T>
[[nodiscard]] constexpr KeyOf<T> sort_key(T value) noexcept {
  return ordered_key(value);
}

template <class T>
[[nodiscard]] constexpr KeyOf<T> sort_key(T value, Order order) noexcept {
  const KeyOf<T> key = ordered_key(value);
  return order == Order::ascending ? key : static_cast<KeyOf<T>>(~key);
}

}  // namespace masu
