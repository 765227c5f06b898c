// SPDX-License-Identifier: Apache-2.0
// The rank of an element, and top-k on the CPU: a threshold from a sample, a loop over vectors that looks for what
// reaches it (select/select_places.h), and a list that is cut to the first k whenever it has grown to twice that.
#pragma once

#include "elements/order.h"

#include <masu/dtype.h>
#include <masu/topk.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace masu {

// Elements as ranks: unsigned numbers that are the greater the earlier an element comes; elements of one rank are equal
// and come by index. The kernels' half is in topk_select.cl.

// Which element comes first. NaNs that come last and NaNs that are skipped have the rank 0, which nothing else of a
// float has.
struct Ranking {
  bool largest = true;
  bool nan_first = false;
  bool skip = false;

  Ranking(Dtype dtype, bool largest_first, NanPolicy nan)
      : largest(largest_first),
        nan_first(is_float(dtype) && largest_first && nan == NanPolicy::last),
        skip(is_float(dtype) && nan == NanPolicy::skip) {}

  template <class T>
  [[nodiscard]] KeyOf<T> operator()(T x) const noexcept {
    const KeyOf<T> key = ordered_key(x);
    if constexpr (is_float_type<T>) {
      if (skip && key == static_cast<KeyOf<T>>(~KeyOf<T>{0})) return 0;
    }
    return largest ? key : static_cast<KeyOf<T>>(~key);
  }
  // The first and the last key of those with at least some rank; of what is skipped, too, where that rank is 0.
  template <class T>
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> keys_from(std::uint64_t rank) const noexcept {
    constexpr std::uint64_t most = static_cast<KeyOf<T>>(~KeyOf<T>{0});
    if (!largest) return {0, most - rank};
    return {rank, skip && rank != 0 ? greatest_number_key<T>() : most};
  }
  // The number that comes last, for places without an element.
  template <class T>
  [[nodiscard]] T last() const noexcept {
    return value_of_key<T>(largest ? least_key<T>() : greatest_number_key<T>());
  }
};

}  // namespace masu

namespace masu::cpu {

// An element that may be of the result.
struct TopkEntry {
  std::uint64_t rank;
  std::uint64_t index;
  std::uint64_t bits;
  // In the order of the result.
  friend bool operator<(const TopkEntry& a, const TopkEntry& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.index < b.index;
  }
};

// The first k of all elements that it was given.
class TopkList {
 public:
  TopkList(Dtype dtype, const Ranking& ranking, std::uint64_t k);
  // Elements whose indices are `first`, `first` + 1, … and above those of all before. On all threads where there are
  // many.
  void add(const ArrayView& data, std::uint64_t first);
  // Takes entries in order that were found elsewhere, with indices above those of all before; none that is skipped.
  void add(const std::vector<TopkEntry>& entries, std::uint64_t skipped);
  // Entries of at most k elements, in order.
  [[nodiscard]] std::vector<TopkEntry> result() const;
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }

 private:
  template <class T>
  void add_elements(const T* x, std::uint64_t count, std::uint64_t first);
  void keep_first();

  Dtype dtype_;
  Ranking ranking_;
  std::uint64_t k_;
  std::uint64_t skipped_ = 0;
  std::vector<TopkEntry> kept_;  // at most k, in no order
};

// The top k of each of `rows` rows, on all threads: found[r] entries of row r from place r * k on. `lengths`: of each
// row, or none.
struct RowsTarget {
  std::uint64_t* indices;
  void* values;
  std::uint64_t* found;
  std::uint64_t* skipped;
};
void topk_rows(const ArrayView& data, std::uint64_t rows, std::uint64_t k, const Ranking& ranking,
               std::span<const std::uint64_t> lengths, const RowsTarget& target);

}  // namespace masu::cpu
