// SPDX-License-Identifier: Apache-2.0
// What the SIMD files share, compiled once for each instruction set as Highway wants it.
#if defined(MASU_HISTOGRAM_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MASU_HISTOGRAM_SIMD_INL_H
#undef MASU_HISTOGRAM_SIMD_INL_H
#else
#define MASU_HISTOGRAM_SIMD_INL_H
#endif

#include "histogram/cpu/histogram_simd.h"

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

// f32 as it is; f64 rounded to f32, which never decreases either.
template <class DF, class V>
HWY_INLINE hn::Vec<DF> as_f32(DF df, V v) {
  if constexpr (sizeof(hn::TFromV<V>) == sizeof(float)) return v;
  else return hn::DemoteTo(df, v);
}

// The bits of f32 values as integers of the same order. -0 becomes +0 first.
template <class DF>
HWY_INLINE auto ordered_bits(DF df, hn::Vec<DF> v) {
  const hn::RebindToSigned<DF> di;
  const auto bits = hn::BitCast(di, hn::Add(v, hn::Zero(df)));
  return hn::Xor(bits, hn::And(hn::ShiftRight<31>(bits), hn::Set(di, 0x7fffffff)));
}

// Cells of the values that are not NaN; those of NaN are any.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE auto by_value(D d, hn::Vec<D> x, const GuideLoop<T>& loop) {
  const hn::Rebind<std::int32_t, D> di;
  const auto scaled = hn::Mul(hn::Sub(x, hn::Set(d, loop.lo)), hn::Set(d, loop.scale));
  const auto position = hn::Add(scaled, hn::Set(d, T{1}));
  const auto most = hn::Set(d, static_cast<T>(loop.cells - 1));
  return to_int(di, hn::Min(hn::Max(position, hn::Zero(d)), most));
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE auto by_bits(D, hn::Vec<D> x, const GuideLoop<T>& loop) {
  const hn::Rebind<float, D> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::RebindToUnsigned<decltype(df)> du;
  const auto base = hn::Set(di, loop.base);
  const auto bits = hn::Min(hn::Max(ordered_bits(df, as_f32(df, x)), base), hn::Set(di, loop.top));
  return hn::BitCast(di, hn::ShiftRightSame(hn::BitCast(du, hn::Sub(bits, base)), loop.shift));
}

template <class T>
HWY_INLINE void WriteCells(const T* values, std::size_t count, const GuideLoop<T>& loop, std::uint32_t* cells) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const auto write = [&](const auto& cell_of) HWY_ATTR {
    for_vectors(d, values, count, cells, [&](const T* from, std::uint32_t* to) HWY_ATTR {
      const auto x = hn::LoadU(d, from);
      const auto nan = hn::IsNaN(x);
      auto cell = cell_of(x);
      if (HWY_UNLIKELY(!hn::AllFalse(d, nan))) {
        const auto safe = hn::IfThenElse(nan, hn::Set(d, loop.lo), x);
        const auto last = to_int(di, hn::Set(d, static_cast<T>(loop.cells)));
        const auto marks = to_int(di, hn::IfThenElse(nan, hn::Set(d, T{1}), hn::Zero(d)));
        cell = hn::IfThenElse(hn::Gt(marks, hn::Zero(di)), last, cell_of(safe));
      }
      hn::StoreU(cell, di, reinterpret_cast<std::int32_t*>(to));
    });
  };
  if (loop.by_bits) {
    write([&](auto x) HWY_ATTR { return by_bits(d, x, loop); });
  } else {
    write([&](auto x) HWY_ATTR { return by_value(d, x, loop); });
  }
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

// A pointer to the best implementation of a function that Highway compiled for several instruction sets.
// The table of implementations must be set up before a pointer is taken from it: until then it holds the set-up itself.
// If only one instruction set was compiled, the table has one entry.
template <class F, std::size_t count>
F chosen(F const (&table)[count]) {
  if constexpr (count == 1) return table[0];
  hwy::ChosenTarget& target = hwy::GetChosenTarget();
  if (!target.IsInitialized()) target.Update(hwy::SupportedTargets());
  return table[target.GetIndex()];
}

// Defines `function`, which gives the best implementation of `name`.
#define MASU_CHOSEN(type, function, name)    \
  HWY_EXPORT(name);                          \
  type function {                            \
    return chosen(HWY_DISPATCH_TABLE(name)); \
  }

}  // namespace masu::cpu
#endif

#endif
