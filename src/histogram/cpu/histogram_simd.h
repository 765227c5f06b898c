// SPDX-License-Identifier: Apache-2.0
// The SIMD inner loops of the CPU histogram, dispatched at run time to the best instruction set (Highway).
#pragma once

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
  std::uint32_t n;     // slots n, n+1, n+2: below, above, NaN
};

// What a thread's earlier blocks were like.
struct SlotHistory {
  bool failed = false;  // the last try without comparisons met a value near an edge
  unsigned pause = 0;   // blocks that are not tried
};

// The slot of each of `count` values: a block of a few hundred.
using SlotsF64 = void (*)(const double* x, std::size_t count, const EvenLoop& loop, SlotHistory& history,
                          std::uint32_t* slots);
using SlotsF32 = void (*)(const float* x, std::size_t count, const EvenLoop& loop, SlotHistory& history,
                          std::uint32_t* slots);
SlotsF64 slots_f64();         // edges in f64
SlotsF32 slots_f32();         // edges in f32: the f64 edge, rounded
SlotsF32 slots_f32_native();  // edges computed in f32

// The slots of integers in bins 0 … n - 1: the value itself, or n (below), or n + 1 (above).
using SlotsI32 = void (*)(const std::int32_t* x, std::size_t count, std::uint32_t n, std::uint32_t* slots);
using SlotsU32 = void (*)(const std::uint32_t* x, std::size_t count, std::uint32_t n, std::uint32_t* slots);
using SlotsI64 = void (*)(const std::int64_t* x, std::size_t count, std::uint32_t n, std::uint32_t* slots);
using SlotsU64 = void (*)(const std::uint64_t* x, std::size_t count, std::uint32_t n, std::uint32_t* slots);
SlotsI32 integer_slots(std::int32_t);
SlotsU32 integer_slots(std::uint32_t);
SlotsI64 integer_slots(std::int64_t);
SlotsU64 integer_slots(std::uint64_t);

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
void range_of(const float* x, std::size_t count, float& lo, float& hi);
void range_of(const double* x, std::size_t count, double& lo, double& hi);
void range_of(const std::int32_t* x, std::size_t count, std::int32_t& lo, std::int32_t& hi);
void range_of(const std::uint32_t* x, std::size_t count, std::uint32_t& lo, std::uint32_t& hi);
void range_of(const std::int64_t* x, std::size_t count, std::int64_t& lo, std::int64_t& hi);
void range_of(const std::uint64_t* x, std::size_t count, std::uint64_t& lo, std::uint64_t& hi);

}  // namespace masu::cpu
