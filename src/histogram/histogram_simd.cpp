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

// Whole numbers in the lanes' type as 32-bit integers.
template <class DI>
HWY_INLINE hn::Vec<DI> to_int(DI di, hn::Vec<hn::Rebind<float, DI>> v) {
  return hn::ConvertTo(di, v);
}
template <class DI>
HWY_INLINE hn::Vec<DI> to_int(DI di, hn::Vec<hn::Rebind<double, DI>> v) {
  return hn::DemoteTo(di, v);
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

// A value whose position is clear of whole numbers lies in the bin of that position. Only where one of a vector's
// values comes near an edge is the edge itself computed, by `edge_of`, as NumPy computes it, and compared.
template <class D, class T = hn::TFromD<D>, class EdgeOf>
HWY_INLINE void WriteSlots(D d, const T* values, std::size_t count, const EvenLoop& loop, std::uint32_t* slots,
                           const EdgeOf& edge_of) {
  using V = hn::Vec<D>;
  const hn::Rebind<std::int32_t, D> di;
  const V lo = hn::Set(d, static_cast<T>(loop.lo));
  const V scale = hn::Set(d, static_cast<T>(loop.scale));
  const V first = hn::Set(d, static_cast<T>(loop.first));
  const V last = hn::Set(d, static_cast<T>(loop.last));
  const V most = hn::Set(d, static_cast<T>(loop.n - 1));
  const V near = hn::Set(d, static_cast<T>(loop.error));
  const V far = hn::Set(d, static_cast<T>(1 - loop.error));
  for_vectors(d, values, count, slots, [&](const T* from, std::uint32_t* to) HWY_ATTR {
    const V x = hn::LoadU(d, from);
    const auto inside = hn::And(hn::Ge(x, first), hn::Le(x, last));
    const V position = hn::Mul(hn::Sub(x, lo), scale);
    V slot = hn::Trunc(position);
    const V part = hn::Sub(position, slot);
    const auto clear = hn::And(inside, hn::And(hn::Ge(part, near), hn::Le(part, far)));
    if (HWY_UNLIKELY(!hn::AllTrue(d, clear))) {
      // A guess a quarter of a bin low is the bin or the one before it.
      const V safe = hn::IfThenElse(inside, x, first);
      const V low = hn::Sub(hn::Mul(hn::Sub(safe, lo), scale), hn::Set(d, static_cast<T>(0.25)));
      const V guess = hn::Min(hn::Trunc(hn::Max(low, hn::Zero(d))), most);
      const V next = hn::Min(hn::Add(guess, hn::Set(d, static_cast<T>(1))), most);
      slot = hn::IfThenElse(hn::Ge(safe, edge_of(next)), next, guess);
      if (!hn::AllTrue(d, inside)) slot = outside(d, slot, x, inside, first, last, loop);
    }
    hn::StoreU(to_int(di, slot), di, reinterpret_cast<std::int32_t*>(to));
  });
}

void WriteSlotsF64(const double* values, std::size_t count, const EvenLoop& loop, std::uint32_t* slots) {
  const hn::ScalableTag<double> d;
  WriteSlots(d, values, count, loop, slots,
             [&](auto next) HWY_ATTR { return hn::Add(hn::Mul(next, hn::Set(d, loop.step)), hn::Set(d, loop.lo)); });
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

void WriteSlotsF32(const float* values, std::size_t count, const EvenLoop& loop, std::uint32_t* slots) {
  const hn::ScalableTag<float> d;
  WriteSlots(d, values, count, loop, slots, [&](auto next) HWY_ATTR { return rounded_edge(d, next, loop); });
}

void WriteSlotsF32Native(const float* values, std::size_t count, const EvenLoop& loop, std::uint32_t* slots) {
  const hn::ScalableTag<float> d;
  const auto step = hn::Set(d, static_cast<float>(loop.step));
  const auto lo = hn::Set(d, static_cast<float>(loop.lo));
  WriteSlots(d, values, count, loop, slots, [&](auto next) HWY_ATTR { return hn::Add(hn::Mul(next, step), lo); });
}

// Eight bytes go to `tables` tables of 16-bit counters in turn, so that equal neighbours do not wait for each other's
// sum.
template <unsigned tables>
HWY_INLINE void add_eight(const std::uint8_t* data, std::uint16_t* counts) {
  std::uint64_t word;
  std::memcpy(&word, data, sizeof(word));
  ++counts[(word & 255)];
  ++counts[256 * (1 % tables) + (word >> 8 & 255)];
  ++counts[256 * (2 % tables) + (word >> 16 & 255)];
  ++counts[256 * (3 % tables) + (word >> 24 & 255)];
  ++counts[256 * (4 % tables) + (word >> 32 & 255)];
  ++counts[256 * (5 % tables) + (word >> 40 & 255)];
  ++counts[256 * (6 % tables) + (word >> 48 & 255)];
  ++counts[256 * (7 % tables) + (word >> 56)];
}

constexpr std::size_t run_bytes = 64;  // equal bytes that are counted at once

template <unsigned tables>
HWY_INLINE void AddBytesTo(const std::uint8_t* data, std::size_t count, std::uint32_t* totals) {
  alignas(64) std::uint16_t counts[256 * tables] = {};
  const hn::CappedTag<std::uint8_t, run_bytes> d;
  std::size_t i = 0;
  for (; i + run_bytes <= count; i += run_bytes) {
    const auto first = hn::Set(d, data[i]);
    auto equal = hn::Eq(first, hn::LoadU(d, data + i));
    for (std::size_t k = hn::Lanes(d); k < run_bytes; k += hn::Lanes(d)) {
      equal = hn::And(equal, hn::Eq(first, hn::LoadU(d, data + i + k)));
    }
    if (hn::AllTrue(d, equal)) {
      totals[data[i]] += run_bytes;
      continue;
    }
    HWY_UNROLL(8)
    for (std::size_t k = 0; k < run_bytes; k += 8) add_eight<tables>(data + i + k, counts);
  }
  for (; i < count; ++i) ++totals[data[i]];
  for (std::size_t k = 0; k < 256 * tables; ++k) totals[k % 256] += counts[k];
}

// Four tables are the fastest for flat data, eight for data with a few frequent values. A sample tells which it is.
bool has_frequent_values(const std::uint8_t* data, std::size_t count) {
  constexpr std::size_t sample = 256;
  if (count < 4 * sample) return true;
  std::uint8_t seen[256] = {};
  unsigned pairs =
      0;  // pairs of equal values in the sample: about sample^2 / 2 times the chance that two values are equal
  for (std::size_t i = 0; i < sample; ++i) pairs += seen[data[i * (count / sample)]]++;
  return pairs > sample * sample / 2 / 16;
}

void AddBytes(const std::uint8_t* data, std::size_t count, std::uint32_t* totals) {
  // No 16-bit counter of the fewer tables overflows in a block.
  constexpr std::size_t block = std::size_t{4} * 65535 / run_bytes * run_bytes;
  for (std::size_t i = 0; i < count; i += block) {
    const std::size_t length = count - i < block ? count - i : block;
    if (has_frequent_values(data + i, length)) {
      AddBytesTo<8>(data + i, length, totals);
    } else {
      AddBytesTo<4>(data + i, length, totals);
    }
  }
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

// The table of implementations must be set up before a pointer is taken from it: until then it holds the set-up itself.
template <class F>
F chosen(F const* table) {
  hwy::ChosenTarget& target = hwy::GetChosenTarget();
  if (!target.IsInitialized()) target.Update(hwy::SupportedTargets());
  return table[target.GetIndex()];
}

SlotsF64 slots_f64() {
  return chosen(HWY_DISPATCH_TABLE(WriteSlotsF64));
}
SlotsF32 slots_f32() {
  return chosen(HWY_DISPATCH_TABLE(WriteSlotsF32));
}
SlotsF32 slots_f32_native() {
  return chosen(HWY_DISPATCH_TABLE(WriteSlotsF32Native));
}
CountBytes count_bytes() {
  return chosen(HWY_DISPATCH_TABLE(AddBytes));
}
void range_of(const float* x, std::size_t count, float& lo, float& hi) {
  HWY_DYNAMIC_DISPATCH(RangeF32)(x, count, lo, hi);
}
void range_of(const double* x, std::size_t count, double& lo, double& hi) {
  HWY_DYNAMIC_DISPATCH(RangeF64)(x, count, lo, hi);
}

}  // namespace masu::cpu
#endif
