// SPDX-License-Identifier: Apache-2.0
// What several loops over vectors need: the lanes of a vector in two parts, each in order, and codes (sort_simd.h).
#include <cstdint>
#include <limits>

#ifndef MASU_SORT_SIDE_ORDERS
#define MASU_SORT_SIDE_ORDERS
namespace masu::cpu {
namespace {

// For every set of eight lanes: its lanes, then the others.
struct SideOrders {
  constexpr SideOrders() {
    for (unsigned set = 0; set < 256; ++set) {
      unsigned at = 0;
      for (unsigned side = 2; side-- > 0;) {
        for (unsigned lane = 0; lane < 8; ++lane) {
          if ((set >> lane & 1) == side) lanes[set][at++] = static_cast<std::uint8_t>(lane);
        }
      }
    }
  }
  std::uint8_t lanes[256][8] = {};
};
inline constexpr SideOrders side_orders;

}  // namespace
}  // namespace masu::cpu
#endif

#if defined(MASU_SORT_SIDES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MASU_SORT_SIDES_INL_H
#undef MASU_SORT_SIDES_INL_H
#else
#define MASU_SORT_SIDES_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Bits <-> codes, before or after their flip, of vectors and of one lane; `Float` is Coding::is_float.
template <bool Float, class D, class V = hn::Vec<D>>
HWY_INLINE V Turned(D d, V bits) {
  if constexpr (!Float) return bits;
  else return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(d, std::numeric_limits<hn::TFromD<D>>::max())));
}
template <bool Float, class Code>
HWY_INLINE Code TurnedOne(Code bits) {
  return Float && bits < 0 ? static_cast<Code>(bits ^ std::numeric_limits<Code>::max()) : bits;
}

// The lanes of a mask first, the others after them, both in order. Where eight lanes
// are sorted by a table the table is ours: GCC 12 copies that of Highway 1.0.3's Compress to the stack each time.
template <class D, class M, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE V Sides(D d, V v, M first) {
#if HWY_TARGET == HWY_AVX2
  const hn::Repartition<std::int32_t, D> dl;
  const auto mask = hn::MaskFromVec(hn::BitCast(dl, hn::VecFromMask(d, first)));
#else
  const hn::RebindToSigned<D> dl;
  const auto mask = hn::RebindMask(dl, first);
#endif
  if constexpr (HWY_TARGET == HWY_AVX2 || (HWY_TARGET <= HWY_AVX3 && sizeof(T) == 8)) {
    std::uint8_t set = 0;
    hn::StoreMaskBits(dl, mask, &set);
    const hn::Rebind<std::uint8_t, decltype(dl)> bytes;
    const auto order =
        hn::PromoteTo(hn::Rebind<std::int32_t, decltype(dl)>(), hn::LoadU(bytes, side_orders.lanes[set]));
    hn::Vec<decltype(dl)> indices;
    if constexpr (HWY_TARGET == HWY_AVX2) indices = order;
    else indices = hn::PromoteTo(dl, order);
    return hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(dl, v), hn::IndicesFromVec(dl, indices)));
  } else {
    return hn::Compress(v, first);
  }
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
