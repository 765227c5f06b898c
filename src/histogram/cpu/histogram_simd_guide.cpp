// SPDX-License-Identifier: Apache-2.0
// The SIMD loops of bins between given edges, and of the steps after slots: joint bins, parts of the bins, weights.
#include "histogram/cpu/histogram_simd.h"

#include "elements/each_type.h"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "histogram/cpu/histogram_simd_guide.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "histogram/cpu/histogram_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

// Loads from small tables: cheaper one by one than as gathers, wherever it was tried.
template <unsigned most, class T>
HWY_INLINE std::size_t StepsReached(T x, std::size_t cell, const GuideLoop<T>& loop) {
  const std::size_t before = loop.near[cell];
  std::size_t reached = before;
  for (unsigned k = 0; k < most; ++k) reached += x >= loop.steps[before + k] ? 1 : 0;
  return reached;
}

template <unsigned most, class T>
HWY_INLINE void WriteStepsOf(const T* values, std::size_t count, const GuideLoop<T>& loop, std::uint32_t* steps) {
  WriteCells(values, count, loop, steps);
  for (std::size_t i = 0; i < count; ++i) {
    steps[i] = static_cast<std::uint32_t>(StepsReached<most>(values[i], steps[i], loop));
  }
}

template <unsigned most, class T>
HWY_INLINE void CountStepsOf(const T* values, std::size_t count, const GuideLoop<T>& loop, const StepTables& tables) {
  alignas(64) std::uint32_t cells[256];
  WriteCells(values, count, loop, cells);
  const GuideLoop<T> own = loop;  // counting cannot change it
  std::uint32_t* const table[4] = {tables[0], tables[1], tables[2], tables[3]};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) ++table[k][StepsReached<most>(values[i + k], cells[i + k], own)];
  }
  for (; i < count; ++i) ++table[0][StepsReached<most>(values[i], cells[i], own)];
}

template <class T>
HWY_INLINE void WriteSteps(const T* values, std::size_t count, const GuideLoop<T>& loop, std::uint32_t* steps) {
  if (loop.most <= 1) return WriteStepsOf<1>(values, count, loop, steps);
  if (loop.most == 2) return WriteStepsOf<2>(values, count, loop, steps);
  WriteStepsOf<most_near_steps>(values, count, loop, steps);
}
template <class T>
HWY_INLINE void CountReached(const T* values, std::size_t count, const GuideLoop<T>& loop, const StepTables& tables) {
  if (loop.most <= 1) return CountStepsOf<1>(values, count, loop, tables);
  if (loop.most == 2) return CountStepsOf<2>(values, count, loop, tables);
  CountStepsOf<most_near_steps>(values, count, loop, tables);
}

// Appends the values whose bits are set, the first one's the lowest. Highway 1.0 compresses f64 through a table.
constexpr std::size_t group = 16;
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE void Append(const float* values, std::uint32_t bits, Undecided<float>& left) {
  const __m512 marked = _mm512_maskz_compress_ps(static_cast<__mmask16>(bits), _mm512_loadu_ps(values));
  _mm512_storeu_ps(left.values + left.count, marked);
  left.count += hwy::PopCount(bits);
}
HWY_INLINE void Append(const double* values, std::uint32_t bits, Undecided<double>& left) {
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint32_t part = half == 0 ? bits & 0xff : bits >> 8;
    const __m512d marked = _mm512_maskz_compress_pd(static_cast<__mmask8>(part), _mm512_loadu_pd(values + 8 * half));
    _mm512_storeu_pd(left.values + left.count, marked);
    left.count += hwy::PopCount(part);
  }
}
#else
template <class T>
HWY_INLINE void Append(const T* values, std::uint32_t bits, Undecided<T>& left) {
  for (std::size_t i = 0; i < group; ++i) {
    left.values[left.count] = values[i];
    left.count += bits >> i & 1;
  }
}
#endif

HWY_INLINE bool AllEqual(const std::uint32_t* cells) {
  if (HWY_LIKELY(cells[0] != cells[cells_block - 1])) return false;
  const hn::ScalableTag<std::uint32_t> d;
  const auto first = hn::Set(d, cells[0]);
  auto equal = hn::Eq(first, first);
  for (std::size_t i = 0; i < cells_block; i += hn::Lanes(d)) {
    equal = hn::And(equal, hn::Eq(hn::LoadU(d, cells + i), first));
  }
  return hn::AllTrue(d, equal);
}

// Values of four quarters of the block take turns: runs of equal ones would wait for each other's sum.
template <class T>
HWY_INLINE void CountBlock(const T* block, const GuideLoop<T>& loop, std::uint32_t* counters, Undecided<T>& left) {
  alignas(64) std::uint32_t cells[cells_block];
  WriteCells(block, cells_block, loop, cells);
  if (AllEqual(cells)) {
    std::uint32_t& counter = counters[cells[0]];
    if (counter < cell_undecided) {
      counter += cells_block;
    } else {
      std::memcpy(left.values + left.count, block, cells_block * sizeof(T));
      left.count += cells_block;
    }
    return;
  }
  constexpr std::size_t quarter = cells_block / 4;
  Undecided<T> own = left;  // in registers
  for (std::size_t i = 0; i < quarter; i += group) {
    prefetch_ahead(block + 4 * i, 4 * group);
    std::uint32_t bits[4] = {};
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < group; ++k) {
      for (std::size_t q = 0; q < 4; ++q) {
        // The first value's bit is the lowest: it comes last.
        std::uint32_t& counter = counters[cells[q * quarter + i + (group - 1 - k)]];
        const std::uint32_t old = counter;
        counter = old + 1;
        bits[q] = bits[q] * 2 + (old >> 31);
      }
    }
    for (std::size_t q = 0; q < 4; ++q) Append(block + q * quarter + i, bits[q], own);
  }
  left = own;
}

template <class T>
constexpr GuidedLoops<T> guided = {&WriteCells<T>, &WriteSteps<T>, &CountReached<T>, &CountBlock<T>};
#define MASU_GUIDED(name, T)             \
  const GuidedLoops<T>* Guided##name() { \
    return &guided<T>;                   \
  }
MASU_EACH_WIDE_FLOAT(MASU_GUIDED)
#undef MASU_GUIDED

void Join(const std::uint32_t* slots, std::size_t count, const JoinLoop& loop, std::uint32_t* cells) {
  const hn::ScalableTag<std::uint32_t> d;
  const auto n = hn::Set(d, loop.n);
  const auto stride = hn::Set(d, loop.stride);
  const auto nan_slot = hn::Set(d, loop.n + 2);
  const auto outside = hn::Set(d, joined_outside);
  const auto nan = hn::Set(d, joined_nan);
  const auto join = [&](auto slot, auto cell) HWY_ATTR {
    const auto is_nan = hn::Eq(slot, nan_slot);
    auto joined = hn::Add(cell, hn::Mul(slot, stride));
    const auto in_grid = hn::And(hn::Lt(slot, n), hn::Lt(cell, outside));
    joined = hn::IfThenElse(in_grid, joined, hn::Max(cell, outside));
    return hn::IfThenElse(is_nan, nan, joined);
  };
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(join(hn::LoadU(d, slots + i), hn::LoadU(d, cells + i)), d, cells + i);
  }
  if (i < count) {
    const std::size_t rest = count - i;
    HWY_ALIGN std::uint32_t slot[hn::MaxLanes(d)] = {};
    HWY_ALIGN std::uint32_t cell[hn::MaxLanes(d)] = {};
    std::memcpy(slot, slots + i, rest * sizeof(std::uint32_t));
    std::memcpy(cell, cells + i, rest * sizeof(std::uint32_t));
    hn::Store(join(hn::Load(d, slot), hn::Load(d, cell)), d, cell);
    std::memcpy(cells + i, cell, rest * sizeof(std::uint32_t));
  }
}

void Finish(std::size_t count, std::uint32_t size, std::uint32_t* cells) {
  const hn::ScalableTag<std::uint32_t> d;
  // `outside` comes directly after the cells, then `nan`: in the order of the two marks.
  const auto most = hn::Set(d, size);
  const auto mark = hn::Set(d, joined_outside);
  for_vectors(d, cells, count, cells, [&](const std::uint32_t* from, std::uint32_t* to) HWY_ATTR {
    const auto cell = hn::LoadU(d, from);
    hn::StoreU(hn::IfThenElse(hn::Lt(cell, mark), cell, hn::Add(most, hn::Sub(cell, mark))), d, to);
  });
}

// A whole line goes to memory past the caches: it is read again only when all values are sorted.
template <class Offset>
HWY_INLINE void MoveLine(std::uint32_t stream, std::uint32_t count, PartStreams<Offset>& to) {
  using Streams = PartStreams<Offset>;
  const hn::CappedTag<Offset, Streams::line_values> d;
  const Offset* line = to.lines + std::size_t{stream} * Streams::line_values;
  Offset* next = to.next[stream];
  for (std::size_t i = 0; i < Streams::line_values; i += hn::Lanes(d)) hn::Stream(hn::Load(d, line + i), d, next + i);
  next += Streams::line_values;
  if (count % Streams::block_values == 0) {
    next = to.blocks + std::size_t{to.used} * Streams::block_values;
    to.stream_of[to.used++] = stream;
  }
  to.next[stream] = next;
}

template <class Offset>
HWY_INLINE void Sort(const std::uint32_t* slots, std::size_t count, std::uint64_t base, PartStreams<Offset>& to) {
  using Streams = PartStreams<Offset>;
  const unsigned bits = to.bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  Offset* const lines = to.lines;
  std::uint32_t* const counts = to.counts;
  const auto add = [&](std::uint64_t value, std::uint32_t lane) HWY_ATTR {
    const auto stream = static_cast<std::uint32_t>(value >> bits) * streams_a_part + lane;
    const std::uint32_t number = counts[stream];
    counts[stream] = number + 1;
    lines[std::size_t{stream} * Streams::line_values + number % Streams::line_values] =
        static_cast<Offset>(value & mask);
    if (HWY_UNLIKELY((number + 1) % Streams::line_values == 0)) MoveLine(stream, number + 1, to);
  };
  std::size_t i = 0;
  for (; i + streams_a_part <= count; i += streams_a_part) {
    for (unsigned lane = 0; lane < streams_a_part; ++lane) add(base + slots[i + lane], lane);
  }
  for (; i < count; ++i) add(base + slots[i], 0);
}

void SortToU16(const std::uint32_t* slots, std::size_t count, std::uint64_t base, PartStreams<std::uint16_t>& to) {
  Sort(slots, count, base, to);
}
void SortToU32(const std::uint32_t* slots, std::size_t count, std::uint64_t base, PartStreams<std::uint32_t>& to) {
  Sort(slots, count, base, to);
}

using CutD = hn::ScalableTag<double>;
using CutV = hn::Vec<CutD>;

HWY_INLINE CutV CutLoad(const double* x) {
  return hn::LoadU(CutD(), x);
}
HWY_INLINE CutV CutLoad(const float* x) {
  return hn::PromoteTo(CutD(), hn::LoadU(hn::Rebind<float, CutD>(), x));
}

// A weight loses what is no multiple of the high unit where it is added to 1.5 * 2^52 of them, and the difference is
// exact. The rest must not lose anything in the same way.
template <class T>
HWY_INLINE bool CutWeights(const T* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves) {
  const CutD d;
  const std::size_t lanes = hn::Lanes(d);
  const CutV high_unit = hn::Set(d, units.high);
  const CutV low_unit = hn::Set(d, units.low);
  CutV off = hn::Zero(d);
  CutV most = hn::Zero(d);
  const auto cut = [&](CutV x, double* to) HWY_ATTR {
    const CutV high = hn::Sub(hn::Add(x, high_unit), high_unit);
    const CutV low = hn::Sub(x, high);
    off = hn::Or(off, hn::Sub(hn::Sub(hn::Add(low, low_unit), low_unit), low));  // +0 where nothing is lost
    most = hn::Max(most, hn::Abs(x));
    hn::StoreInterleaved2(high, low, d, to);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) cut(CutLoad(weights + i), &halves[i].high);
  if (i < count) {
    HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(double)] = {};
    HWY_ALIGN double parts[2 * HWY_MAX_BYTES / sizeof(double)];
    for (std::size_t k = i; k < count; ++k) rest[k - i] = weights[k];
    cut(CutLoad(rest), parts);
    for (std::size_t k = i; k < count; ++k) halves[k] = {parts[2 * (k - i)], parts[2 * (k - i) + 1]};
  }
  // A maximum may miss a NaN, but that stays in `off`.
  return hn::AllTrue(d, hn::Eq(off, hn::Zero(d))) && hn::GetLane(hn::MaxOfLanes(d, most)) <= units.most;
}

bool CutF64(const double* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves) {
  return CutWeights(weights, count, units, halves);
}
bool CutF32(const float* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves) {
  return CutWeights(weights, count, units, halves);
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

#define MASU_GUIDED(name, T)                      \
  HWY_EXPORT(Guided##name);                       \
  template <>                                     \
  const GuidedLoops<T>& guided_loops() {          \
    return *HWY_DYNAMIC_DISPATCH(Guided##name)(); \
  }
MASU_EACH_WIDE_FLOAT(MASU_GUIDED)
#undef MASU_GUIDED

MASU_CHOSEN(JoinSlots, join_slots(), Join)
MASU_CHOSEN(FinishJointBins, finish_joint_bins(), Finish)
MASU_CHOSEN(SortU16, sort_into_parts(std::uint16_t), SortToU16)
MASU_CHOSEN(SortU32, sort_into_parts(std::uint32_t), SortToU32)
void finish_sorting() {
  hwy::FlushStream();
}

HWY_EXPORT(CutF64);
HWY_EXPORT(CutF32);

bool cut_weights(const double* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves) {
  return HWY_DYNAMIC_DISPATCH(CutF64)(weights, count, units, halves);
}
bool cut_weights(const float* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves) {
  return HWY_DYNAMIC_DISPATCH(CutF32)(weights, count, units, halves);
}

}  // namespace masu::cpu
#endif
