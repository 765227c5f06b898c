// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_simd.h"

#include "elements/each_type.h"

#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "histogram/cpu/histogram_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "histogram/cpu/histogram_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

// Corrects the slots of values that lie in no bin.
template <class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE V outside(D d, V slot, V x, M inside, V first, V last, const EvenLoop& loop) {
  using T = hn::TFromD<D>;
  const V below = hn::Set(d, static_cast<T>(loop.below));
  const V above = hn::Set(d, static_cast<T>(loop.above));
  const V nan = hn::Set(d, static_cast<T>(loop.nan));
  const V other = hn::IfThenElse(hn::Lt(x, first), below, hn::IfThenElse(hn::Gt(x, last), above, nan));
  return hn::IfThenElse(inside, slot, other);
}

// What both ways of finding slots need.
template <class D>
struct Positions {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  Positions(D tag, const EvenLoop& loop)
      : d(tag),
        lo(hn::Set(d, static_cast<T>(loop.lo))),
        scale(hn::Set(d, static_cast<T>(loop.scale))),
        first(hn::Set(d, static_cast<T>(loop.first))),
        last(hn::Set(d, static_cast<T>(loop.last))) {}
  HWY_INLINE V of(V x) const { return hn::Mul(hn::Sub(x, lo), scale); }
  HWY_INLINE auto inside(V x) const { return hn::And(hn::Ge(x, first), hn::Le(x, last)); }
  D d;
  V lo, scale, first, last;
};

// A value whose position is clear of whole numbers lies in the bin of that position. False when some value's is not:
// the slots are not to be used then.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE bool WriteClear(D d, const T* values, std::size_t count, const EvenLoop& loop, std::uint32_t* slots) {
  const hn::Rebind<std::int32_t, D> di;
  const Positions<D> positions(d, loop);
  const auto near = hn::Set(d, static_cast<T>(loop.error));
  const auto far = hn::Set(d, static_cast<T>(1 - loop.error));
  auto clear = hn::Eq(near, near);
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(d, values + i);
    const auto position = positions.of(x);
    const auto slot = hn::Trunc(position);
    const auto part = hn::Sub(position, slot);
    clear = hn::And(clear, hn::And(positions.inside(x), hn::And(hn::Ge(part, near), hn::Le(part, far))));
    hn::StoreU(to_int(di, slot), di, reinterpret_cast<std::int32_t*>(slots + i));
  }
  return hn::AllTrue(d, clear);
}

// Every value is compared with an edge, computed by `edge_of` as NumPy computes it: a guess a quarter of a bin low is
// the value's bin or the one before it.
template <class D, class T = hn::TFromD<D>, class EdgeOf>
HWY_INLINE void WriteExact(D d, const T* values, std::size_t count, const EvenLoop& loop, std::uint32_t* slots,
                           const EdgeOf& edge_of) {
  const hn::Rebind<std::int32_t, D> di;
  const Positions<D> positions(d, loop);
  const auto most = hn::Set(d, static_cast<T>(loop.n - 1));
  const auto one = hn::Set(d, static_cast<T>(1));
  const auto quarter = hn::Set(d, static_cast<T>(0.25));
  for_vectors(d, values, count, slots, [&](const T* from, std::uint32_t* to) HWY_ATTR {
    const auto x = hn::LoadU(d, from);
    const auto inside = positions.inside(x);
    const auto safe = hn::IfThenElse(inside, x, positions.first);
    const auto low = hn::Max(hn::Sub(positions.of(safe), quarter), hn::Zero(d));
    const auto guess = hn::Min(hn::Trunc(low), most);
    const auto next = hn::Min(hn::Add(guess, one), most);
    auto slot = hn::IfThenElse(hn::Ge(safe, edge_of(next)), next, guess);
    if (HWY_UNLIKELY(!hn::AllTrue(d, inside))) {
      slot = outside(d, slot, x, inside, positions.first, positions.last, loop);
    }
    hn::StoreU(to_int(di, slot), di, reinterpret_cast<std::int32_t*>(to));
  });
}

// Tries the cheap way first, unless the last tries failed: data that often lies on edges is compared at once.
template <class D, class T = hn::TFromD<D>, class EdgeOf>
HWY_INLINE void WriteSlots(D d, const T* values, std::size_t count, const EvenLoop& loop, SlotHistory& history,
                           std::uint32_t* slots, const EdgeOf& edge_of) {
  constexpr unsigned pause = 32;
  if (history.pause == 0 && count % hn::Lanes(d) == 0) {
    if (WriteClear(d, values, count, loop, slots)) {
      history.failed = false;
      return;
    }
    if (history.failed) history.pause = pause;
    history.failed = true;
  } else if (history.pause != 0) {
    --history.pause;
  }
  WriteExact(d, values, count, loop, slots, edge_of);
}

void WriteSlotsF64(const double* values, std::size_t count, const EvenLoop& loop, SlotHistory& history,
                   std::uint32_t* slots) {
  const hn::ScalableTag<double> d;
  WriteSlots(d, values, count, loop, history, slots,
             [&](auto next) HWY_ATTR { return hn::Add(hn::Mul(next, hn::Set(d, loop.step)), hn::Set(d, loop.lo)); });
}

// The edges `next * step + lo` in f64, rounded to f32.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V rounded_edge(D d, V next, const EvenLoop& loop) {
#if HWY_TARGET == HWY_SCALAR
  const double product = static_cast<double>(hn::GetLane(next)) * loop.step;
  return hn::Set(d, static_cast<float>(product + loop.lo));
#else
  const hn::Repartition<double, D> dd;
  const hn::Rebind<float, decltype(dd)> dh;
  const auto step = hn::Set(dd, loop.step);
  const auto lo = hn::Set(dd, loop.lo);
  const auto lower = hn::Add(hn::Mul(hn::PromoteTo(dd, hn::LowerHalf(dh, next)), step), lo);
  const auto upper = hn::Add(hn::Mul(hn::PromoteTo(dd, hn::UpperHalf(dh, next)), step), lo);
  return hn::Combine(d, hn::DemoteTo(dh, upper), hn::DemoteTo(dh, lower));
#endif
}

void WriteSlotsF32(const float* values, std::size_t count, const EvenLoop& loop, SlotHistory& history,
                   std::uint32_t* slots) {
  const hn::ScalableTag<float> d;
  WriteSlots(d, values, count, loop, history, slots, [&](auto next) HWY_ATTR { return rounded_edge(d, next, loop); });
}

void WriteSlotsF32Native(const float* values, std::size_t count, const EvenLoop& loop, SlotHistory& history,
                         std::uint32_t* slots) {
  const hn::ScalableTag<float> d;
  const auto step = hn::Set(d, static_cast<float>(loop.step));
  const auto lo = hn::Set(d, static_cast<float>(loop.lo));
  WriteSlots(d, values, count, loop, history, slots,
             [&](auto next) HWY_ATTR { return hn::Add(hn::Mul(next, step), lo); });
}

template <class T>
HWY_INLINE void WriteIntegers(const T* values, std::size_t count, std::uint32_t n, std::uint32_t* slots) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<std::uint32_t, decltype(d)> d32;
  const auto end = hn::Set(du, n);
  const auto above = hn::Set(du, static_cast<std::make_unsigned_t<T>>(std::uint64_t{n} + 1));
  for_vectors(d, values, count, slots, [&](const T* from, std::uint32_t* to) HWY_ATTR {
    const auto x = hn::LoadU(d, from);
    const auto v = hn::BitCast(du, x);
    auto other = above;
    if constexpr (std::is_signed_v<T>) {
      // The sign as a number: 1 of a negative value is taken from n + 1.
      other = hn::Sub(above, hn::ShiftRight<8 * sizeof(T) - 1>(v));
    }
    const auto slot = hn::IfThenElse(hn::Lt(v, end), v, other);
    if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
      hn::StoreU(slot, d32, to);
    } else {
      hn::StoreU(hn::TruncateTo(d32, slot), d32, to);
    }
  });
}
#define MASU_INTEGERS(name, T)                                                                \
  void Integers##name(const T* x, std::size_t count, std::uint32_t n, std::uint32_t* slots) { \
    WriteIntegers(x, count, n, slots);                                                        \
  }
MASU_EACH_WIDE_INTEGER(MASU_INTEGERS)
#undef MASU_INTEGERS

constexpr std::size_t run_bytes = 64;  // bytes of one or two values that are counted at once
constexpr std::size_t prefetch_bytes = 2048;

// Counts of the first and of the last values of blocks, of every other block apart, so that no sum waits for another.
struct RunCounts {
  std::uint32_t firsts[2][256];
  std::uint32_t lasts[2][256];
};

// Counts the block at data[at], unless it has more than two values. Every piece of long runs has two at most: so there
// is no look at single bytes, and no branch where a run ends.
HWY_INLINE bool CountRun(const std::uint8_t* data, std::size_t at, RunCounts& runs) {
  const hn::CappedTag<std::uint8_t, run_bytes> d;
  const std::uint8_t first = data[at];
  const std::uint8_t last = data[at + run_bytes - 1];
  const auto firsts = hn::Set(d, first);
  const auto lasts = hn::Set(d, last);
  hwy::Prefetch(data + at + prefetch_bytes);
  const auto v = hn::LoadU(d, data + at);
  auto equal = hn::Eq(v, firsts);
  auto either = hn::Or(equal, hn::Eq(v, lasts));
  std::size_t count = hn::CountTrue(d, equal);
  for (std::size_t k = hn::Lanes(d); k < run_bytes; k += hn::Lanes(d)) {
    const auto next = hn::LoadU(d, data + at + k);
    equal = hn::Eq(next, firsts);
    either = hn::And(either, hn::Or(equal, hn::Eq(next, lasts)));
    count += hn::CountTrue(d, equal);
  }
  if (!hn::AllTrue(d, either)) return false;
  const std::size_t table = at / run_bytes % 2;
  runs.firsts[table][first] += static_cast<std::uint32_t>(count);
  runs.lasts[table][last] += static_cast<std::uint32_t>(run_bytes - count);
  return true;
}

// Neighbours go to different tables of 16-bit counters, so that equal ones do not wait for each other's sum.
template <unsigned tables>
HWY_INLINE void AddBytesTo(const std::uint8_t* data, std::size_t count, RunCounts& runs, std::uint32_t* totals) {
  alignas(64) std::uint16_t counts[256 * tables] = {};
  std::size_t i = 0;
  for (; i + run_bytes <= count; i += run_bytes) {
    if (CountRun(data, i, runs)) continue;
    HWY_UNROLL(64)
    for (std::size_t k = 0; k < run_bytes; ++k) ++counts[256 * (k % tables) + data[i + k]];
  }
  for (; i < count; ++i) ++totals[data[i]];
  for (std::size_t table = 0; table < tables; ++table) {
    for (std::size_t k = 0; k < 256; ++k) totals[k] += counts[256 * table + k];
  }
}

// Four tables are the fastest, but eight where one value or a few are most of the data. A sample tells which it is.
bool has_frequent_values(const std::uint8_t* data, std::size_t count) {
  constexpr std::size_t sample = 256;
  if (count < 4 * sample) return true;
  std::uint8_t seen[256] = {};
  unsigned pairs =
      0;  // pairs of equal values in the sample: about sample^2 / 2 times the chance that two values are equal
  for (std::size_t i = 0; i < sample; ++i) pairs += seen[data[i * (count / sample)]]++;
  return pairs > sample * sample / 2 / 6;
}

// Whether a quarter of the blocks of 64 bytes seem to have one value or two: a few bytes of some of them tell.
bool has_runs(const std::uint8_t* data, std::size_t count) {
  constexpr std::size_t sample = 32;
  unsigned found = 0;
  for (std::size_t i = 0; i < sample; ++i) {
    const std::uint8_t* block = data + i * (count / sample);
    bool few = true;
    for (std::size_t k = run_bytes / 4; k < run_bytes; k += run_bytes / 4) {
      few = few && (block[k] == block[0] || block[k] == block[run_bytes - 1]);
    }
    found += few ? 1 : 0;
  }
  return found >= sample / 4;
}

void AddBytes(const std::uint8_t* data, std::size_t count, std::uint32_t* totals) {
  // No 16-bit counter of the fewer tables overflows in a block.
  constexpr std::size_t block = std::size_t{4} * 65535 / run_bytes * run_bytes;
  constexpr std::size_t most_by_planes = std::size_t{1} << 20;
  RunCounts runs = {};
  // For the instruction sets that may have it.
  constexpr bool may_have_planes = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3;
  const CountBytes planes = may_have_planes && count >= least_by_planes ? count_byte_planes(1) : nullptr;
  for (std::size_t i = 0; i < count;) {
    // Tables are cleared and data is sampled where runs end.
    if (count - i >= run_bytes && CountRun(data, i, runs)) {
      i += run_bytes;
      continue;
    }
    if (planes != nullptr && count - i >= least_by_planes) {
      const std::size_t blocks = (count - i < most_by_planes ? count - i : most_by_planes) / byte_plane_block;
      if (!has_runs(data + i, blocks * byte_plane_block)) {
        planes(data + i, blocks * byte_plane_block, totals);
        i += blocks * byte_plane_block;
        continue;
      }
    }
    const std::size_t length = count - i < block ? count - i : block;
    if (has_frequent_values(data + i, length)) {
      AddBytesTo<8>(data + i, length, runs, totals);
    } else {
      AddBytesTo<4>(data + i, length, runs, totals);
    }
    i += length;
  }
  for (std::size_t k = 0; k < 512; ++k) totals[k % 256] += runs.firsts[k / 256][k % 256] + runs.lasts[k / 256][k % 256];
}

// The least and greatest element; floats that are not finite do not count.
template <class T>
HWY_INLINE void Range(const T* x, std::size_t count, T& lo, T& hi) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr T largest = std::numeric_limits<T>::max();
  auto least = hn::Set(d, lo);
  auto greatest = hn::Set(d, hi);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    if constexpr (std::is_floating_point_v<T>) {
      const auto finite = hn::Le(hn::Abs(v), hn::Set(d, largest));
      least = hn::Min(least, hn::IfThenElse(finite, v, least));
      greatest = hn::Max(greatest, hn::IfThenElse(finite, v, greatest));
    } else {
      least = hn::Min(least, v);
      greatest = hn::Max(greatest, v);
    }
  }
  // 64-bit lanes are not reduced by every instruction set.
  HWY_ALIGN T lows[hn::MaxLanes(d)];
  HWY_ALIGN T highs[hn::MaxLanes(d)];
  hn::Store(least, d, lows);
  hn::Store(greatest, d, highs);
  const auto take = [&](T low, T high) {
    if (low < lo) lo = low;
    if (high > hi) hi = high;
  };
  for (std::size_t k = 0; k < lanes; ++k) take(lows[k], highs[k]);
  for (; i < count; ++i) {
    if (std::is_integral_v<T> || (x[i] >= -largest && x[i] <= largest)) take(x[i], x[i]);
  }
}

#define MASU_RANGE(name, T)                                       \
  void Range##name(const T* x, std::size_t count, T& lo, T& hi) { \
    Range(x, count, lo, hi);                                      \
  }
MASU_EACH_WIDE_INTEGER(MASU_RANGE)
MASU_EACH_WIDE_FLOAT(MASU_RANGE)
#undef MASU_RANGE

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

MASU_CHOSEN(EvenSlots<double>, slots_f64(), WriteSlotsF64)
MASU_CHOSEN(EvenSlots<float>, slots_f32(), WriteSlotsF32)
MASU_CHOSEN(EvenSlots<float>, slots_f32_native(), WriteSlotsF32Native)
MASU_CHOSEN(CountBytes, count_bytes(), AddBytes)

#define MASU_INTEGERS(name, T) MASU_CHOSEN(template <> IntegerSlots<T>, integer_slots<T>(), Integers##name)
#define MASU_RANGE(name, T)                                       \
  HWY_EXPORT(Range##name);                                        \
  template <>                                                     \
  void range_of<T>(const T* x, std::size_t count, T& lo, T& hi) { \
    HWY_DYNAMIC_DISPATCH(Range##name)(x, count, lo, hi);          \
  }
MASU_EACH_WIDE_INTEGER(MASU_INTEGERS)
MASU_EACH_WIDE_INTEGER(MASU_RANGE)
MASU_EACH_WIDE_FLOAT(MASU_RANGE)
#undef MASU_RANGE
#undef MASU_INTEGERS

}  // namespace masu::cpu
#endif
