// SPDX-License-Identifier: Apache-2.0
// Exact sums of floats, each rounded once, at little more than the cost of adding them.
#pragma once

#include "sum/compensated.h"

#include <masu/interrupt.h>

#include <cstdint>

namespace masu_python {

using masu::add_exactly;
using masu::Compensated;

// Up to so many elements, whose sums are made with the GIL.
inline constexpr std::uint64_t short_sum_elements = std::uint64_t{1} << 17;

// The running sums. False where one is not certain.
template <class T>
bool running_sums(const T* x, std::uint64_t count, T* sums) {
  Compensated sum;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % short_sum_elements == 0 && i != 0) masu::check_interrupted();
    sum.add(static_cast<double>(x[i]));
    if (sum.error == 0 && sum.lost == 0) {  // exact so far
      sums[i] = static_cast<T>(sum.sum + 0.0);
      continue;
    }
    const auto rounded = sum.rounded<T>();
    if (!rounded) return false;
    sums[i] = static_cast<T>(*rounded);
  }
  return true;
}

}  // namespace masu_python
