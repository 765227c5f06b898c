// SPDX-License-Identifier: Apache-2.0
// What the parts of sorting get: checked by sort.cpp, the same for every device.
#pragma once

#include "elements/order.h"

#include <masu/dtype.h>
#include <masu/sort.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace masu {

// Sorted elements: [first, end).
struct Run {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t size() const noexcept { return end - first; }
};

// What is sorted by itself: `rows` rows of equal length, or the segments between offsets.
struct Pieces {
  std::uint64_t count = 0;  // elements in all
  std::uint64_t rows = 1;
  std::span<const std::uint64_t> segments = {};  // not empty: offsets, at least two
  std::uint64_t most = 0;                        // keys of the longest segment, where that is known

  // How many pieces there are.
  [[nodiscard]] std::uint64_t size() const noexcept { return segments.empty() ? rows : segments.size() - 1; }
  [[nodiscard]] std::uint64_t begin(std::uint64_t piece) const noexcept {
    return segments.empty() ? piece * (count / rows) : segments[piece];
  }
  [[nodiscard]] std::uint64_t length(std::uint64_t piece) const noexcept {
    return segments.empty() ? count / rows : segments[piece + 1] - segments[piece];
  }
  [[nodiscard]] std::uint64_t longest() const noexcept {
    if (segments.empty()) return rows == 0 ? 0 : count / rows;
    std::uint64_t longest = most;
    for (std::uint64_t piece = 0; most == 0 && piece < size(); ++piece) longest = std::max(longest, length(piece));
    return longest;
  }
};

struct SortJob {
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  Pieces pieces;
  std::string_view function = "sort";  // in messages
};

// Ordered keys, reversed where the order is descending. sort_key() of sort_key.cl is the same function.
template <class T>
[[nodiscard]] constexpr KeyOf<T> sort_key(T value, Order order = Order::ascending) noexcept {
  const KeyOf<T> key = ordered_key(value);
  return order == Order::ascending ? key : static_cast<KeyOf<T>>(~key);
}

// Sorting on the CPU. Every function honours job.order and job.pieces; what is outside of the pieces stays as it is
// (is copied, where there is a place to copy it to).

// `result` may be `data` itself, and must not overlap it otherwise.
void sort_cpu(const ArrayView& data, void* result, const SortJob& job);
void sort_by_key_cpu(MutableArrayView keys, RecordsView values, const SortJob& job);
// indices.dtype is u32 or u64.
void argsort_cpu(const ArrayView& keys, MutableArrayView indices, const SortJob& job);
// Whether every piece is in order.
bool is_sorted_cpu(const ArrayView& data, const SortJob& job);

}  // namespace masu
