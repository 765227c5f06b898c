// SPDX-License-Identifier: Apache-2.0
// What the SIMD files share, compiled once for each instruction set as Highway wants it.
#if defined(MASU_HISTOGRAM_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MASU_HISTOGRAM_SIMD_INL_H
#undef MASU_HISTOGRAM_SIMD_INL_H
#else
#define MASU_HISTOGRAM_SIMD_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Truncates numbers of the lanes' type to 32-bit integers, which must hold them. Highway looks after others too.
#if HWY_TARGET <= HWY_AVX3
template <class DI, class V>
HWY_INLINE hn::Vec<DI> to_int(DI, V v) {
  if constexpr (sizeof(hn::TFromV<V>) == sizeof(float)) return hn::Vec<DI>{_mm512_cvttps_epi32(v.raw)};
  else return hn::Vec<DI>{_mm512_cvttpd_epi32(v.raw)};
}
#else
template <class DI, class V>
HWY_INLINE hn::Vec<DI> to_int(DI di, V v) {
  if constexpr (sizeof(hn::TFromV<V>) == sizeof(float)) return hn::ConvertTo(di, v);
  else return hn::DemoteTo(di, v);
}
#endif

// Calls body(x, slots) for whole vectors, the last one through a padded copy.
template <class D, class T, class Body>
HWY_INLINE void for_vectors(D d, const T* x, std::size_t count, std::uint32_t* slots, const Body& body) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) body(x + i, slots + i);
  if (i < count) {
    HWY_ALIGN T padded[hn::MaxLanes(d)] = {};
    HWY_ALIGN std::uint32_t result[hn::MaxLanes(d)];
    std::memcpy(padded, x + i, (count - i) * sizeof(T));
    body(padded, result);
    std::memcpy(slots + i, result, (count - i) * sizeof(std::uint32_t));
  }
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
