// SPDX-License-Identifier: Apache-2.0
// Turns values into slots on the CPU, block by block.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu_cells.h"
#include "histogram/cpu/histogram_cpu_guide.h"
#include "histogram/cpu/histogram_simd.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace masu::cpu {

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
  SlotsF32 f32_ = nullptr;
  SlotsF64 f64_ = nullptr;
  std::vector<std::uint32_t> of_value_;  // 8- and 16-bit data: the slot of each bit pattern
  std::optional<Guide<float>> guide_f32_;
  std::optional<Guide<double>> guide_f64_;
  std::optional<CellMap<float>> cells_f32_;
  std::optional<CellMap<double>> cells_f64_;
};

}  // namespace masu::cpu
