// SPDX-License-Identifier: Apache-2.0
// The loop that sorts counters' numbers into parts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace masu::cpu {

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

}  // namespace masu::cpu
