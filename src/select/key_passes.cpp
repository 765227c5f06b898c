// SPDX-License-Identifier: Apache-2.0
#include "select/key_passes.h"

#include "elements/order.h"
#include "runtime/parallel.h"
#include "select/place_finder.h"
#include "select/select_places.h"
#include "sort/cpu/sort_simd.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace masu {

namespace {

constexpr std::uint64_t piece_elements = std::uint64_t{1} << 17;
constexpr std::uint64_t many_pieces = 8;  // fewer are not worth a thread's tables
constexpr std::size_t block_elements = 1024;

std::uint64_t pieces_of(std::uint64_t count) {
  return (count + piece_elements - 1) / piece_elements;
}

// Calls f(elements, length) for each block of `count` elements.
template <class T, class F>
void for_blocks(const T* x, std::uint64_t count, const F& f) {
  for (std::uint64_t first = 0; first < count; first += block_elements) {
    f(x + first, static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, count - first)));
  }
}

template <class T>
using KeyBlock = std::array<KeyOf<T>, block_elements>;

template <class T>
void find_keys(const T* x, std::size_t count, KeyBlock<T>& keys) {
  cpu::key_numbers({dtype_of<T>, Order::ascending}, x, count, 0, keys.data());
}

// A block of elements, of which those in a range of keys are found by vectors.
template <class T>
class RangeFinder {
 public:
  // Elements of the block with keys below `low`. Calls f(key) for each from `low` to `high`, in order.
  template <class F>
  std::uint64_t each(const T* x, std::size_t count, std::uint64_t low, std::uint64_t high, const F& f) {
    const auto find = [&](const auto* elements, auto first, auto last, auto key_of) {
      auto* const found = reinterpret_cast<decltype(first)*>(found_.data());
      const cpu::Narrowed part = cpu::select_loops<decltype(first)>().narrow(elements, count, first, last, found);
      for (std::uint64_t i = 0; i < part.inside; ++i) {
        // All NaNs are compared as equal, also those that stand for keys which no element has.
        if (const std::uint64_t key = key_of(found[i]); key >= low && key <= high) f(key);
      }
      return part.below;
    };
    if constexpr (is_stored<T>) {
      KeyBlock<T> keys;
      find_keys(x, count, keys);
      const auto itself = [](KeyOf<T> key) { return key; };
      return find(std::as_const(keys).data(), static_cast<KeyOf<T>>(low), static_cast<KeyOf<T>>(high), itself);
    } else {
      return find(x, element(low), element(high), ordered_key<T>);
    }
  }

 private:
  // The element of a key; -infinity for the lower keys, which no element has.
  static T element(std::uint64_t key) { return value_of_key<T>(std::max<std::uint64_t>(key, least_key<T>())); }

  alignas(T) std::array<std::byte, (block_elements + cpu::spare_elements) * sizeof(T)> found_;
};

// The elements whose keys have one of the prefixes in front of their `below` lowest bits. One prefix is a range of
// keys; of several ones each number that their first 16 bits can be has a bit.
template <class T>
class PrefixFilter {
 public:
  PrefixFilter(std::span<const std::uint64_t> prefixes, unsigned below) : prefixes_(prefixes), below_(below) {
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

  // Calls f(key) for each of a block's elements that has one, in order.
  template <class F>
  void each(const T* x, std::size_t count, const F& f) const {
    if (marks_.empty()) return each_in_range(x, count, 0, f);
    each_marked(x, count, [&](std::uint64_t key) {
      if (mark_shift_ == below_ || std::ranges::binary_search(prefixes_, key >> below_)) f(key);
    });
  }
  // Calls f(key, number of its prefix) for the same, in any order.
  template <class F>
  void each_with_number(const T* x, std::size_t count, const F& f) const {
    if (prefixes_.size() <= few_ranges) {
      for (std::size_t i = 0; i < prefixes_.size(); ++i) {
        each_in_range(x, count, i, [&](std::uint64_t key) { f(key, i); });
      }
      return;
    }
    each_marked(x, count, [&](std::uint64_t key) {
      const std::uint64_t prefix = key >> below_;
      std::size_t number = 0;
      if (prefixes_.size() <= few_prefixes) {  // without a branch
        for (const std::uint64_t other : prefixes_.subspan(1)) number += other <= prefix ? 1 : 0;
      } else {
        const auto at = std::ranges::lower_bound(prefixes_, prefix);
        if (at == prefixes_.end()) return;
        number = static_cast<std::size_t>(at - prefixes_.begin());
      }
      if (prefixes_[number] == prefix) f(key, number);
    });
  }

 private:
  static constexpr unsigned bits = 8 * sizeof(T);
  static constexpr unsigned most_marked = 16;
  static constexpr std::size_t few_ranges = 3;  // that are found one by one sooner than keys are looked up
  static constexpr std::size_t few_prefixes = 8;

  template <class F>
  void each_in_range(const T* x, std::size_t count, std::size_t number, const F& f) const {
    const std::uint64_t least = prefixes_[number] << below_;
    RangeFinder<T>().each(x, count, least, least + ((std::uint64_t{1} << below_) - 1), f);
  }
  template <class F>
  void each_marked(const T* x, std::size_t count, const F& f) const {
    KeyBlock<T> keys;
    find_keys(x, count, keys);
    std::array<KeyOf<T>, block_elements + 1> near;
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {  // without a branch, as few have one
      const std::uint64_t front = std::uint64_t{keys[i]} >> mark_shift_;
      near[found] = keys[i];
      found += marks_[front / 64] >> front % 64 & 1;
    }
    for (std::size_t i = 0; i < found; ++i) f(std::uint64_t{near[i]});
  }

  std::span<const std::uint64_t> prefixes_;
  unsigned below_;
  unsigned mark_shift_ = 0;
  std::vector<std::uint64_t> marks_;
};

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
    const bool every_key = pass.first == 0 && pass.last >= greatest_key(data.dtype);
    const auto count = [&](std::uint64_t piece, std::uint64_t* to) {
      const T* const from = x + piece * piece_elements;
      const std::uint64_t length = std::min(piece_elements, data.count - piece * piece_elements);
      for_blocks(from, length, [&](const T* block, std::size_t n) {
        if (filter) {
          filter->each_with_number(block, n, [&](std::uint64_t key, std::size_t number) {
            if (key >= pass.first && key <= pass.last) ++to[number << pass.width | (key >> pass.shift & mask)];
          });
          return;
        }
        KeyBlock<T> keys;
        find_keys(block, n, keys);
        if (every_key) {
          for (std::size_t i = 0; i < n; ++i) ++to[std::uint64_t{keys[i]} >> pass.shift];
          return;
        }
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint64_t key{keys[i]};
          if (key >= pass.first && key <= pass.last) ++to[key >> pass.shift];
        }
      });
    };
    if (threads == 1 || pieces < many_pieces) {
      for (std::uint64_t piece = 0; piece < pieces; ++piece) {
        runtime::check_interrupted();
        count(piece, tables.data());
      }
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

std::uint64_t find_digit(const DigitPass& pass, std::span<const std::uint64_t> tables, KnownKey& key) {
  const std::size_t digits = std::size_t{1} << pass.width;
  const auto at = static_cast<std::size_t>(std::ranges::lower_bound(pass.prefixes, key.prefix) - pass.prefixes.begin());
  const std::uint64_t* const table = tables.subspan(at * digits, digits).data();
  std::uint64_t rest = key.rest;  // in a register: `key` could be a part of the tables
  std::size_t digit = 0;
  while (digit + 1 < digits && rest >= table[digit]) rest -= table[digit++];
  key = {key.prefix << pass.width | digit, rest};
  return table[digit];
}

void collect_keys(const ArrayView& data, unsigned shift, std::span<const std::uint64_t> prefixes,
                  std::vector<std::uint64_t>& keys) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    const PrefixFilter<T> filter(prefixes, shift);
    std::vector<std::vector<std::uint64_t>> found(pieces_of(data.count));
    runtime::parallel_tasks(found.size(), [&](std::uint64_t piece) {
      const std::uint64_t first = piece * piece_elements;
      for_blocks(x + first, std::min(piece_elements, data.count - first), [&](const T* block, std::size_t n) {
        filter.each(block, n, [&](std::uint64_t key) { found[piece].push_back(key); });
      });
    });
    for (const std::vector<std::uint64_t>& part : found) keys.insert(keys.end(), part.begin(), part.end());
  });
}

void bracket_keys(const ArrayView& data, std::span<KeyInterval> intervals) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    RangeFinder<T> finder;
    std::uint64_t seen = 0;
    for_blocks(static_cast<const T*>(data.data), data.count, [&](const T* block, std::size_t n) {
      if ((seen += n) % piece_elements == 0) runtime::check_interrupted();
      for (KeyInterval& interval : intervals) {
        interval.below += finder.each(block, n, interval.low, interval.high, [&](std::uint64_t key) {
          if (key == interval.low) ++interval.at_low;
          else if (key == interval.high) ++interval.at_high;
          else interval.between.push_back(key);
        });
      }
    });
  });
}

void keys_of_elements(const ArrayView& data, std::uint64_t* keys) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const x = static_cast<const T*>(data.data);
    for (std::uint64_t i = 0; i < data.count; ++i) keys[i] = ordered_key(x[i]);
  });
}

void elements_of_keys(const std::uint64_t* keys, MutableArrayView elements) {
  dispatch(elements.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const x = static_cast<T*>(elements.data);
    for (std::uint64_t i = 0; i < elements.count; ++i) {
      x[i] = std::bit_cast<T>(static_cast<KeyOf<T>>(bits_of_key(elements.dtype, keys[i])));
    }
  });
}

}  // namespace masu
