// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_simd_guide.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "histogram/cpu/histogram_simd_guide.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "histogram/cpu/histogram_simd_cells-inl.h"
#include "histogram/cpu/histogram_simd_chosen.h"

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
HWY_INLINE void CountSteps(const T* values, std::size_t count, const GuideLoop<T>& loop, const StepTables& tables) {
  if (loop.most <= 1) return CountStepsOf<1>(values, count, loop, tables);
  if (loop.most == 2) return CountStepsOf<2>(values, count, loop, tables);
  CountStepsOf<most_near_steps>(values, count, loop, tables);
}

void CellsF32Of(const float* x, std::size_t count, const GuideLoop<float>& loop, std::uint32_t* cells) {
  WriteCells(x, count, loop, cells);
}
void CellsF64Of(const double* x, std::size_t count, const GuideLoop<double>& loop, std::uint32_t* cells) {
  WriteCells(x, count, loop, cells);
}
void StepsF32Of(const float* x, std::size_t count, const GuideLoop<float>& loop, std::uint32_t* steps) {
  WriteSteps(x, count, loop, steps);
}
void StepsF64Of(const double* x, std::size_t count, const GuideLoop<double>& loop, std::uint32_t* steps) {
  WriteSteps(x, count, loop, steps);
}
void CountF32Of(const float* x, std::size_t count, const GuideLoop<float>& loop, const StepTables& tables) {
  CountSteps(x, count, loop, tables);
}
void CountF64Of(const double* x, std::size_t count, const GuideLoop<double>& loop, const StepTables& tables) {
  CountSteps(x, count, loop, tables);
}

void Join(const std::uint32_t* slots, std::size_t count, const JoinLoop& loop, std::uint32_t* cells) {
  const hn::ScalableTag<std::uint32_t> d;
  const auto n = hn::Set(d, loop.n);
  const auto stride = hn::Set(d, loop.stride);
  const auto nan_slot = hn::Set(d, loop.n + 2);
  const auto outside = hn::Set(d, joined_outside);
  const auto nan = hn::Set(d, joined_nan);
  const auto join = [&](auto slot, auto cell) HWY_ATTR {
    const auto is_nan = hn::Eq(slot, nan_slot);
    if (loop.clamp) {
      slot = hn::IfThenZeroElse(hn::Eq(slot, n), slot);
      slot = hn::IfThenElse(hn::Gt(slot, n), hn::Set(d, loop.n - 1), slot);
    }
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
  // `outside` comes directly behind the cells, `nan` behind it: as the marks follow each other.
  const auto most = hn::Set(d, size);
  const auto mark = hn::Set(d, joined_outside);
  for_vectors(d, cells, count, cells, [&](const std::uint32_t* from, std::uint32_t* to) HWY_ATTR {
    const auto cell = hn::LoadU(d, from);
    hn::StoreU(hn::IfThenElse(hn::Lt(cell, mark), cell, hn::Add(most, hn::Sub(cell, mark))), d, to);
  });
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(CellsF32Of);
HWY_EXPORT(CellsF64Of);
HWY_EXPORT(StepsF32Of);
HWY_EXPORT(StepsF64Of);
HWY_EXPORT(CountF32Of);
HWY_EXPORT(CountF64Of);
HWY_EXPORT(Join);
HWY_EXPORT(Finish);

CellsF32 cells_of(float) {
  return chosen(HWY_DISPATCH_TABLE(CellsF32Of));
}
CellsF64 cells_of(double) {
  return chosen(HWY_DISPATCH_TABLE(CellsF64Of));
}
StepsF32 steps_of(float) {
  return chosen(HWY_DISPATCH_TABLE(StepsF32Of));
}
StepsF64 steps_of(double) {
  return chosen(HWY_DISPATCH_TABLE(StepsF64Of));
}
CountStepsF32 count_steps(float) {
  return chosen(HWY_DISPATCH_TABLE(CountF32Of));
}
CountStepsF64 count_steps(double) {
  return chosen(HWY_DISPATCH_TABLE(CountF64Of));
}
JoinSlots join_slots() {
  return chosen(HWY_DISPATCH_TABLE(Join));
}
FinishJointBins finish_joint_bins() {
  return chosen(HWY_DISPATCH_TABLE(Finish));
}

}  // namespace masu::cpu
#endif
