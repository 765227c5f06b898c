// SPDX-License-Identifier: Apache-2.0
// A tree of the upper levels in a core's cache, then a binary search in a block; several values at a time, so that the
// processor waits for several elements at once, and no branch that depends on the data.
#include "search/search_plan.h"

#include "elements/order.h"
#include "runtime/parallel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace masu {

namespace {

constexpr std::uint64_t task_values = std::uint64_t{1} << 13;
constexpr std::uint64_t piece_values = 1024;  // whose places a thread writes at a time
constexpr std::size_t together = 16;          // values that a thread seeks at a time

// T: an unsigned integer, which stands for the signed one of its width too, or a float.
template <class T>
class Searcher {
 public:
  using Key = UnsignedOf<sizeof(T)>;

  // Keys are compared after an exclusive or with `flip`.
  Searcher(const T* sorted, std::uint64_t count, std::uint64_t values, Key flip, Side side)
      : sorted_(sorted),
        flip_(flip),
        right_(side == Side::right ? Key{1} : Key{0}),
        count_(count),
        shape_(search_plan::tree_for(
            count, values, static_cast<unsigned>(std::bit_width(search_plan::cpu_tree_bytes / sizeof(T))) - 1)),
        tree_(std::size_t{1} << shape_.levels) {
    const std::uint64_t blocks = count >> shape_.shift;
    for (std::uint64_t node = 1; node < tree_.size(); ++node) {
      const auto level = static_cast<unsigned>(std::bit_width(node)) - 1;
      const std::uint64_t nth = 2 * (node - (std::uint64_t{1} << level)) + 1;
      const std::uint64_t block = (nth << (shape_.levels - 1 - level)) - 1;
      tree_[node] = block < blocks ? key_of(sorted[((block + 1) << shape_.shift) - 1]) : greatest;
    }
  }

  void seek(const T* values, std::uint64_t count, std::uint64_t* places) const {
    const std::uint64_t most = count - count % together;
    for (std::uint64_t i = 0; i < most; i += together) seek_together<together>(values + i, places + i);
    for (std::uint64_t i = most; i < count; ++i) seek_together<1>(values + i, places + i);
  }

 private:
  static constexpr Key greatest = static_cast<Key>(~Key{0});

  // N values; N is known when this is compiled. Elements below the next key are those up to a value, but for the
  // greatest, which has none after it: all are up to it.
  template <std::size_t N>
  void seek_together(const T* values, std::uint64_t* places) const {
    Key keys[N];
    std::uint64_t nodes[N];
    for (std::size_t k = 0; k < N; ++k) {
      const Key key = key_of(values[k]);
      keys[k] = key == greatest ? key : static_cast<Key>(key + right_);
      nodes[k] = 1;
    }
    for (unsigned level = 0; level < shape_.levels; ++level) {
      for (std::size_t k = 0; k < N; ++k) nodes[k] = 2 * nodes[k] + unsigned{tree_[nodes[k]] < keys[k]};
    }
    std::uint64_t ends[N];
    for (std::size_t k = 0; k < N; ++k) {
      places[k] = (nodes[k] - tree_.size()) << shape_.shift;
      ends[k] = std::min(count_, places[k] + (std::uint64_t{1} << shape_.shift) - 1);
    }
    for (std::uint64_t step = std::uint64_t{1} << shape_.shift >> 1; step != 0; step >>= 1) {
      for (std::size_t k = 0; k < N; ++k) {
        const std::uint64_t next = places[k] + step;
        // Only the last block may be shorter: a place after its end is read at its end, and not counted.
        const std::uint64_t at = std::max<std::uint64_t>(1, std::min(next, ends[k]));
        const std::uint64_t moves = unsigned{key_of(sorted_[at - 1]) < keys[k]} & unsigned{next <= ends[k]};
        places[k] += moves * step;
      }
    }
    if (right_ == 0) return;
    for (std::size_t k = 0; k < N; ++k) {
      if (keys[k] == greatest && key_of(values[k]) == greatest) places[k] = count_;
    }
  }

  [[nodiscard]] Key key_of(T value) const noexcept { return ordered_key(value) ^ flip_; }

  const T* sorted_;
  Key flip_;
  Key right_;
  std::uint64_t count_;
  search_plan::Tree shape_;
  std::vector<Key> tree_;
};

// The places of all patterns of T, for many values of few bits.
template <class T>
std::vector<std::uint64_t> places_of_patterns(const Searcher<T>& searcher) {
  std::vector<T> patterns(std::size_t{1} << (8 * sizeof(T)));
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    patterns[p] = std::bit_cast<T>(static_cast<UnsignedOf<sizeof(T)>>(p));
  }
  std::vector<std::uint64_t> places(patterns.size());
  searcher.seek(patterns.data(), patterns.size(), places.data());
  return places;
}

template <class T>
void search_as(const ArrayView& sorted, const ArrayView& values, const MutableArrayView& positions, KeyOf<T> flip,
               Side side) {
  const auto* from = static_cast<const T*>(values.data);
  const Searcher<T> searcher(static_cast<const T*>(sorted.data), sorted.count, values.count, flip, side);
  std::vector<std::uint64_t> known;
  if constexpr (sizeof(T) <= 2) {
    if (values.count >= 4 * (std::uint64_t{1} << (8 * sizeof(T)))) known = places_of_patterns(searcher);
  }
  const bool narrow = positions.dtype == Dtype::u32;
  runtime::parallel_tasks((values.count + task_values - 1) / task_values, [&](std::uint64_t task) {
    const std::uint64_t end = std::min(values.count, (task + 1) * task_values);
    std::array<std::uint64_t, piece_values> room;
    for (std::uint64_t first = task * task_values; first < end; first += piece_values) {
      const std::uint64_t count = std::min(piece_values, end - first);
      std::uint64_t* const places = narrow ? room.data() : static_cast<std::uint64_t*>(positions.data) + first;
      if (known.empty()) {
        searcher.seek(from + first, count, places);
      } else {
        for (std::uint64_t i = 0; i < count; ++i) places[i] = known[std::bit_cast<KeyOf<T>>(from[first + i])];
      }
      if (!narrow) continue;
      auto* const to = static_cast<std::uint32_t*>(positions.data) + first;
      for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<std::uint32_t>(places[i]);
    }
  });
}

}  // namespace

void search_cpu(const ArrayView& sorted, const ArrayView& values, MutableArrayView positions,
                const SearchOptions& options) {
  if (sorted.count == 0) {
    std::memset(positions.data, 0, values.count * size_of(positions.dtype));
    return;
  }
  dispatch(sorted.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto flip = options.order == Order::descending ? static_cast<KeyOf<T>>(~KeyOf<T>{0}) : KeyOf<T>{0};
    if constexpr (is_float_type<T>) {
      search_as<T>(sorted, values, positions, flip, options.side);
    } else {
      if constexpr (std::is_signed_v<T>) flip ^= key_sign<T>;
      search_as<KeyOf<T>>(sorted, values, positions, flip, options.side);
    }
  });
}

}  // namespace masu
