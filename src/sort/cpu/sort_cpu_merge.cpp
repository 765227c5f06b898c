// SPDX-License-Identifier: Apache-2.0
#include "runtime/parallel.h"
#include "sort/cpu/sort_items.h"
#include "sort/sort_job.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace masu::cpu {

namespace {

// How many of the first `taken` merged items come from the left run: the merge path's crossing of that diagonal.
template <class Items>
std::uint64_t from_left(const Items& items, std::uint64_t left, std::uint64_t middle, std::uint64_t right,
                        std::uint64_t taken) {
  std::uint64_t low = taken > right - middle ? taken - (right - middle) : 0;
  std::uint64_t high = std::min(taken, middle - left);
  while (low < high) {
    const std::uint64_t half = low + (high - low) / 2;
    // Equal keys of the left run come first.
    if (items.key(left + half) <= items.key(middle + (taken - half - 1))) low = half + 1;
    else high = half;
  }
  return low;
}

struct Pair {
  std::uint64_t left, middle, right;
};

// Where a merge of two runs stands: the next item of each, and where the next one goes.
struct Progress {
  std::uint64_t a, b, to;
};

// Without a branch, as no processor predicts which run is next.
template <class Items>
void merge_one(const Items& items, Progress& at) {
  const std::uint64_t second = items.key(at.b) < items.key(at.a) ? 1 : 0;
  items.move(at.a ^ ((at.a ^ at.b) & (0 - second)), at.to++);
  at.b += second;
  at.a += second ^ 1;
}

template <class Items>
void merge_until(const Items& items, const Pair& pair, Progress at, std::uint64_t last) {
  while (at.to < last && at.a < pair.middle && at.b < pair.right) merge_one(items, at);
  while (at.to < last && at.a < pair.middle) items.move(at.a++, at.to++);
  while (at.to < last) items.move(at.b++, at.to++);
}

// Where the merge of two runs stands that has written all in front of `to`.
template <class Items>
Progress progress_at(const Items& items, const Pair& pair, std::uint64_t to) {
  const std::uint64_t skip = from_left(items, pair.left, pair.middle, pair.right, to - pair.left);
  return {pair.left + skip, pair.middle + (to - pair.left - skip), to};
}
std::uint64_t half_of(std::uint64_t first, std::uint64_t last) {
  constexpr std::uint64_t least = 256;  // below it the search for the second half's begin costs more
  return last - first < least ? first : first + (last - first) / 2;
}

// Writes the merged items [first, last) of the runs [left, middle) and [middle, right): both halves in turns, since
// each step waits for the one before it.
template <class Items>
void merge_part(const Items& items, const Pair& pair, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t half = half_of(first, last);
  Progress front = progress_at(items, pair, first);
  Progress back = half == first ? front : progress_at(items, pair, half);
  while (true) {
    const std::uint64_t ahead = std::min({half - front.to, pair.middle - front.a, pair.right - front.b});
    const std::uint64_t steps = std::min({ahead, pair.middle - back.a, pair.right - back.b});
    if (steps == 0) break;
    for (std::uint64_t i = 0; i < steps; ++i) {
      merge_one(items, front);
      merge_one(items, back);
    }
  }
  merge_until(items, pair, front, half);
  merge_until(items, pair, back, last);
}

// The same of keys whose order their codes tell, a vector at a time.
template <class T>
void merge_coded_part(const KeyItems<T>& items, const Pair& pair, std::uint64_t first, std::uint64_t last) {
  const Progress begin = progress_at(items, pair, first);
  const Progress half = progress_at(items, pair, half_of(first, last));
  const Progress end = progress_at(items, pair, last);
  code_loops<CodeOf<T>>().merge(items.codes(begin.a, half.a, begin.b, half.b, first),
                                items.codes(half.a, end.a, half.b, end.b, half.to), items.coding());
}

// Writes the merged items [first, last) of a pair.
template <class Items>
using MergePart = void(const Items& items, const Pair& pair, std::uint64_t first, std::uint64_t last);

// Merges the runs that begin at `begins`, whose last entry is the end of the last run, pair by pair.
template <class Items>
void merge_items(Items& items, std::span<const std::uint64_t> begins, Threads threads, MergePart<Items>* merge) {
  const std::uint64_t stripes = stripes_of(items.count(), threads, 4);
  std::vector<std::uint64_t> runs(begins.begin(), begins.end());
  do {
    for_stripes(items.count(), stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
      for (std::uint64_t at = first; at < last;) {
        const auto after = static_cast<std::size_t>(std::ranges::upper_bound(runs, at) - runs.begin());
        const std::size_t left = (after - 1) / 2 * 2;
        const Pair pair{runs[left], runs[left + 1], runs[std::min(left + 2, runs.size() - 1)]};
        const std::uint64_t end = std::min(last, pair.right);
        merge(items, pair, at, end);
        at = end;
      }
    });
    items.turn();
    std::vector<std::uint64_t> merged;
    for (std::size_t r = 0; r < runs.size(); r += 2) merged.push_back(runs[r]);
    if (runs.size() % 2 == 0) merged.push_back(runs.back());
    runs = std::move(merged);
  } while (runs.size() > 2);
}

// Whether codes tell the order of sorted runs of floats: they have no NaNs, and zeros of one sign at most.
template <class T>
bool codes_tell(Keys<T> key, const T* keys, std::span<const std::uint64_t> begins) {
  Specials seen;
  for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
    const T* const first = keys + begins[r];
    const T* const last = keys + begins[r + 1];
    if (first == last) continue;
    const auto zero = key(T{});
    const T* const zeros = std::partition_point(first, last, [&](T x) { return key(x) < zero; });
    const T* const zeros_end = std::partition_point(zeros, last, [&](T x) { return key(x) == zero; });
    const Specials here = specials_of(zeros, static_cast<std::size_t>(zeros_end - zeros));
    seen.nan |= is_nan_bits<T>(std::bit_cast<KeyOf<T>>(key.flip == 0 ? *(last - 1) : *first));
    seen.negative_zero |= here.negative_zero;
    seen.positive_zero |= here.positive_zero;
  }
  return !seen.are_seen();
}

}  // namespace

void merge_runs(Dtype dtype, const MergeArrays& arrays, std::span<const Run> runs, Order order, Threads threads) {
  // Without gaps between the runs.
  std::vector<std::uint64_t> begins{0};
  for (const Run& run : runs) {
    const auto close = [&](void* data, std::size_t bytes) {
      std::byte* const first = static_cast<std::byte*>(data);
      std::memmove(first + begins.back() * bytes, first + run.first * bytes, run.size() * bytes);
    };
    if (run.first != begins.back()) {
      close(arrays.keys, size_of(dtype));
      if (arrays.value_bytes != 0) close(arrays.values, arrays.value_bytes);
    }
    begins.push_back(begins.back() + run.size());
  }
  const std::uint64_t count = begins.back();
  with_keys(dtype, order, [&]<class T>(Keys<T> key) {
    T* const keys = static_cast<T*>(arrays.keys);
    T* const result = static_cast<T*>(arrays.merged_keys);
    if (arrays.value_bytes == 0) {
      KeyItems<T> items(key, keys, result, count);
      MergePart<KeyItems<T>>* part = nullptr;
      if constexpr (sizeof(T) >= 4) part = merge_coded_part<T>;
      if constexpr (sizeof(T) < 4 || is_float_type<T>) {
        if (part == nullptr || !codes_tell(key, keys, begins)) part = merge_part<KeyItems<T>>;
      }
      merge_items(items, begins, threads, part);
      items.come_to(result, threads);
    } else {
      const Pairs<T> to{result, arrays.merged_values, arrays.value_bytes};
      PairItems<T> items(key, {keys, arrays.values, arrays.value_bytes}, to, count);
      merge_items(items, begins, threads, merge_part<PairItems<T>>);
      items.come_to(to, threads);
    }
  });
}

}  // namespace masu::cpu
