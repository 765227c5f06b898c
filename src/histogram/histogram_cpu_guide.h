// SPDX-License-Identifier: Apache-2.0
// A guide to arbitrary edges: most values need one comparison, whatever the edges are.
#pragma once

#include "histogram/bin_rule.h"
#include "histogram/histogram_simd_guide.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace masu::cpu {

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

  // Where every cell has one threshold at most, values are counted by cell and side, and slots looked up in the end.
  [[nodiscard]] bool parted() const noexcept { return parted_; }
  // How many pairs of a cell and a side there are.
  [[nodiscard]] std::uint64_t sides() const noexcept { return slots_.size(); }
  // Counts a block of a few hundred values in two tables of sides, which may be one.
  void count_sides(const T* x, std::size_t count, std::uint32_t* even, std::uint32_t* odd) const {
    count_sides_(x, count, loop_, even, odd);
  }
  // Adds the counts of all sides to those of the slots.
  void fold(std::span<const std::uint64_t> counted, std::span<std::uint64_t> totals) const;

 private:
  // Divides the values into cells, and says whether that parts the steps.
  bool divide(std::uint64_t wanted, std::vector<std::uint32_t>& cells);
  std::uint32_t search(T x, std::uint32_t cell) const;
  void make_steps(const BinRule& rule);
  // Spreads the steps over cells; returns how many of them share one.
  std::uint32_t spread(bool by_bits, std::vector<std::uint32_t>& cells);
  void fill(const std::vector<std::uint32_t>& cells, std::uint32_t nan_slot);

  // A value that is not below steps_[i - 1], but below steps_[i], has slot after_[i].
  std::vector<T> steps_;
  std::vector<std::uint32_t> after_;
  std::vector<std::uint32_t> first_;  // of each cell: how many steps lie in cells before
  std::vector<T> thresholds_;
  std::vector<std::uint32_t> slots_;
  GuideLoop<T> loop_{};
  using Slots = std::conditional_t<std::is_same_v<T, float>, GuidedF32, GuidedF64>;
  using Cells = std::conditional_t<std::is_same_v<T, float>, CellsF32, CellsF64>;
  Slots slots_of_ = guided_slots(T{});
  Cells cells_of_ = cells_of(T{});
  std::conditional_t<std::is_same_v<T, float>, CountSidesF32, CountSidesF64> count_sides_ = cpu::count_sides(T{});
  bool parted_ = false;
};

extern template class Guide<float>;
extern template class Guide<double>;

}  // namespace masu::cpu
