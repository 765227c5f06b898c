// SPDX-License-Identifier: Apache-2.0
// Compiles the arithmetic of soft_float.cl as C++, so that the host and devices have one rule.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace masu::soft {

using uint = unsigned;
using ulong = std::uint64_t;
using std::max;
using std::min;

inline int clz(ulong x) {
  return std::countl_zero(x);
}
inline ulong mul_hi(ulong x, ulong y) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<ulong>((static_cast<Wide>(x) * y) >> 64U);
}

#include "elements/soft_float.cl"

}  // namespace masu::soft

#pragma GCC diagnostic pop
