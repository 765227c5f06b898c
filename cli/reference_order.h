// SPDX-License-Identifier: Apache-2.0
// The order of values by comparisons alone, for --verify and selftest: it shares no code with what it checks.
#pragma once

#include "io/half.h"

#include <masu/sort.h>

#include <cmath>
#include <concepts>
#include <type_traits>

namespace masu::cli {

// Whether a comes before b: NaNs after all else, -0 equal to +0; all reversed where the order is descending.
template <class T>
bool comes_before(T a, T b, Order order = Order::ascending) {
  if (order == Order::descending) return comes_before(b, a);
  if constexpr (std::same_as<T, Half>) return comes_before(io::to_double(a), io::to_double(b));
  else if constexpr (std::floating_point<T>) return a < b || (std::isnan(b) && !std::isnan(a));
  else return a < b;
}

}  // namespace masu::cli
