// SPDX-License-Identifier: Apache-2.0
// Counting many values between arbitrary edges: by cells so fine that few of them hold an edge. Only values of those
// are compared with edges.
#pragma once

#include "histogram/cpu/histogram_cpu_guide.h"
#include "histogram/cpu/histogram_simd_cells.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

namespace masu::cpu {

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
  std::conditional_t<std::is_same_v<T, float>, CountCellsF32, CountCellsF64> count_cells_ = count_cells(T{});
  std::conditional_t<std::is_same_v<T, float>, CountPairsF32, CountPairsF64> count_pairs_ = count_pairs(T{});
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

}  // namespace masu::cpu
