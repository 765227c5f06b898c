// SPDX-License-Identifier: Apache-2.0
// Counting slots on the CPU, wherever they come from: strategies, threads, tables.
#pragma once

#include "histogram/cpu/histogram_cpu_slots.h"

#include <masu/histogram.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace masu::cpu {

// What a thread takes at a time, in bytes of the data.
inline constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;

// Columns of a joint histogram have a history each.
using SlotHistories = SlotHistory[8];

// Elements in order, each with a slot. Several threads may read it.
class SlotSource {
 public:
  SlotSource() = default;
  SlotSource(const SlotSource&) = delete;
  SlotSource& operator=(const SlotSource&) = delete;
  virtual ~SlotSource() = default;
  // The slots of elements [first, first + count), at most block_elements of them.
  virtual void write(std::uint64_t first, std::size_t count, SlotHistories& histories, std::uint32_t* slots) const = 0;
};

// One table: `slots` counters for each channel. Element i belongs to channel i % channels.
struct TableShape {
  std::uint64_t slots = 1;
  unsigned channels = 1;
  [[nodiscard]] std::uint64_t counters() const noexcept { return slots * channels; }
  [[nodiscard]] std::size_t block() const noexcept { return block_elements / channels * channels; }
};

// The strategy that counts such tables; never automatic. Throws unsupported where the tables of what was asked for do
// not fit, naming the limit.
Strategy choose_strategy(const TableShape& shape, Strategy asked);
// Copies of a table that a thread has with that strategy.
unsigned copies_of(const TableShape& shape, Strategy strategy) noexcept;

// A thread's tables: `copies` of the shape, with 32-bit counters.
class Tables {
 public:
  Tables(const TableShape& shape, unsigned copies)
      : shape_(shape), copies_(copies), counts_(shape.counters() * copies) {}

  [[nodiscard]] unsigned copies() const noexcept { return copies_; }
  [[nodiscard]] std::uint32_t* data() noexcept { return counts_.data(); }
  // Counts slots whose first one belongs to channel 0.
  void add(const std::uint32_t* slots, std::size_t count);
  // Counts elements [first, first + count) of a source; `first` belongs to channel 0.
  void add(const SlotSource& source, std::uint64_t first, std::uint64_t count);
  // Calls take(counter, its count) for all counters, and clears them.
  template <class Take>
  void drain(const Take& take) {
    const std::uint64_t size = shape_.counters();
    for (std::uint64_t i = 0; i < size; ++i) {
      std::uint64_t sum = 0;
      for (unsigned k = 0; k < copies_; ++k) sum += std::exchange(counts_[k * size + i], 0U);
      take(i, sum);
    }
  }

 private:
  template <unsigned copies>
  void add_copies(const std::uint32_t* slots, std::size_t count);

  TableShape shape_;
  unsigned copies_;
  std::vector<std::uint32_t> counts_;
};

// Tables of 32 bits are drained before they have counted more values than this.
inline constexpr std::uint64_t drain_elements = std::uint64_t{1} << 31;

// Counts `elements` elements with tables for each thread: count(tables, first, length) counts a part that begins with
// channel 0. `size` is the size of an element in bytes.
void count_in_tables(const TableShape& shape, unsigned copies, std::uint64_t elements, std::size_t size,
                     std::span<std::uint64_t> totals,
                     const std::function<void(Tables&, std::uint64_t, std::uint64_t)>& count);
// Every element is one addition to the totals; atomic when several threads share them.
void count_in_totals(const TableShape& shape, const SlotSource& source, std::uint64_t elements, std::size_t size,
                     bool one_thread, std::span<std::uint64_t> totals);

// Counts sources of slots with one strategy.

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
