// SPDX-License-Identifier: Apache-2.0
// The loop that looks for elements worth keeping, compiled once for each instruction set.
#pragma once

#include "topk/topk_rank.h"

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>

namespace masu::cpu {

// Which elements may have at least some rank. What passes is a superset: a value is compared, not a rank.
template <class T>
struct Threshold {
  // f16 is compared as the 16-bit integer that is ordered as the values are, -0 just below +0.
  using Compared = std::conditional_t<std::is_same_v<T, Half>, std::int16_t, T>;
  Compared low{};  // smallest first: the highest that passes is `high`
  Compared high{};
  bool largest = true;
  bool nan_passes = false;
  Threshold(const Ranking& ranking, std::uint64_t least_rank);
};

// Writes the places of the elements that pass, in order, and gives their number. `count` is below 2^32.
template <class T>
std::size_t find_passing(const T* x, std::size_t count, const Threshold<T>& threshold, std::uint32_t* places);

}  // namespace masu::cpu
