// SPDX-License-Identifier: Apache-2.0
// The SIMD loops that count values by cells finer than the bins, see Guide and CellCounter.
#pragma once

#include "histogram/cpu/histogram_simd_guide.h"

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

// Few steps: a binary tree of them is kept in registers, and two values are counted at a time, by their pair of leaves.
// Bit l of a leaf's number says whether the value reaches its step of level l; the first level parts all steps.
struct StepTree {
  static constexpr unsigned most_levels = 7;
  static constexpr std::uint32_t most_steps = (1U << most_levels) - 2;  // the last leaf stands for undecided values
  static constexpr unsigned place_bits = 2 * most_levels;
  unsigned levels;  // 5 to most_levels; with fewer of them there are several counters for a pair of leaves
  bool exact;       // no step was rounded down to f32; otherwise values that round to a step's are undecided
  // Level l has 2^l steps, by the bits below; NaN where there are no more. Few are repeated to fill a register.
  static constexpr unsigned lanes = 16;
  float first[5][lanes];
  float sixth[2 * lanes];
  float seventh[4 * lanes];
};
inline constexpr std::uint32_t pairs_a_block = cells_block / 2;
// A block's pairs are counted while the next block's are found.
struct PairCounts {
  std::uint16_t* counters;  // 2^place_bits
  bool waits;               // places[last] are to be counted
  unsigned last;
  alignas(64) std::uint32_t places[2][pairs_a_block];
};
// Counts the pairs that wait. A block adds at most pairs_a_block to a counter.
void count_waiting(PairCounts& counts);
using CountPairsF32 = void (*)(const float* block, const StepTree& tree, PairCounts& counts, Undecided<float>& left);
using CountPairsF64 = void (*)(const double* block, const StepTree& tree, PairCounts& counts, Undecided<double>& left);
// Null where the processor has no registers for such tables.
CountPairsF32 count_pairs(float);
CountPairsF64 count_pairs(double);

}  // namespace masu::cpu
