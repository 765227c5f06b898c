// SPDX-License-Identifier: Apache-2.0
#include "quantile/quantile_places.h"

#include "elements/order.h"
#include "quantile/quantile_plan.h"
#include "runtime/parallel.h"

#include <masu/device.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <type_traits>

namespace masu::cpu {

namespace {

constexpr std::uint64_t piece_elements = std::uint64_t{1} << 17;
constexpr std::uint64_t many_pieces = 8;  // fewer are not worth a thread's tables

constexpr std::size_t block_elements = 1024;
template <class T>
using KeyBlock = std::array<KeyOf<T>, block_elements>;

// Keys, by a loop for the compiler to make vectors of.
template <class T>
void find_keys(const T* x, std::size_t count, KeyBlock<T>& keys) {
  for (std::size_t i = 0; i < count; ++i) keys[i] = ordered_key(x[i]);
}

// Calls f(keys, length) for each block of `count` elements.
template <class T, class F>
void for_blocks(const T* x, std::uint64_t count, const F& f) {
  KeyBlock<T> keys;
  for (std::uint64_t first = 0; first < count; first += block_elements) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, count - first));
    find_keys(x + first, length, keys);
    f(keys, length);
  }
}

std::uint64_t pieces_of(std::uint64_t count) {
  return (count + piece_elements - 1) / piece_elements;
}

// The keys of blocks that have one of the prefixes in front of their `below` lowest bits. Few have: they are looked for
// without branches, of several prefixes by a bit for each number that their first 16 bits can be, of one by its range.
template <class T>
class PrefixFilter {
 public:
  PrefixFilter(std::span<const std::uint64_t> prefixes, unsigned below)
      : prefixes_(prefixes),
        below_(below),
        least_(static_cast<Key>(prefixes.front() << below)),
        span_(static_cast<Key>(((prefixes.back() - prefixes.front() + 1) << below) - 1)) {
    if (prefixes.size() == 1) return;
    const unsigned known = bits - below;
    const unsigned marked = std::min(known, most_marked);
    mark_shift_ = bits - marked;
    marks_.resize((std::size_t{1} << marked) / 64 + 1);
    for (const std::uint64_t prefix : prefixes) {
      const std::uint64_t front = prefix >> (known - marked);
      marks_[front / 64] |= std::uint64_t{1} << front % 64;
    }
  }

  // Calls f(key, number of its prefix) for each of `count` keys that has one.
  template <class F>
  void each(const KeyBlock<T>& keys, std::size_t count, const F& f) const {
    std::array<Key, block_elements + 1> near;
    std::size_t found = 0;
    if (!marks_.empty()) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t front = std::uint64_t{keys[i]} >> mark_shift_;
        near[found] = keys[i];
        found += marks_[front / 64] >> front % 64 & 1;
      }
    } else {
      for (std::size_t first = 0; first < count; first += group) {
        const std::size_t end = std::min(count, first + group);
        if (!any_near(keys.data() + first, end - first)) continue;
        for (std::size_t i = first; i < end; ++i) {
          near[found] = keys[i];
          found += is_near(keys[i]) ? 1 : 0;
        }
      }
    }
    for (std::size_t i = 0; i < found; ++i) {
      const std::uint64_t prefix = std::uint64_t{near[i]} >> below_;
      const auto at = std::lower_bound(prefixes_.begin(), prefixes_.end(), prefix);
      if (at != prefixes_.end() && *at == prefix) f(std::uint64_t{near[i]}, at - prefixes_.begin());
    }
  }

 private:
  using Key = KeyOf<T>;
  static constexpr unsigned bits = 8 * sizeof(T);
  static constexpr unsigned most_marked = 16;
  static constexpr std::size_t group = 32;                               // most of them have no key that is near
  using Front = std::conditional_t<sizeof(T) == 8, std::uint32_t, Key>;  // as vectors of every processor compare
  static Front front_of(Key key) { return static_cast<Front>(key >> (bits - 8 * sizeof(Front))); }

  [[nodiscard]] bool is_near(Key key) const { return static_cast<Key>(key - least_) <= span_; }
  [[nodiscard]] bool any_near(const Key* keys, std::size_t count) const {
    const Front least = front_of(least_);
    const auto span = static_cast<Front>(front_of(static_cast<Key>(least_ + span_)) - least);
    unsigned some = 0;
    for (std::size_t i = 0; i < count; ++i) some |= static_cast<Front>(front_of(keys[i]) - least) <= span ? 1U : 0U;
    return some != 0;
  }

  std::span<const std::uint64_t> prefixes_;
  unsigned below_;
  Key least_;
  Key span_;
  unsigned mark_shift_ = 0;
  std::vector<std::uint64_t> marks_;
};

template <class T>
void count_all(const T* x, std::uint64_t count, unsigned shift, std::uint64_t* table) {
  for_blocks(x, count, [&](const KeyBlock<T>& keys, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) ++table[std::uint64_t{keys[i]} >> shift];
  });
}

}  // namespace

void count_digits(const ArrayView& data, const DigitPass& pass, std::span<std::uint64_t> tables) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    const std::uint64_t pieces = pieces_of(data.count);
    const std::uint64_t threads = cpu_threads();
    const unsigned below = pass.shift + pass.width;
    std::optional<PrefixFilter<T>> filter;
    if (below < 8 * sizeof(T)) filter.emplace(pass.prefixes, below);
    const std::uint64_t mask = (std::uint64_t{1} << pass.width) - 1;
    const auto count = [&](std::uint64_t piece, std::uint64_t* to) {
      const T* const from = x + piece * piece_elements;
      const std::uint64_t length = std::min(piece_elements, data.count - piece * piece_elements);
      if (!filter) return count_all(from, length, pass.shift, to);
      for_blocks(from, length, [&](const KeyBlock<T>& keys, std::size_t n) {
        filter->each(keys, n, [&](std::uint64_t key, std::ptrdiff_t number) {
          ++to[static_cast<std::uint64_t>(number) << pass.width | (key >> pass.shift & mask)];
        });
      });
    };
    if (threads == 1 || pieces < many_pieces) {
      for (std::uint64_t piece = 0; piece < pieces; ++piece) count(piece, tables.data());
      return;
    }
    std::atomic<std::uint64_t> next = 0;
    std::mutex joining;
    runtime::parallel_tasks(std::min(threads, pieces), [&](std::uint64_t) {
      std::vector<std::uint64_t> own(tables.size());
      for (std::uint64_t piece = next++; piece < pieces; piece = next++) {
        runtime::check_interrupted();
        count(piece, own.data());
      }
      const std::lock_guard lock(joining);
      for (std::size_t i = 0; i < own.size(); ++i) tables[i] += own[i];
    });
  });
}

void collect_keys(const ArrayView& data, unsigned shift, std::span<const std::uint64_t> prefixes,
                  std::vector<std::uint64_t>& keys) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    const PrefixFilter<T> filter(prefixes, shift);
    std::mutex joining;
    runtime::parallel_tasks(pieces_of(data.count), [&](std::uint64_t piece) {
      const std::uint64_t first = piece * piece_elements;
      std::vector<std::uint64_t> found;
      for_blocks(x + first, std::min(piece_elements, data.count - first), [&](const KeyBlock<T>& block, std::size_t n) {
        filter.each(block, n, [&](std::uint64_t key, std::ptrdiff_t) { found.push_back(key); });
      });
      const std::lock_guard lock(joining);
      keys.insert(keys.end(), found.begin(), found.end());
    });
  });
}

}  // namespace masu::cpu
