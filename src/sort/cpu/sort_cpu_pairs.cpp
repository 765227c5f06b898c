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
SmallOrder small_order(Keys<T> key_of, const T* keys, std::uint64_t count) {
  SmallOrder result = {};
  std::array<KeyOf<T>, pairs_insertion_most> found;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto key = found[i] = key_of(keys[i]);
    std::uint64_t at = i;
    for (; at != 0 && found[result[at - 1]] > key; --at) result[at] = result[at - 1];
    result[at] = static_cast<std::uint8_t>(i);
  }
  return result;
}

template <class T>
void sort_small(Keys<T> key, T* keys, std::byte* values, std::size_t bytes, std::uint64_t count) {
  const SmallOrder places = small_order(key, keys, count);
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
void equal_runs(Keys<T> key_of, const T* keys, std::uint64_t count, const F& f) {
  for (std::uint64_t i = 0; i + 1 < count; ++i) {
    const auto key = key_of(keys[i]);
    if (key != key_of(keys[i + 1])) continue;
    std::uint64_t end = i + 2;
    while (end < count && key_of(keys[end]) == key) ++end;
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
void sort_by_buckets(Keys<T> key, Pairs<T> home, Pairs<T> spare, std::uint64_t count, Threads threads) {
  const auto no_call = [](std::uint64_t, std::uint64_t) {};
  if (count <= bucket_pairs) {
    const Scratch memory(count * slot_bytes);
    const auto* const slots = memory.as<std::uint64_t>();
    copy_pairs(spare, home, count, Threads::one);
    order_slots(key, spare.keys, count, memory.as<std::uint64_t>(), Threads::one, no_call);
    for (std::uint64_t i = 0; i < count; ++i) move_pair(spare, static_cast<std::uint32_t>(slots[i]), home, i);
    return;
  }
  const Numbers<T> numbers = numbers_of<T>(key, home.keys, count, threads);
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
    if (trend_of(key, place.keys, bucket->size(), threads).rising) continue;
    sort_by_buckets(key, place, spare.at(bucket->first), bucket->size(), threads);
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
      order_slots(key, from.keys, size, memory.as<std::uint64_t>(), Threads::one, no_call);
      for (std::uint64_t i = 0; i < size; ++i) move_pair(from, static_cast<std::uint32_t>(slots[i]), to, i);
    }
  });
}

template <class T>
void sort_typed(Keys<T> key, T* keys, std::byte* values, std::size_t bytes, std::uint64_t count, Threads threads) {
  if (count <= pairs_insertion_most) return sort_small(key, keys, values, bytes, count);
  const Trend trend = trend_of(key, keys, count, threads);
  if (trend.rising) return;
  if (trend.falling) {
    std::reverse(keys, keys + count);
    reverse_records(values, bytes, 0, count);
    equal_runs(key, keys, count, [&](std::uint64_t first, std::uint64_t last) {
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
    PairItems<T> items(key, home, spare, count);
    sort_by_digits(items, threads);
    items.come_to(home, threads);
  } else {
    sort_by_buckets(key, home, spare, count, threads);
  }
}

// Orders of so many keys of 8 and 16 bits, and up to so many, come from counts of all keys: stable, in two passes.
template <class T>
constexpr std::uint64_t order_counted_from = std::uint64_t{1} << (sizeof(T) == 1 ? 7 : 14);
constexpr std::uint64_t order_counted_to = std::uint64_t{1} << 20;

template <class T, class Index>
void order_by_counting(Keys<T> key, const T* keys, std::uint64_t count, Index* indices) {
  // Integers are counted by their bits, floats by their keys, of which zeros and NaNs share one.
  const auto slot_of = [&](T element) -> std::size_t {
    if constexpr (std::is_integral_v<T>) return element;
    else return key(element);
  };
  std::vector<std::uint32_t> next(std::size_t{1} << (8 * sizeof(T)));
  for (std::uint64_t i = 0; i < count; ++i) ++next[slot_of(keys[i])];
  std::uint32_t sum = 0;
  for (std::size_t k = 0; k < next.size(); ++k)
    sum += std::exchange(next[std::is_integral_v<T> ? k ^ key.flip : k], sum);
  for (std::uint64_t i = 0; i < count; ++i) indices[next[slot_of(keys[i])]++] = static_cast<Index>(i);
}

template <class T, class Index>
void order_typed(Keys<T> key, const T* keys, Index* indices, std::uint64_t count, Threads threads) {
  if (count <= pairs_insertion_most) {
    const SmallOrder places = small_order(key, keys, count);
    std::copy_n(places.begin(), count, indices);
    return;
  }
  const Trend trend = trend_of(key, keys, count, threads);
  if (trend.rising || trend.falling) {
    for_stripes(count, stripes_of(count, threads), [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
      for (std::uint64_t i = first; i < last; ++i) indices[i] = static_cast<Index>(trend.rising ? i : count - 1 - i);
    });
    if (trend.rising) return;
    equal_runs(key, keys, count, [&](std::uint64_t first, std::uint64_t last) {
      std::reverse(indices + (count - last), indices + (count - first));
    });
    return;
  }
  if constexpr (sizeof(T) <= 2) {
    if (count >= order_counted_from<T> && count <= order_counted_to) {
      return order_by_counting(key, keys, count, indices);
    }
  }
  constexpr bool in_place = sizeof(Index) == slot_bytes;
  if constexpr (in_place || sizeof(T) > 2) {
    if (count <= most_slots) {
      const Scratch memory(in_place ? 0 : count * slot_bytes);
      std::uint64_t* slots = memory.as<std::uint64_t>();
      if constexpr (in_place) slots = indices;
      return order_slots(key, keys, count, slots, threads, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i < last; ++i) indices[i] = static_cast<std::uint32_t>(slots[i]);
      });
    }
  }
  if constexpr (in_place || sizeof(T) <= 2) {
    const Scratch spare(count * sizeof(Index));
    IndexItems<T, Index> items(key, keys, indices, spare.as<Index>(), count);
    sort_by_digits(items, threads);
    items.come_to(indices, threads);
  }
}

}  // namespace

void sort_pairs(Dtype dtype, void* keys, std::byte* values, std::size_t value_bytes, std::uint64_t count, Order order,
                Threads threads) {
  with_keys(dtype, order,
            [&]<class T>(Keys<T> key) { sort_typed(key, static_cast<T*>(keys), values, value_bytes, count, threads); });
}

void sort_order(Dtype dtype, const void* keys, Indices indices, std::uint64_t count, Order order, Threads threads) {
  with_keys(dtype, order, [&]<class T>(Keys<T> key) {
    indices.typed([&](auto* to) { order_typed(key, static_cast<const T*>(keys), to, count, threads); });
  });
}

}  // namespace masu::cpu
