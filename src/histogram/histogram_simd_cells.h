// SPDX-License-Identifier: Apache-2.0
// The SIMD loops that count values by cells finer than the bins, see Guide and CellCounter.
#pragma once

#include "histogram/histogram_simd_guide.h"

#include <cstddef>
#include <cstdint>

namespace masu::cpu {

// What these loops count at a time.
inline constexpr std::size_t cells_block = 256;

// These loops prefetch values so far ahead of their block, a little at a time: a block's lines at once are more than a
// core waits for, and none arrives while they are counted.
inline constexpr std::size_t prefetched_bytes = 4096;
// The lines of `count` values so far ahead of them.
template <class T>
inline void prefetch_ahead(const T* values, std::size_t count) noexcept {
  const auto from = reinterpret_cast<std::uintptr_t>(values) + prefetched_bytes;
  for (std::size_t i = 0; i < count * sizeof(T); i += 64) __builtin_prefetch(reinterpret_cast<const void*>(from + i));
}

// Values that cells do not decide. There is always room for a block and a vector more.
template <class T>
struct Undecided {
  T* values;
  std::size_t count;
};

// A counter for each cell, NaN's too. Where its highest bit is set, the cell's values are appended to `left` as well.
inline constexpr std::uint32_t cell_undecided = 0x80000000U;
using CountCellsF32 = void (*)(const float* block, const GuideLoop<float>& loop, std::uint32_t* counters,
                               Undecided<float>& left);
using CountCellsF64 = void (*)(const double* block, const GuideLoop<double>& loop, std::uint32_t* counters,
                               Undecided<double>& left);
CountCellsF32 count_cells(float);
CountCellsF64 count_cells(double);

// Few cells, the tables of which are kept in registers. Neighbouring cells without an edge between them are a region;
// two values are counted at a time, by their pair of regions.
struct RegionTables {
  static constexpr std::uint32_t cells = 2048;
  static constexpr std::uint32_t words = cells / 32;
  static constexpr unsigned region_bits = 7;
  static constexpr std::uint32_t none = (1U << region_bits) - 1;  // stands for undecided values: more than all regions
  static constexpr std::uint32_t pairs = 1U << (2 * region_bits);
  // A bit a cell, the first one the lowest. A region starts behind a marked undecided cell, or at a marked other one.
  std::uint32_t starts[words];
  std::uint32_t undecided[words];
  std::uint32_t before[words];  // marks in the words before
  bool all_undecided;           // every marked cell is
};
// A block adds this to a counter at most.
inline constexpr std::uint32_t pairs_a_block = cells_block / 2;
using CountPairsF32 = void (*)(const float* block, const GuideLoop<float>& loop, const RegionTables& tables,
                               std::uint16_t* pairs, Undecided<float>& left);
using CountPairsF64 = void (*)(const double* block, const GuideLoop<double>& loop, const RegionTables& tables,
                               std::uint16_t* pairs, Undecided<double>& left);
// Null where the processor has no registers for such tables.
CountPairsF32 count_pairs(float);
CountPairsF64 count_pairs(double);

}  // namespace masu::cpu
