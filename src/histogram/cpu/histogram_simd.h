// SPDX-License-Identifier: Apache-2.0
// The SIMD inner loops of the CPU histogram, dispatched at run time to the best instruction set (Highway).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace masu::cpu {

// Even bins as the loops need them. A value's position is (x - lo) * scale in the value's own type; `error` bounds how
// far it can be off, against the edges as they are rounded.
struct EvenLoop {
  double lo, step;     // e[i] = i * step + lo, two roundings
  double first, last;  // first <= x <= last lies in a bin
  double scale;        // bins over (hi - lo)
  double error;        // how far a position can be off, in bins
  std::uint32_t n;
  std::uint32_t below, above, nan;  // slots of values in no bin
};

// What a thread's earlier blocks were like.
struct SlotHistory {
  bool failed = false;  // the last try without comparisons met a value near an edge
  unsigned pause = 0;   // blocks that are not tried
};

// The slot of each of `count` values: a block of a few hundred.
template <class T>
using EvenSlots = void (*)(const T* x, std::size_t count, const EvenLoop& loop, SlotHistory& history,
                           std::uint32_t* slots);
EvenSlots<double> slots_f64();        // edges in f64
EvenSlots<float> slots_f32();         // edges in f32: the f64 edge, rounded
EvenSlots<float> slots_f32_native();  // edges computed in f32

// GCC 12 exports specialisations whose parameters have fundamental types alone, unless they are hidden here.

// The slots of integers in bins 0 … n - 1: the value itself, or n (below), or n + 1 (above).
template <class T>
using IntegerSlots = void (*)(const T* x, std::size_t count, std::uint32_t n, std::uint32_t* slots);
template <class T>
[[gnu::visibility("hidden")]] IntegerSlots<T> integer_slots();

// Adds the counts of bytes to 256 totals. 64 bytes of one or two values are counted at once.
using CountBytes = void (*)(const std::uint8_t* data, std::size_t count, std::uint32_t* totals);
CountBytes count_bytes();
// The same at one speed, whatever the bytes are; 256 totals for each of 1 to 4 interleaved channels. `count` is a
// multiple of so many bytes for each channel, and worth it from so many on. nullptr where the processor has no
// instructions for it.
inline constexpr std::size_t byte_plane_block = 4096;
inline constexpr std::size_t least_by_planes = std::size_t{1} << 16;
CountBytes count_byte_planes(unsigned channels);

// The least and greatest finite values; `lo` > `hi` where there are none. Starts from what `lo` and `hi` hold.
template <class T>
[[gnu::visibility("hidden")]] void range_of(const T* x, std::size_t count, T& lo, T& hi);

// The SIMD loops of bins between arbitrary edges and of joint bins.

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
  const T* steps;             // followed by NaNs, which no value reaches
  unsigned most;              // the most steps in one cell
};
// The most steps in a cell that the loops below take.
inline constexpr unsigned most_near_steps = 3;

// Tables of counters, some of which may be one.
using StepTables = std::array<std::uint32_t*, 4>;

// Joins a column's slots to the cells of the columns before it. `cells` holds the cell so far, or `joined_outside`, or
// `joined_nan`.
struct JoinLoop {
  std::uint32_t n;       // the column's slots n, n+1, n+2: below, above, NaN
  std::uint32_t stride;  // cells from one bin of the column to the next
};
inline constexpr std::uint32_t joined_outside = 0xfffffffeU;
inline constexpr std::uint32_t joined_nan = 0xffffffffU;
using JoinSlots = void (*)(const std::uint32_t* slots, std::size_t count, const JoinLoop& loop, std::uint32_t* cells);
JoinSlots join_slots();
// Replaces `joined_outside` and `joined_nan` by the two places after `size` cells.
using FinishJointBins = void (*)(std::size_t count, std::uint32_t size, std::uint32_t* cells);
FinishJointBins finish_joint_bins();

// The SIMD loops that count values by cells finer than the bins, see Guide and CellCounter.

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

// The loops over values of a guide, blocks of a few hundred, compiled for one set of instructions.
template <class T>
struct GuidedLoops {
  // The cell of each value.
  void (*cells)(const T* x, std::size_t count, const GuideLoop<T>& loop, std::uint32_t* cells);
  // The number of steps that each value reaches.
  void (*steps)(const T* x, std::size_t count, const GuideLoop<T>& loop, std::uint32_t* steps);
  // Counts values at that number. Neighbours go to different tables.
  void (*count_steps)(const T* x, std::size_t count, const GuideLoop<T>& loop, const StepTables& tables);
  // Counts a block's cells.
  void (*count_cells)(const T* block, const GuideLoop<T>& loop, std::uint32_t* counters, Undecided<T>& left);
};
template <class T>
const GuidedLoops<T>& guided_loops();

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
template <class T>
using CountPairs = void (*)(const T* block, const StepTree& tree, PairCounts& counts, Undecided<T>& left);
// Null where the processor has no registers for such tables.
template <class T>
CountPairs<T> count_pairs();

// The loop that sorts counters' numbers into parts.
inline constexpr std::size_t line_bytes = 64;
// A stream's values lie in blocks of this size.
inline constexpr std::size_t block_bytes = 2048;
// Neighbours go to different streams of a part, so that values of one part do not wait for each other.
inline constexpr unsigned streams_a_part = 2;

// Where the values of every stream go: to a line that stays in the cache, and from there to a block. Stream s belongs
// to part s / streams_a_part. Offset, a place in a part, is u16 or u32.
template <class Offset>
struct PartStreams {
  static constexpr std::uint32_t line_values = line_bytes / sizeof(Offset);
  static constexpr std::uint32_t block_values = block_bytes / sizeof(Offset);
  unsigned bits;             // of an offset
  Offset* lines;             // one of each stream
  std::uint32_t* counts;     // values of each stream
  Offset** next;             // where each stream's next line goes
  Offset* blocks;            // all blocks
  std::uint32_t used;        // how many have a stream
  std::uint32_t* stream_of;  // of each of them
};

// Adds the values `base` + slots[i]; `count` is a few hundred.
using SortU16 = void (*)(const std::uint32_t* slots, std::size_t count, std::uint64_t base,
                         PartStreams<std::uint16_t>& to);
using SortU32 = void (*)(const std::uint32_t* slots, std::size_t count, std::uint64_t base,
                         PartStreams<std::uint32_t>& to);
SortU16 sort_into_parts(std::uint16_t);
SortU32 sort_into_parts(std::uint32_t);
// To be called by the sorting thread before another one reads the blocks.
void finish_sorting();

// Weights cut in two: what is a multiple of a high unit, and the rest, a multiple of a low one. The units are so far
// apart, and the sizes so far below 2^53 of them, that no sum of either part is rounded.

struct WeightHalves {
  double high = 0;
  double low = 0;
  void add(const WeightHalves& other) noexcept {
    high += other.high;
    low += other.low;
  }
};

// Units for `count` weights of the size of the first ones; zeros where there are fewer.
using WeightSample = std::array<double, 64>;
struct WeightUnits {
  WeightUnits(const WeightSample& sample, std::uint64_t count) {
    double largest = 0;
    for (const double weight : sample) largest = std::max(largest, std::fabs(weight));
    // A part is at most 2^exponent, or half of the high unit, and 2^count_bits of them are at most 2^53 units.
    const int exponent = largest == 0 || !(largest < 0x1p900) ? 0 : std::max(std::ilogb(largest), -900) + 2;
    const auto count_bits = static_cast<int>(std::bit_width(count));
    const int high_unit = exponent + count_bits - 53;
    most = std::ldexp(1.0, exponent);
    high = std::ldexp(0x1.8p52, high_unit);
    low = std::ldexp(0x1.8p52, high_unit - 1 + count_bits - 53);
  }
  double most;
  double high;  // 1.5 * 2^52 units
  double low;
};

// Cuts a block of weights; false where it cannot.
bool cut_weights(const double* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves);
bool cut_weights(const float* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves);

}  // namespace masu::cpu
