// SPDX-License-Identifier: Apache-2.0
// Elements as ranks: unsigned numbers that are the greater the earlier an element comes; elements of one rank are equal
// and come by index. The kernels' half is topk_rank.cl.
#pragma once

#include "elements/order.h"

#include <masu/dtype.h>
#include <masu/topk.h>

namespace masu {

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
    const KeyOf<T> key = ordered_key(x);
    if constexpr (is_float_type<T>) {
      if (skip && key == static_cast<KeyOf<T>>(~KeyOf<T>{0})) return 0;
    }
    return largest ? key : static_cast<KeyOf<T>>(~key);
  }
};

}  // namespace masu
