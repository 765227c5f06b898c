// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_cpu.h"

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

// Keys and values at one place.
template <class T>
struct Pairs {
  T* keys;
  std::byte* values;
  std::size_t bytes;  // of a value
  [[nodiscard]] Pairs at(std::uint64_t first) const noexcept { return {keys + first, values + first * bytes, bytes}; }
};

template <class T>
void move_pair(const Pairs<T>& from, std::uint64_t i, const Pairs<T>& to, std::uint64_t j) {
  to.keys[j] = from.keys[i];
  // Sizes that are known when compiled are moved without a call.
  switch (from.bytes) {
    case 4: std::memcpy(to.values + j * 4, from.values + i * 4, 4); break;
    case 8: std::memcpy(to.values + j * 8, from.values + i * 8, 8); break;
    case 16: std::memcpy(to.values + j * 16, from.values + i * 16, 16); break;
    default: std::memcpy(to.values + j * from.bytes, from.values + i * from.bytes, from.bytes);
  }
}

template <class T>
void copy_pairs(const Pairs<T>& to, const Pairs<T>& from, std::uint64_t count, Threads threads) {
  copy_bytes(to.keys, from.keys, count * sizeof(T), threads);
  copy_bytes(to.values, from.values, count * from.bytes, threads);
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
  // Keys of one and two bytes need one pass and two.
  if constexpr (sizeof(T) <= 2) {
    radix_sort({dtype_of<T>, keys, count, values, bytes}, order, threads);
  } else {
    const Scratch spare_keys(count * sizeof(T));
    const Scratch spare_values(count * bytes);
    sort_by_buckets<T>({keys, values, bytes}, {spare_keys.as<T>(), spare_values.as<std::byte>(), bytes}, count, order,
                       threads);
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
  if constexpr (sizeof(Index) == slot_bytes) {
    if (count <= most_slots) {
      return order_slots(dtype_of<T>, keys, count, order, indices, threads,
                         [&](std::uint64_t first, std::uint64_t last) {
                           for (std::uint64_t i = first; i < last; ++i)
                             indices[i] = static_cast<std::uint32_t>(indices[i]);
                         });
    }
  } else if constexpr (sizeof(T) > 2) {
    const Scratch memory(count * slot_bytes);
    const std::uint64_t* const slots = memory.as<std::uint64_t>();
    return order_slots(dtype_of<T>, keys, count, order, memory.as<std::uint64_t>(), threads,
                       [&](std::uint64_t first, std::uint64_t last) {
                         for (std::uint64_t i = first; i < last; ++i) indices[i] = static_cast<std::uint32_t>(slots[i]);
                       });
  }
  radix_sort({dtype_of<T>, const_cast<T*>(keys), count, nullptr, 0, indices, sizeof(Index)}, order, threads);
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

// Neighbouring digits share a bucket until it has its part of the keys. So one with much more than that is one digit.
void BucketPlan::make_buckets() {
  places_.resize(counts_.size());
  for (auto& place : places_) place.fill(0);
  buckets_ = {{0, 0}};
  for (std::size_t digit = 0; digit < bucket_digits; ++digit) {
    std::uint64_t here = 0;
    for (const auto& mine : counts_) here += mine[digit];
    const std::uint64_t size = buckets_.back().size();
    if (buckets_.size() < most_buckets && size != 0 && size + here > count_ / most_buckets) {
      buckets_.push_back({buckets_.back().last, buckets_.back().last});
    }
    buckets_.back().last += here;
    const std::size_t bucket = buckets_.size() - 1;
    bucket_of_[digit] = static_cast<std::uint16_t>(bucket);
    for (std::size_t stripe = 0; stripe < counts_.size(); ++stripe) places_[stripe][bucket] += counts_[stripe][digit];
  }
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    std::uint64_t at = buckets_[bucket].first;
    for (auto& place : places_) at += std::exchange(place[bucket], at);
  }
}

namespace {

constexpr std::uint64_t scattered_from = std::uint64_t{1} << 18;
constexpr std::uint64_t sign = std::uint64_t{1} << 63;
constexpr std::uint64_t short_run = 16;
constexpr std::uint64_t ahead = 16;  // slots whose keys are fetched before they are needed

template <class T>
class Orderer {
 public:
  using Key = UnsignedOf<sizeof(T)>;
  using Finished = std::function<void(std::uint64_t, std::uint64_t)>;
  Orderer(const Numbers<T>& numbers, std::uint64_t count, std::uint64_t* slots, const Finished& finished)
      : number_of_(numbers),
        dropped_(numbers.bits > 32 ? numbers.bits - 32 : 0),
        count_(count),
        slots_(slots),
        finished_(finished) {}

  void run(Threads threads) {
    const auto write = [dropped = dropped_, slots = slots_](std::uint64_t i, std::uint64_t number,
                                                            std::uint64_t place) {
      // The upper 32 of the bits in which keys differ, and the index: ordered as a signed integer.
      slots[place] = ((number >> dropped) << 32 | i) ^ sign;
    };
    if (count_ < scattered_from) {
      number_of_.each(0, count_, [&](std::uint64_t i, auto number) { write(i, number, i); });
      finish({0, count_}, Threads::one);
      return;
    }
    BucketPlan plan(number_of_, count_, stripes_of(count_, threads));
    plan.scatter(number_of_, write);
    std::vector<Bucket> parts = plan.buckets();
    std::ranges::sort(parts, std::ranges::greater(), &Bucket::size);
    // Large buckets one after another by all threads, the others each by one.
    const std::uint64_t large =
        threads == Threads::one ? count_ : std::max(count_ / (2 * cpu_threads()), task_elements);
    std::size_t done = 0;
    for (; done < parts.size() && parts[done].size() > large; ++done) finish(parts[done], threads);
    if (threads == Threads::one) {
      for (; done < parts.size(); ++done) finish(parts[done], Threads::one);
    } else {
      runtime::parallel_tasks(parts.size() - done,
                              [&](std::uint64_t part) { finish(parts[done + part], Threads::one); });
    }
  }

 private:
  void finish(Bucket bucket, Threads threads) const;
  void order_run(std::uint64_t first, std::uint64_t last, Threads threads) const;
  void sort_slots(std::uint64_t* slots, std::uint64_t count, Threads threads) const;
  [[nodiscard]] std::uint32_t index(std::uint64_t i) const noexcept { return static_cast<std::uint32_t>(slots_[i]); }
  [[nodiscard]] bool alike(std::uint64_t i, std::uint64_t j) const noexcept {
    return (slots_[i] ^ slots_[j]) >> 32 == 0;
  }

  Numbers<T> number_of_;
  unsigned dropped_;  // of a number's bits, those that do not fit into a slot
  std::uint64_t count_;
  std::uint64_t* slots_;
  const Finished& finished_;
};

template <class T>
void Orderer<T>::sort_slots(std::uint64_t* slots, std::uint64_t count, Threads threads) const {
  // One key alone is in order already.
  if (trend_of(Dtype::i64, slots, count, Order::ascending).rising) return;
  quick_sort(reinterpret_cast<std::int64_t*>(slots), count, {}, threads);
}

template <class T>
void Orderer<T>::finish(Bucket bucket, Threads threads) const {
  sort_slots(slots_ + bucket.first, bucket.size(), threads);
  if (dropped_ != 0) {
    for (std::uint64_t i = bucket.first; i < bucket.last;) {
      if (i + ahead + 1 < bucket.last && alike(i + ahead, i + ahead + 1)) {
        __builtin_prefetch(number_of_.keys + index(i + ahead));
        __builtin_prefetch(number_of_.keys + index(i + ahead + 1));
      }
      std::uint64_t end = i + 1;
      while (end < bucket.last && alike(i, end)) ++end;
      if (end - i > 1) order_run(i, end, threads);
      i = end;
    }
  }
  finished_(bucket.first, bucket.last);
}

// Orders slots whose upper halves are alike, and which are in the order of their indices, by the lower bits of the
// keys.
template <class T>
void Orderer<T>::order_run(std::uint64_t first, std::uint64_t last, Threads threads) const {
  std::uint64_t* const slots = slots_ + first;
  const std::uint64_t size = last - first;
  if (size > short_run) {
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t lower = std::uint64_t{number_of_(index(first + i))} & ((std::uint64_t{1} << dropped_) - 1);
      slots[i] = (lower << 32 | index(first + i)) ^ sign;
    }
    return sort_slots(slots, size, threads);
  }
  std::array<Key, short_run> found;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t slot = slots[i];
    const Key here = number_of_(static_cast<std::uint32_t>(slot));
    std::uint64_t at = i;
    for (; at != 0 && found[at - 1] > here; --at) {
      found[at] = found[at - 1];
      slots[at] = slots[at - 1];
    }
    found[at] = here;
    slots[at] = slot;
  }
}

}  // namespace

void order_slots(Dtype dtype, const void* keys, std::uint64_t count, Order order, std::uint64_t* slots, Threads threads,
                 const std::function<void(std::uint64_t, std::uint64_t)>& finished) {
  if (count == 0) return;
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Numbers<T> numbers = numbers_of(static_cast<const T*>(keys), count, order, threads);
    Orderer<T>(numbers, count, slots, finished).run(threads);
  });
}

}  // namespace masu::cpu
