// SPDX-License-Identifier: Apache-2.0
// The SIMD loops of bins between arbitrary edges and of joint bins.
#pragma once

#include "histogram/cpu/histogram_simd.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace masu::cpu {

// Steps are the thresholds of T at the edges, in order. Values are spread over cells by a function that never
// decreases, so a value is compared with the steps of its cell only. T is float or double.
template <class T>
struct GuideLoop {
  bool by_bits;
  T lo, scale;                // by value: cell trunc((x - lo) * scale + 1)
  std::int32_t base, top;     // by bits: the ordered bits of x as f32, from base to top, minus base,
  int shift;                  // over 2^shift
  std::uint32_t cells;        // cell `cells` is NaN's
  const std::uint16_t* near;  // how many steps lie before each cell; NaN's cell has one more than there are
  const T* steps;             // behind them NaN, which no value reaches
  unsigned most;              // the most steps in one cell
};
// The loops below take at most so many steps in a cell.
inline constexpr unsigned most_near_steps = 3;

// The cell of each of `count` values, a block of a few hundred.
using CellsF32 = void (*)(const float* x, std::size_t count, const GuideLoop<float>& loop, std::uint32_t* cells);
using CellsF64 = void (*)(const double* x, std::size_t count, const GuideLoop<double>& loop, std::uint32_t* cells);
CellsF32 cells_of(float);
CellsF64 cells_of(double);
// The number of steps that each value reaches.
using StepsF32 = CellsF32;
using StepsF64 = CellsF64;
StepsF32 steps_of(float);
StepsF64 steps_of(double);
// Counts values at the number of steps that they reach. Neighbours go to different tables, some of which may be one.
using StepTables = std::array<std::uint32_t*, 4>;
using CountStepsF32 = void (*)(const float* x, std::size_t count, const GuideLoop<float>& loop,
                               const StepTables& tables);
using CountStepsF64 = void (*)(const double* x, std::size_t count, const GuideLoop<double>& loop,
                               const StepTables& tables);
CountStepsF32 count_steps(float);
CountStepsF64 count_steps(double);

// Joins a column's slots to the cells of the columns before it. `cells` holds the cell so far, or `joined_outside`, or
// `joined_nan`.
struct JoinLoop {
  std::uint32_t n;       // the column's slots n, n+1, n+2: below, above, NaN
  std::uint32_t stride;  // cells from one bin of the column to the next
  bool clamp;            // below and above go to the first and the last bin
};
inline constexpr std::uint32_t joined_outside = 0xfffffffeU;
inline constexpr std::uint32_t joined_nan = 0xffffffffU;
using JoinSlots = void (*)(const std::uint32_t* slots, std::size_t count, const JoinLoop& loop, std::uint32_t* cells);
JoinSlots join_slots();
// Then `joined_outside` and `joined_nan` become the places behind `size` cells.
using FinishJointBins = void (*)(std::size_t count, std::uint32_t size, std::uint32_t* cells);
FinishJointBins finish_joint_bins();

}  // namespace masu::cpu
