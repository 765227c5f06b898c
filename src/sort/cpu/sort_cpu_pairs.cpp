// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_items.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

namespace masu::cpu {

namespace {

constexpr std::uint64_t pairs_insertion_most = 24;
constexpr std::size_t most_value_bytes = 64;
constexpr std::uint64_t bucket_pairs = std::uint64_t{1} << 15;  // sorted without buckets
constexpr std::size_t slot_bytes = sizeof(std::uint64_t);

using SmallOrder = std::array<std::uint8_t, pairs_insertion_most>;

template <class T>
SmallOrder small_order(const T* keys, std::uint64_t count, Order order) {
  SmallOrder result = {};
  for (std::uint64_t i = 1; i < count; ++i) {
    const auto key = sort_key(keys[i], order);
    std::uint64_t at = i;
    for (; at != 0 && sort_key(keys[result[at - 1]], order) > key; --at) result[at] = result[at - 1];
    result[at] = static_cast<std::uint8_t>(i);
  }
  return result;
}

template <class T>
void sort_small(T* keys, std::byte* values, std::size_t bytes, std::uint64_t count, Order order) {
  const SmallOrder places = small_order(keys, count, order);
  std::array<T, pairs_insertion_most> old_keys;
  std::array<std::byte, pairs_insertion_most * most_value_bytes> old_values;
  std::memcpy(old_keys.data(), keys, count * sizeof(T));
  std::memcpy(old_values.data(), values, count * bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    keys[i] = old_keys[places[i]];
    std::memcpy(values + i * bytes, old_values.data() + places[i] * bytes, bytes);
  }
}

// Calls f(first, last) for every run of equal keys.
template <class T, class F>
void equal_runs(const T* keys, std::uint64_t count, Order order, const F& f) {
  for (std::uint64_t i = 0; i + 1 < count; ++i) {
    const auto key = sort_key(keys[i], order);
    if (key != sort_key(keys[i + 1], order)) continue;
    std::uint64_t end = i + 2;
    while (end < count && sort_key(keys[end], order) == key) ++end;
    f(i, end);
    i = end - 1;
  }
}

void reverse_records(std::byte* records, std::size_t bytes, std::uint64_t first, std::uint64_t last) {
  for (; first + 1 < last; ++first, --last) {
    std::swap_ranges(records + first * bytes, records + (first + 1) * bytes, records + (last - 1) * bytes);
  }
}

// Keys and values are brought into buckets in `spare`; from there each bucket, which fits into a cache, goes home in
// order. A bucket that does not is brought home as it is, and sorted like the whole, with its part of `spare`.
template <class T>
void sort_by_buckets(const Pairs<T>& home, const Pairs<T>& spare, std::uint64_t count, Order order, Threads threads) {
  const auto no_call = [](std::uint64_t, std::uint64_t) {};
  if (count <= bucket_pairs) {
    const Scratch memory(count * slot_bytes);
    const auto* const slots = memory.as<std::uint64_t>();
    copy_pairs(spare, home, count, Threads::one);
    order_slots(dtype_of<T>, spare.keys, count, order, memory.as<std::uint64_t>(), Threads::one, no_call);
    for (std::uint64_t i = 0; i < count; ++i) move_pair(spare, static_cast<std::uint32_t>(slots[i]), home, i);
    return;
  }
  const Numbers<T> numbers = numbers_of<T>(home.keys, count, order, threads);
  if (numbers.bits == 0) return;
  BucketPlan plan(numbers, count, stripes_of(count, threads));
  plan.scatter(numbers,
               [home, spare](std::uint64_t i, auto, std::uint64_t place) { move_pair(home, i, spare, place); });
  std::vector<Bucket> buckets = plan.buckets();
  std::ranges::sort(buckets, std::ranges::greater(), &Bucket::size);
  const std::uint64_t most = std::max(count / 32, bucket_pairs);
  const auto is_large = [&](const Bucket& bucket) { return bucket.size() > most; };
  const auto small = std::find_if_not(buckets.begin(), buckets.end(), is_large);
  for (auto bucket = buckets.begin(); bucket != small; ++bucket) {
    const Pairs<T> place = home.at(bucket->first);
    copy_pairs(place, spare.at(bucket->first), bucket->size(), threads);
    if (trend_of(dtype_of<T>, place.keys, bucket->size(), order, threads).rising) continue;
    sort_by_buckets(place, spare.at(bucket->first), bucket->size(), order, threads);
  }
  if (small == buckets.end()) return;
  // One buffer of slots for each thread.
  std::atomic<std::size_t> next = static_cast<std::size_t>(small - buckets.begin());
  const std::uint64_t longest = small->size();
  for_stripes(buckets.size() - next, stripes_of(count, threads), [&](std::uint64_t, std::uint64_t, std::uint64_t) {
    const Scratch memory(longest * slot_bytes);
    const auto* const slots = memory.as<std::uint64_t>();
    for (std::size_t bucket = next++; bucket < buckets.size(); bucket = next++) {
      const std::uint64_t size = buckets[bucket].size();
      const Pairs<T> from = spare.at(buckets[bucket].first);
      const Pairs<T> to = home.at(buckets[bucket].first);
      order_slots(dtype_of<T>, from.keys, size, order, memory.as<std::uint64_t>(), Threads::one, no_call);
      for (std::uint64_t i = 0; i < size; ++i) move_pair(from, static_cast<std::uint32_t>(slots[i]), to, i);
    }
  });
}

template <class T>
void sort_typed(T* keys, std::byte* values, std::size_t bytes, std::uint64_t count, Order order, Threads threads) {
  if (count <= pairs_insertion_most) return sort_small(keys, values, bytes, count, order);
  const Trend trend = trend_of(dtype_of<T>, keys, count, order, threads);
  if (trend.rising) return;
  if (trend.falling) {
    std::reverse(keys, keys + count);
    reverse_records(values, bytes, 0, count);
    equal_runs(keys, count, order, [&](std::uint64_t first, std::uint64_t last) {
      std::reverse(keys + first, keys + last);
      reverse_records(values, bytes, first, last);
    });
    return;
  }
  const Scratch spare_keys(count * sizeof(T));
  const Scratch spare_values(count * bytes);
  const Pairs<T> home{keys, values, bytes};
  const Pairs<T> spare{spare_keys.as<T>(), spare_values.as<std::byte>(), bytes};
  if constexpr (sizeof(T) <= 2) {  // one pass or two
    PairItems<T> items(home, spare, count, order);
    sort_by_digits(items, threads);
    items.come_to(home, threads);
  } else {
    sort_by_buckets(home, spare, count, order, threads);
  }
}

template <class T, class Index>
void order_typed(const T* keys, Index* indices, std::uint64_t count, Order order, Threads threads) {
  if (count <= pairs_insertion_most) {
    const SmallOrder places = small_order(keys, count, order);
    std::copy_n(places.begin(), count, indices);
    return;
  }
  const Trend trend = trend_of(dtype_of<T>, keys, count, order, threads);
  if (trend.rising || trend.falling) {
    for_stripes(count, stripes_of(count, threads), [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
      for (std::uint64_t i = first; i < last; ++i) indices[i] = static_cast<Index>(trend.rising ? i : count - 1 - i);
    });
    if (trend.rising) return;
    equal_runs(keys, count, order, [&](std::uint64_t first, std::uint64_t last) {
      std::reverse(indices + (count - last), indices + (count - first));
    });
    return;
  }
  constexpr bool in_place = sizeof(Index) == slot_bytes;
  if constexpr (in_place || sizeof(T) > 2) {
    if (count <= most_slots) {
      const Scratch memory(in_place ? 0 : count * slot_bytes);
      std::uint64_t* slots = memory.as<std::uint64_t>();
      if constexpr (in_place) slots = indices;
      return order_slots(dtype_of<T>, keys, count, order, slots, threads, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i < last; ++i) indices[i] = static_cast<std::uint32_t>(slots[i]);
      });
    }
  }
  if constexpr (in_place || sizeof(T) <= 2) {
    const Scratch spare(count * sizeof(Index));
    IndexItems<T, Index> items(keys, indices, spare.as<Index>(), count, order);
    sort_by_digits(items, threads);
    items.come_to(indices, threads);
  }
}

// Orders of so many keys of 8 and 16 bits, and up to so many, come from counts of all keys: stable, in two passes.
template <class T>
constexpr std::uint64_t order_counted_from = std::uint64_t{1} << (sizeof(T) == 1 ? 7 : 14);
constexpr std::uint64_t order_counted_to = std::uint64_t{1} << 20;

template <class T, class Index>
void order_by_counting(const T* keys, std::uint64_t count, Index* indices, Order order) {
  std::vector<std::uint32_t> next(std::size_t{1} << (8 * sizeof(T)));
  for (std::uint64_t i = 0; i < count; ++i) ++next[sort_key(keys[i], order)];
  std::uint32_t sum = 0;
  for (std::uint32_t& one : next) sum += std::exchange(one, sum);
  for (std::uint64_t i = 0; i < count; ++i) indices[next[sort_key(keys[i], order)]++] = static_cast<Index>(i);
}

template <class T, class Index>
void order_any(const T* keys, Index* indices, std::uint64_t count, Order order, Threads threads) {
  if constexpr (sizeof(T) <= 2) {
    if (count >= order_counted_from<T> && count <= order_counted_to) {
      return order_by_counting(keys, count, indices, order);
    }
  }
  order_typed(keys, indices, count, order, threads);
}

}  // namespace

void sort_pairs(Dtype dtype, void* keys, std::byte* values, std::size_t value_bytes, std::uint64_t count, Order order,
                Threads threads) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sort_typed(static_cast<T*>(keys), values, value_bytes, count, order, threads);
  });
}

void sort_order(Dtype dtype, const void* keys, void* indices, std::size_t index_bytes, std::uint64_t count, Order order,
                Threads threads) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const typed = static_cast<const T*>(keys);
    if (index_bytes == 4) order_any(typed, static_cast<std::uint32_t*>(indices), count, order, threads);
    else order_any(typed, static_cast<std::uint64_t*>(indices), count, order, threads);
  });
}

}  // namespace masu::cpu
