// SPDX-License-Identifier: Apache-2.0
// The SIMD loops of bins between arbitrary edges and of joint bins.
#pragma once

#include "histogram/histogram_simd.h"

#include <cstddef>
#include <cstdint>

namespace masu::cpu {

// Values are spread over cells by a function that never decreases; where a cell has one threshold at most, one
// comparison decides. T is float or double.
template <class T>
struct GuideLoop {
  bool by_bits;
  T lo, scale;                 // by value: cell trunc((x - lo) * scale + 1)
  std::int32_t base, top;      // by bits: the ordered bits of x as f32, from base to top, minus base,
  int shift;                   // over 2^shift
  std::uint32_t cells;         // cell `cells` is NaN's
  const T* thresholds;         // of each cell
  const std::uint32_t* slots;  // two of each cell: below its threshold, and from it on
};
// A slot with this bit says that the cell has several thresholds.
inline constexpr std::uint32_t crowded = std::uint32_t{1} << 31;

// The cell of each of `count` values, a block of a few hundred.
using CellsF32 = void (*)(const float* x, std::size_t count, const GuideLoop<float>& loop, std::uint32_t* cells);
using CellsF64 = void (*)(const double* x, std::size_t count, const GuideLoop<double>& loop, std::uint32_t* cells);
CellsF32 cells_of(float);
CellsF64 cells_of(double);
// Counts each value at twice its cell, and one more from the cell's threshold on. Neighbours go to the two tables,
// which may be one.
using CountSidesF32 = void (*)(const float* x, std::size_t count, const GuideLoop<float>& loop, std::uint32_t* even,
                               std::uint32_t* odd);
using CountSidesF64 = void (*)(const double* x, std::size_t count, const GuideLoop<double>& loop, std::uint32_t* even,
                               std::uint32_t* odd);
CountSidesF32 count_sides(float);
CountSidesF64 count_sides(double);

// The slot of each value; true when some cell was crowded.
using GuidedF32 = bool (*)(const float* x, std::size_t count, const GuideLoop<float>& loop, std::uint32_t* slots);
using GuidedF64 = bool (*)(const double* x, std::size_t count, const GuideLoop<double>& loop, std::uint32_t* slots);
GuidedF32 guided_slots(float);
GuidedF64 guided_slots(double);

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
using FinishCells = void (*)(std::size_t count, std::uint32_t size, std::uint32_t* cells);
FinishCells finish_cells();

}  // namespace masu::cpu
