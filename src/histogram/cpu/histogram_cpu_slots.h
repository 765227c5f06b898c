// SPDX-License-Identifier: Apache-2.0
// Values turned into slots on the CPU, block by block; and slots counted there, wherever they come from: strategies,
// threads, tables.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_simd.h"
#include "runtime/parallel.h"

#include <masu/device.h>
#include <masu/histogram.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace masu::cpu {

// A guide to arbitrary edges: a value needs one to three comparisons, unless very many edges lie very close together.

// T is float or double, the type in which values are compared.
template <class T>
class Guide {
 public:
  explicit Guide(const BinRule& rule);
  // Not copied: the loop points into the tables.
  Guide(const Guide&) = delete;
  Guide& operator=(const Guide&) = delete;
  Guide(Guide&&) noexcept = default;
  Guide& operator=(Guide&&) noexcept = default;
  ~Guide() = default;
  // The slot of each value, a block of a few hundred.
  void write(const T* x, std::size_t count, std::uint32_t* slots) const;

  // Values are counted by the steps they reach, and slots looked up in the end: how many counters that takes.
  [[nodiscard]] std::uint64_t step_counters() const noexcept { return after_.size(); }
  // Counts a block of a few hundred values.
  void count_steps(const T* x, std::size_t count, const StepTables& tables) const;
  // Adds these counts to those of the slots.
  void fold(std::span<const std::uint64_t> counted, std::span<std::uint64_t> totals) const;

  // The thresholds of T, in order, each once.
  [[nodiscard]] std::span<const T> steps() const noexcept { return std::span(steps_).first(after_.size() - 2); }
  // Lays loop.cells cells over the steps, of equal width or of equal steps of the bits. False where the edges are too
  // far apart for the one or too close for the other.
  bool lay(bool by_bits, GuideLoop<T>& loop) const;
  // The cells of values.
  [[nodiscard]] std::vector<std::uint32_t> cells(std::span<const T> x, const GuideLoop<T>& loop) const;

 private:
  // Divides the values into cells, and says whether few enough steps share one.
  bool divide(std::uint64_t wanted, std::vector<std::uint32_t>& cells);
  void make_steps(const BinRule& rule);
  // Spreads the steps over cells; returns how many share one at most.
  std::uint32_t spread(bool by_bits, std::vector<std::uint32_t>& of_steps);
  void fill(const std::vector<std::uint32_t>& cells, std::uint32_t nan_slot);
  [[nodiscard]] std::uint32_t search(T x, std::uint32_t cell) const;

  // A value that is not below steps_[i - 1], but below steps_[i], has slot after_[i]. The last of after_ is NaN's.
  std::vector<T> steps_;
  std::vector<std::uint32_t> after_;
  std::vector<std::uint32_t> first_;  // of each cell: how many steps lie in cells before
  std::vector<std::uint16_t> near_;   // the same where all fit
  GuideLoop<T> loop_{};
  const GuidedLoops<T>* loops_ = &guided_loops<T>();
  bool parted_ = false;
};

extern template class Guide<float>;
extern template class Guide<double>;

// Counting many values between arbitrary edges: by cells so fine that few of them hold an edge. Only values of those
// are compared with edges.

// Gives `count` values from `first` on: where they are, or in `room`.
template <class T>
using ReadBlock = std::function<const T*(std::uint64_t first, std::size_t count, T* room)>;

// The cells of a guide's steps. T is float or double. Keeps a reference to the guide.
template <class T>
class CellMap {
 public:
  // `sample`: some of the values; they tell which cells suit the data.
  CellMap(const Guide<T>& guide, std::span<const T> sample, std::uint64_t elements);
  // False where most values would be compared anyway, or where there are too few.
  [[nodiscard]] bool pays() const noexcept { return kind_ != Kind::none; }
  // Adds the counts of `elements` values, `size` bytes each, to the counts of steps, with `copies` tables of them.
  void count(const ReadBlock<T>& read, std::uint64_t elements, std::size_t size, unsigned copies,
             std::span<std::uint64_t> steps) const;

 private:
  template <class>
  friend class CellCounter;
  enum class Kind { none, cells, pairs };

  // A cell with steps, and what its values reach; cell_undecided where a step lies inside of it.
  struct Mark {
    std::uint32_t cell, reached;
  };

  // Sets the loop and the marks; false where the edges forbid it.
  bool divide(std::uint32_t cells, bool by_bits);
  // The part of the sample that would be compared.
  [[nodiscard]] double undecided_part(std::span<const T> sample) const;
  void fill_cells();
  // Sets the tree, where there are few steps.
  bool plant();
  // The part of the sample that the tree does not decide.
  [[nodiscard]] double lost_part(std::span<const T> sample) const;

  const Guide<T>& guide_;
  Kind kind_ = Kind::none;
  GuideLoop<T> loop_{};
  std::vector<Mark> marks_;
  std::vector<std::uint32_t> reached_;  // of each cell, NaN's too: the steps its values reach, or cell_undecided
  StepTree tree_{};
  CountPairs<T> count_pairs_ = count_pairs<T>();
};

extern template class CellMap<float>;
extern template class CellMap<double>;

// Values whose slots are computed before they are counted: input, slots and tables stay in the first-level cache
// together.
inline constexpr std::size_t block_elements = 256;

// Prefetches the data after a block: blocks are read in bursts, which the hardware's own prefetcher does not foresee.
// Addresses past the end are fine.
inline void prefetch_next(const void* block, std::size_t bytes) noexcept {
  constexpr std::size_t ahead = 2048;
  const auto from = reinterpret_cast<std::uintptr_t>(block) + ahead;
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(reinterpret_cast<const void*>(from + i));
}

class SlotWriter {
 public:
  // Keeps a reference to `rule`.
  explicit SlotWriter(const BinRule& rule);
  // Says that so many elements will come. Tables that pay only for many are made then. Not while others write.
  void prepare(std::uint64_t elements);
  // The slots of at most block_elements elements of the rule's dtype.
  void write(const void* x, std::size_t count, SlotHistory& history, std::uint32_t* slots) const;
  // The slot of each byte, of 8-bit data.
  [[nodiscard]] std::span<const std::uint32_t> slot_of_byte() const noexcept {
    return size_of(rule_.dtype) == 1 ? std::span<const std::uint32_t>(of_value_) : std::span<const std::uint32_t>();
  }
  // Counting steps instead of slots, where that is faster (see Guide): how many there are, or 0. `count` is at
  // most block_elements.
  [[nodiscard]] std::uint64_t step_counters() const noexcept;
  void count_steps(const void* x, std::size_t count, const StepTables& tables) const;
  // Counts the steps of all elements, where most of them need not be compared: otherwise false, and nothing is counted.
  // Not while others write.
  bool count_steps_by_cells(const void* x, std::uint64_t elements, unsigned copies, std::span<std::uint64_t> steps);
  void fold_steps(std::span<const std::uint64_t> counted, std::span<std::uint64_t> totals) const;

 private:
  template <class T>
  void write_values(const T* x, std::size_t count, SlotHistory& history, std::uint32_t* slots) const;
  void make_even_loop();
  void make_table();
  template <class T, class U>
  bool count_by_cells_of(const T* x, std::uint64_t elements, const Guide<U>& guide, std::optional<CellMap<U>>& map,
                         unsigned copies, std::span<std::uint64_t> steps);

  const BinRule& rule_;
  std::uint64_t prepared_ = 0;
  EvenLoop loop_{};
  EvenSlots<float> f32_ = nullptr;
  EvenSlots<double> f64_ = nullptr;
  std::vector<std::uint32_t> of_value_;  // 8- and 16-bit data: the slot of each bit pattern
  std::optional<Guide<float>> guide_f32_;
  std::optional<Guide<double>> guide_f64_;
  std::optional<CellMap<float>> cells_f32_;
  std::optional<CellMap<double>> cells_f64_;
};

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

// Calls take(slots, first element, how many) for elements [first, first + count) of a source, `block` at a time.
template <class Take>
void each_block(const SlotSource& source, std::uint64_t first, std::uint64_t count, std::size_t block,
                const Take& take) {
  alignas(64) std::uint32_t slots[block_elements];
  SlotHistories histories = {};
  for (std::uint64_t i = 0; i < count; i += block) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block, count - i));
    source.write(first + i, length, histories, slots);
    take(static_cast<const std::uint32_t*>(slots), first + i, length);
  }
}

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

// Each thread takes the next piece of the elements until none is left: count(table, first, length) counts one in what
// make() gives, and drain(table) adds that to the totals, one thread at a time, before it has more than `most`
// elements.
template <class Make, class Count, class Drain>
void count_by_threads(std::uint64_t elements, std::uint64_t piece, std::uint64_t most, const Make& make,
                      const Count& count, const Drain& drain) {
  const std::uint64_t pieces = (elements + piece - 1) / piece;
  std::atomic<std::uint64_t> next_piece = 0;
  std::mutex adding;
  runtime::parallel_tasks(std::min<std::uint64_t>(cpu_threads(), pieces), [&](std::uint64_t) {
    auto table = make();
    std::uint64_t counted = 0;
    const auto add = [&] {
      const std::lock_guard lock(adding);
      drain(table);
      counted = 0;
    };
    for (std::uint64_t p = next_piece++; p < pieces; p = next_piece++) {
      runtime::check_interrupted();
      const std::uint64_t length = std::min(piece, elements - p * piece);
      if (counted + length > most) add();
      count(table, p * piece, length);
      counted += length;
    }
    if (counted != 0) add();
  });
}

// Counts `elements` elements with tables for each thread: count(tables, first, length) counts a part that begins with
// channel 0. `size` is the size of an element in bytes.
void count_in_tables(const TableShape& shape, unsigned copies, std::uint64_t elements, std::size_t size,
                     std::span<std::uint64_t> totals,
                     const std::function<void(Tables&, std::uint64_t, std::uint64_t)>& count);
// Every element is one addition to the totals; atomic when several threads share them.
void count_in_totals(const TableShape& shape, const SlotSource& source, std::uint64_t elements, std::size_t size,
                     bool one_thread, std::span<std::uint64_t> totals);

// Strategy::partitioned on the CPU.

// Counts sources of slots: values are first sorted into parts of the counters that the second-level cache holds, then
// the parts are counted one by one. Keeps its memory, under 48 MiB a thread, from one source to the next.
class PartCounter {
 public:
  static std::unique_ptr<PartCounter> make(const TableShape& shape);
  PartCounter() = default;
  PartCounter(const PartCounter&) = delete;
  PartCounter& operator=(const PartCounter&) = delete;
  virtual ~PartCounter() = default;
  virtual void count(const SlotSource& source, std::uint64_t elements, std::span<std::uint64_t> totals) = 0;
};

// Counts sources of slots with one strategy.
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
  std::unique_ptr<PartCounter> parts_;  // of Strategy::partitioned
};

}  // namespace masu::cpu
