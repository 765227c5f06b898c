// SPDX-License-Identifier: Apache-2.0
// A tree of the upper levels in a core's cache, then a binary search in a block; several values at a time, so that the
// processor waits for several elements at once, and no branch that depends on the data.
#include "search/search_plan.h"

#include "elements/order.h"
#include "runtime/parallel.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace masu {

namespace {

constexpr std::uint64_t task_values = std::uint64_t{1} << 13;
constexpr std::size_t together = 16;  // values that a thread seeks at a time

template <class T, bool Right>
class Searcher {
 public:
  using Key = UnsignedOf<sizeof(T)>;

  Searcher(const T* sorted, std::uint64_t count, std::uint64_t values, Order order)
      : sorted_(sorted),
        flip_(order == Order::descending ? static_cast<Key>(~Key{0}) : Key{0}),
        count_(count),
        shape_(search_plan::tree_for(
            count, values, static_cast<unsigned>(std::bit_width(search_plan::cpu_tree_bytes / sizeof(T))) - 1)),
        blocks_(count >> shape_.shift),
        tree_(std::size_t{1} << shape_.levels) {
    for (std::uint64_t node = 1; node < tree_.size(); ++node) {
      const auto level = static_cast<unsigned>(std::bit_width(node)) - 1;
      const std::uint64_t nth = 2 * (node - (std::uint64_t{1} << level)) + 1;
      const std::uint64_t block = (nth << (shape_.levels - 1 - level)) - 1;
      tree_[node] = block < blocks_ ? key_of(sorted[((block + 1) << shape_.shift) - 1]) : static_cast<Key>(~Key{0});
    }
  }

  // N values; N is known when this is compiled.
  template <std::size_t N>
  void seek(const T* values, std::uint64_t* places) const {
    Key keys[N];
    std::uint64_t nodes[N];
    for (std::size_t k = 0; k < N; ++k) {
      keys[k] = key_of(values[k]);
      nodes[k] = 1;
    }
    for (unsigned level = 0; level < shape_.levels; ++level) {
      for (std::size_t k = 0; k < N; ++k) nodes[k] = 2 * nodes[k] + stands_before(tree_[nodes[k]], keys[k]);
    }
    std::uint64_t ends[N];
    for (std::size_t k = 0; k < N; ++k) {
      // Nodes that are left over may have counted.
      places[k] = std::min(nodes[k] - tree_.size(), blocks_) << shape_.shift;
      ends[k] = std::min(count_, places[k] + (std::uint64_t{1} << shape_.shift) - 1);
    }
    for (std::uint64_t step = std::uint64_t{1} << shape_.shift >> 1; step != 0; step >>= 1) {
      for (std::size_t k = 0; k < N; ++k) {
        const std::uint64_t next = places[k] + step;
        // Only the last block may be shorter: a place after its end is read at its end, and not counted.
        const std::uint64_t at = std::max<std::uint64_t>(1, std::min(next, ends[k]));
        const std::uint64_t moves = stands_before(key_of(sorted_[at - 1]), keys[k]) & unsigned{next <= ends[k]};
        places[k] += moves * step;
      }
    }
  }

 private:
  [[nodiscard]] Key key_of(T value) const noexcept { return ordered_key(value) ^ flip_; }
  static unsigned stands_before(Key element, Key value) noexcept {
    return static_cast<unsigned>(Right ? element <= value : element < value);
  }

  const T* sorted_;
  Key flip_;
  std::uint64_t count_;
  search_plan::Tree shape_;
  std::uint64_t blocks_;
  std::vector<Key> tree_;
};

// The places of all patterns of T, for many values of few bits.
template <class T, bool Right>
std::vector<std::uint64_t> places_of_patterns(const Searcher<T, Right>& searcher) {
  constexpr std::size_t patterns = std::size_t{1} << (8 * sizeof(T));
  std::vector<std::uint64_t> places(patterns);
  for (std::size_t p = 0; p < patterns; p += together) {
    T values[together];
    for (std::size_t k = 0; k < together; ++k) {
      values[k] = std::bit_cast<T>(static_cast<UnsignedOf<sizeof(T)>>(p + k));
    }
    searcher.template seek<together>(values, &places[p]);
  }
  return places;
}

template <class T, bool Right, class Position>
void search_as(const ArrayView& sorted, const ArrayView& values, Order order, Position* positions) {
  if (sorted.count == 0) {
    std::fill_n(positions, values.count, Position{0});
    return;
  }
  const auto* from = static_cast<const T*>(values.data);
  const Searcher<T, Right> searcher(static_cast<const T*>(sorted.data), sorted.count, values.count, order);
  std::vector<std::uint64_t> known;
  if constexpr (sizeof(T) <= 2) {
    if (values.count >= 4 * (std::uint64_t{1} << (8 * sizeof(T)))) known = places_of_patterns(searcher);
  }
  runtime::parallel_tasks((values.count + task_values - 1) / task_values, [&](std::uint64_t task) {
    std::uint64_t i = task * task_values;
    const std::uint64_t end = std::min(values.count, i + task_values);
    if (!known.empty()) {
      for (; i < end; ++i) positions[i] = static_cast<Position>(known[std::bit_cast<UnsignedOf<sizeof(T)>>(from[i])]);
      return;
    }
    std::uint64_t places[together];
    for (; i + together <= end; i += together) {
      searcher.template seek<together>(from + i, places);
      for (std::size_t k = 0; k < together; ++k) positions[i + k] = static_cast<Position>(places[k]);
    }
    for (; i < end; ++i) {
      searcher.template seek<1>(from + i, places);
      positions[i] = static_cast<Position>(places[0]);
    }
  });
}

template <class T, bool Right>
void search_typed(const ArrayView& sorted, const ArrayView& values, Order order, MutableArrayView positions) {
  if (positions.dtype == Dtype::u32) {
    search_as<T, Right>(sorted, values, order, static_cast<std::uint32_t*>(positions.data));
  } else {
    search_as<T, Right>(sorted, values, order, static_cast<std::uint64_t*>(positions.data));
  }
}

}  // namespace

void search_cpu(const ArrayView& sorted, const ArrayView& values, MutableArrayView positions,
                const SearchOptions& options) {
  dispatch(sorted.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (options.side == Side::right) search_typed<T, true>(sorted, values, options.order, positions);
    else search_typed<T, false>(sorted, values, options.order, positions);
  });
}

}  // namespace masu
