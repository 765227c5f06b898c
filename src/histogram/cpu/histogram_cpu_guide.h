// SPDX-License-Identifier: Apache-2.0
// A guide to arbitrary edges: a value needs one to three comparisons, unless very many edges lie very close together.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_simd_guide.h"

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
  static constexpr bool single = std::is_same_v<T, float>;
  std::conditional_t<single, CellsF32, CellsF64> cells_of_ = cells_of(T{});
  std::conditional_t<single, StepsF32, StepsF64> steps_of_ = steps_of(T{});
  std::conditional_t<single, CountStepsF32, CountStepsF64> count_steps_ = cpu::count_steps(T{});
  bool parted_ = false;
};

extern template class Guide<float>;
extern template class Guide<double>;

}  // namespace masu::cpu
