// SPDX-License-Identifier: Apache-2.0
#include "histogram/histogram_simd.h"

#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "histogram/histogram_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr double low_bias = -0.25;

// The guessed bin, as a whole number in the lanes' type.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V guess(D d, V x, V lo, V scale, V most) {
  const V position = hn::Add(hn::Mul(hn::Sub(x, lo), scale), hn::Set(d, static_cast<hn::TFromD<D>>(low_bias)));
  return hn::Min(hn::Trunc(hn::Max(position, hn::Zero(d))), most);
}

// Corrects the slots of values that lie in no bin.
template <class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE V outside(D d, V slot, V x, M inside, V first, V last, const EvenLoop& loop) {
  using T = hn::TFromD<D>;
  const V below = hn::Set(d, static_cast<T>(loop.n));
  const V above = hn::Set(d, static_cast<T>(loop.n + 1));
  const V nan = hn::Set(d, static_cast<T>(loop.n + 2));
  const V other = hn::IfThenElse(hn::Lt(x, first), below, hn::IfThenElse(hn::Gt(x, last), above, nan));
  return hn::IfThenElse(inside, slot, other);
}

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

void WriteSlotsF64(const double* values, std::size_t count, const EvenLoop& loop, std::uint32_t* slots) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  using V = hn::Vec<decltype(d)>;
  const V lo = hn::Set(d, loop.lo);
  const V step = hn::Set(d, loop.step);
  const V scale = hn::Set(d, loop.scale);
  const V first = hn::Set(d, loop.first);
  const V last = hn::Set(d, loop.last);
  const V most = hn::Set(d, static_cast<double>(loop.n - 1));
  const V one = hn::Set(d, 1.0);
  for_vectors(d, values, count, slots, [&](const double* from, std::uint32_t* to) HWY_ATTR {
    const V x = hn::LoadU(d, from);
    const auto inside = hn::And(hn::Ge(x, first), hn::Le(x, last));
    const V safe = hn::IfThenElse(inside, x, lo);
    const V low = guess(d, safe, lo, scale, most);
    const V next = hn::Min(hn::Add(low, one), most);
    const V edge = hn::Add(hn::Mul(next, step), lo);
    V slot = hn::IfThenElse(hn::Ge(safe, edge), next, low);
    if (HWY_UNLIKELY(!hn::AllTrue(d, inside))) slot = outside(d, slot, x, inside, first, last, loop);
    hn::StoreU(hn::DemoteTo(di, slot), di, reinterpret_cast<std::int32_t*>(to));
  });
}

// The edges `next * step + lo` in f64, rounded to f32.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V rounded_edge(D d, V next, const EvenLoop& loop) {
#if HWY_TARGET == HWY_SCALAR
  const double product = static_cast<double>(hn::GetLane(next)) * loop.step;
  return hn::Set(d, static_cast<float>(product + loop.lo));
#else
  const hn::Half<D> dh;
  const hn::Repartition<double, D> dd;
  const auto step = hn::Set(dd, loop.step);
  const auto lo = hn::Set(dd, loop.lo);
  const auto lower = hn::Add(hn::Mul(hn::PromoteTo(dd, hn::LowerHalf(dh, next)), step), lo);
  const auto upper = hn::Add(hn::Mul(hn::PromoteTo(dd, hn::UpperHalf(dh, next)), step), lo);
  return hn::Combine(d, hn::DemoteTo(dh, upper), hn::DemoteTo(dh, lower));
#endif
}

// `native`: the edge is computed in f32; otherwise in f64 and rounded to f32.
template <bool native>
HWY_INLINE void SlotsOfF32(const float* values, std::size_t count, const EvenLoop& loop, std::uint32_t* slots) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  using V = hn::Vec<decltype(d)>;
  const V lo = hn::Set(d, static_cast<float>(loop.lo));
  const V scale = hn::Set(d, static_cast<float>(loop.scale));
  const V first = hn::Set(d, static_cast<float>(loop.first));
  const V last = hn::Set(d, static_cast<float>(loop.last));
  const V most = hn::Set(d, static_cast<float>(loop.n - 1));
  const V one = hn::Set(d, 1.0F);
  const V step32 = hn::Set(d, static_cast<float>(loop.step));
  for_vectors(d, values, count, slots, [&](const float* from, std::uint32_t* to) HWY_ATTR {
    const V x = hn::LoadU(d, from);
    const auto inside = hn::And(hn::Ge(x, first), hn::Le(x, last));
    const V safe = hn::IfThenElse(inside, x, first);
    const V low = guess(d, safe, lo, scale, most);
    const V next = hn::Min(hn::Add(low, one), most);
    V edge;
    if constexpr (native) {
      edge = hn::Add(hn::Mul(next, step32), lo);
    } else {
      edge = rounded_edge(d, next, loop);
    }
    V slot = hn::IfThenElse(hn::Ge(safe, edge), next, low);
    if (HWY_UNLIKELY(!hn::AllTrue(d, inside))) slot = outside(d, slot, x, inside, first, last, loop);
    hn::StoreU(hn::ConvertTo(di, slot), di, reinterpret_cast<std::int32_t*>(to));
  });
}
void WriteSlotsF32(const float* values, std::size_t count, const EvenLoop& loop, std::uint32_t* slots) {
  SlotsOfF32<false>(values, count, loop, slots);
}
void WriteSlotsF32Native(const float* values, std::size_t count, const EvenLoop& loop, std::uint32_t* slots) {
  SlotsOfF32<true>(values, count, loop, slots);
}

// Eight bytes go to eight tables, so that equal neighbours do not wait for each other's sum.
HWY_INLINE void count_eight(const std::uint8_t* data, std::uint32_t* tables) {
  std::uint64_t word;
  std::memcpy(&word, data, sizeof(word));
  for (unsigned k = 0; k < 8; ++k) ++tables[256 * k + (word >> (8 * k) & 255)];
}

void AddBytes(const std::uint8_t* data, std::size_t count, std::uint32_t* tables) {
  constexpr std::size_t block = 64;
  const hn::CappedTag<std::uint8_t, block> d;
  std::size_t i = 0;
  for (; i + block <= count; i += block) {
    const auto first = hn::Set(d, data[i]);
    auto equal = hn::Eq(first, hn::LoadU(d, data + i));
    for (std::size_t k = hn::Lanes(d); k < block; k += hn::Lanes(d)) {
      equal = hn::And(equal, hn::Eq(first, hn::LoadU(d, data + i + k)));
    }
    if (hn::AllTrue(d, equal)) {
      tables[data[i]] += block;
    } else {
      for (std::size_t k = 0; k < block; k += 8) count_eight(data + i + k, tables);
    }
  }
  for (; i < count; ++i) ++tables[data[i]];
}

template <class T>
HWY_INLINE void Range(const T* x, std::size_t count, T& lo, T& hi) {
  const hn::ScalableTag<T> d;
  const T largest = std::numeric_limits<T>::max();
  const auto most = hn::Set(d, largest);
  auto least = hn::Set(d, lo);
  auto greatest = hn::Set(d, hi);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, x + i);
    const auto finite = hn::Le(hn::Abs(v), most);
    least = hn::Min(least, hn::IfThenElse(finite, v, least));
    greatest = hn::Max(greatest, hn::IfThenElse(finite, v, greatest));
  }
  lo = hn::GetLane(hn::MinOfLanes(d, least));
  hi = hn::GetLane(hn::MaxOfLanes(d, greatest));
  for (; i < count; ++i) {
    if (!(x[i] >= -largest && x[i] <= largest)) continue;
    if (x[i] < lo) lo = x[i];
    if (x[i] > hi) hi = x[i];
  }
}
void RangeF32(const float* x, std::size_t count, float& lo, float& hi) {
  Range(x, count, lo, hi);
}
void RangeF64(const double* x, std::size_t count, double& lo, double& hi) {
  Range(x, count, lo, hi);
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(WriteSlotsF64);
HWY_EXPORT(WriteSlotsF32);
HWY_EXPORT(WriteSlotsF32Native);
HWY_EXPORT(AddBytes);
HWY_EXPORT(RangeF32);
HWY_EXPORT(RangeF64);

SlotsF64 slots_f64() {
  return &HWY_DYNAMIC_DISPATCH(WriteSlotsF64);
}
SlotsF32 slots_f32() {
  return &HWY_DYNAMIC_DISPATCH(WriteSlotsF32);
}
SlotsF32 slots_f32_native() {
  return &HWY_DYNAMIC_DISPATCH(WriteSlotsF32Native);
}
CountBytes count_bytes() {
  return &HWY_DYNAMIC_DISPATCH(AddBytes);
}
void range_of(const float* x, std::size_t count, float& lo, float& hi) {
  HWY_DYNAMIC_DISPATCH(RangeF32)(x, count, lo, hi);
}
void range_of(const double* x, std::size_t count, double& lo, double& hi) {
  HWY_DYNAMIC_DISPATCH(RangeF64)(x, count, lo, hi);
}

}  // namespace masu::cpu
#endif
