// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_simd.h"

#include "sum/sum_plain.h"

namespace masu::cpu {

template <class T>
void add_values(const T* x, std::uint64_t count, fixed::Sum& total) {
  add_plain(x, count, total);
}
template <class T>
void add_products(const T* x, const T* y, std::uint64_t count, fixed::Products& total) {
  add_plain(x, y, count, total);
}

#define MASU_ADDED(T)                                                \
  template void add_values<T>(const T*, std::uint64_t, fixed::Sum&); \
  template void add_products<T>(const T*, const T*, std::uint64_t, fixed::Products&);
MASU_ADDED(std::uint8_t)
MASU_ADDED(std::int8_t)
MASU_ADDED(std::uint16_t)
MASU_ADDED(std::int16_t)
MASU_ADDED(std::uint32_t)
MASU_ADDED(std::int32_t)
MASU_ADDED(std::uint64_t)
MASU_ADDED(std::int64_t)
MASU_ADDED(Half)
MASU_ADDED(float)
MASU_ADDED(double)
#undef MASU_ADDED

}  // namespace masu::cpu
