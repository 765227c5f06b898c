// SPDX-License-Identifier: Apache-2.0
// Turns what is sorted into the items of its types.
#pragma once

#include "sort/cpu/sort_cpu_items.h"
#include "sort/cpu/sort_cpu_stable.h"

namespace masu::cpu {

// Calls f(items) for what `work` names.
template <class F>
void with_items(const StableWork& work, Order order, const F& f) {
  dispatch(work.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const keys = static_cast<T*>(work.keys);
    if (work.indices == nullptr && work.value_bytes == 0) {
      f(KeyItems<T>(keys, work.count, order));
    } else if (work.indices == nullptr) {
      f(PairItems<T>(keys, work.values, work.value_bytes, work.count, order));
    } else if (work.index_bytes == 4) {
      f(IndexItems<T, std::uint32_t>(keys, static_cast<std::uint32_t*>(work.indices), work.count, order));
    } else {
      f(IndexItems<T, std::uint64_t>(keys, static_cast<std::uint64_t*>(work.indices), work.count, order));
    }
  });
}

}  // namespace masu::cpu
