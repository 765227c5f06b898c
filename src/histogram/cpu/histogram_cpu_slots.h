// SPDX-License-Identifier: Apache-2.0
// Turns values into slots on the CPU, block by block.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_simd.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
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
  WriteGuided<T> cells_of_ = cells_of<T>();
  WriteGuided<T> steps_of_ = steps_of<T>();
  CountSteps<T> count_steps_ = cpu::count_steps<T>();
  bool parted_ = false;
};

extern template class Guide<float>;
extern template class Guide<double>;

// Counting many values between arbitrary edges: by cells so fine that few of them hold an edge. Only values of those
// are compared with edges.

// The cells of a guide's steps. T is float or double. Keeps a reference to the guide.
template <class T>
class CellMap {
 public:
  // `sample`: some of the values; they tell which cells suit the data.
  CellMap(const Guide<T>& guide, std::span<const T> sample, std::uint64_t elements);
  // False where most values would be compared anyway, or where there are too few.
  [[nodiscard]] bool pays() const noexcept { return kind_ != Kind::none; }

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
  CountCells<T> count_cells_ = count_cells<T>();
  CountPairs<T> count_pairs_ = count_pairs<T>();
};

// Gives `count` values from `first` on: where they are, or in `room`.
template <class T>
using ReadBlock = std::function<const T*(std::uint64_t first, std::size_t count, T* room)>;
// Adds the counts of `elements` values, `size` bytes each, to the counts of steps, with `copies` tables of them.
template <class T>
void count_by_cells(const CellMap<T>& map, const ReadBlock<T>& read, std::uint64_t elements, std::size_t size,
                    unsigned copies, std::span<std::uint64_t> steps);

extern template class CellMap<float>;
extern template class CellMap<double>;
extern template void count_by_cells(const CellMap<float>&, const ReadBlock<float>&, std::uint64_t, std::size_t,
                                    unsigned, std::span<std::uint64_t>);
extern template void count_by_cells(const CellMap<double>&, const ReadBlock<double>&, std::uint64_t, std::size_t,
                                    unsigned, std::span<std::uint64_t>);

// Values whose slots are computed before they are counted: input, slots and tables stay in the first-level cache
// together.
inline constexpr std::size_t block_elements = 256;

// Asks for the data behind a block: blocks are read in bursts, which the processor's own prefetcher does not foresee.
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

}  // namespace masu::cpu
