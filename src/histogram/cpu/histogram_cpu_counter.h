// SPDX-License-Identifier: Apache-2.0
// Counts sources of slots with one strategy.
#pragma once

#include "histogram/cpu/histogram_cpu_tables.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace masu::cpu {

// Strategy::partitioned on the CPU.

// Counts sources of slots: values are first sorted into parts of the counters that the second-level cache holds, then
// the parts are counted one by one. Keeps its memory, under 48 MiB a thread, from one source to the next.
class PartCounter {
 public:
  explicit PartCounter(const TableShape& shape);
  PartCounter(PartCounter&&) noexcept;
  PartCounter& operator=(PartCounter&&) noexcept;
  ~PartCounter();
  void count(const SlotSource& source, std::uint64_t elements, std::span<std::uint64_t> totals);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class SlotCounter {
 public:
  // Throws unsupported where the tables of the strategy do not fit.
  SlotCounter(const TableShape& shape, Strategy asked);
  // Adds a source's counts; `size` is the size of an element in bytes.
  void count(const SlotSource& source, std::uint64_t elements, std::size_t size, std::span<std::uint64_t> totals);
  [[nodiscard]] const TableShape& shape() const noexcept { return shape_; }
  [[nodiscard]] Strategy strategy() const noexcept { return strategy_; }

 private:
  TableShape shape_;
  Strategy strategy_;
  std::optional<PartCounter> parts_;
};

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

}  // namespace masu::cpu
