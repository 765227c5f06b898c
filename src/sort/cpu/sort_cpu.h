// SPDX-License-Identifier: Apache-2.0
// Sorting on the CPU: keys alone, by the fastest way that leaves the bits a stable sort would leave; keys with values,
// and the order of keys, by the fastest stable way; and what these share.
#pragma once

#include "runtime/parallel.h"
#include "sort/cpu/scratch.h"
#include "sort/cpu/sort_simd.h"
#include "sort/sort_job.h"

#include <masu/device.h>
#include <masu/sort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace masu::cpu {

// Sorts 32-bit and 64-bit keys in place on the CPU, where equal codes (sort_simd.h) cannot be distinguished. Needs no
// memory to speak of.

// Whether a call may use more than the calling thread. Never inside of a task of runtime::parallel_tasks.
enum class Threads { one, all };

// Sorts the codes of `bits`, of 32 and 64 bits, and leaves them as bits.
template <class Code>
void quick_sort(Code* bits, std::size_t count, Coding<Code> coding, Threads threads);

void sort_keys(Dtype dtype, void* keys, std::uint64_t count, Order order, Threads threads);

// trend_of() by several threads, where the data's beginning does not end it.
Trend trend_of(const KeyRule& rule, const void* keys, std::uint64_t count, Threads threads);

void sort_pairs(Dtype dtype, void* keys, std::byte* values, std::size_t value_bytes, std::uint64_t count, Order order,
                Threads threads);
// Where orders go: indices of 4 or 8 bytes.
struct Indices {
  void* data;
  std::size_t bytes;
  [[nodiscard]] Indices at(std::uint64_t first) const noexcept {
    return {static_cast<std::byte*>(data) + first * bytes, bytes};
  }
  // Calls f(indices) with a pointer of their type.
  template <class F>
  auto typed(const F& f) const {
    return bytes == 4 ? f(static_cast<std::uint32_t*>(data)) : f(static_cast<std::uint64_t*>(data));
  }
};
void sort_order(Dtype dtype, const void* keys, Indices indices, std::uint64_t count, Order order, Threads threads);

// Sorts, ascending, as many codes as fit a core's own cache: uint16, int32 or int64, by Highway's vqsort; by digits, in
// temporary memory for as many, where the processor makes that slow.
template <class Code>
void sort_leaf(Code* codes, std::size_t count);
// By digits. For tests.
template <class Code>
void sort_leaf_by_digits(Code* codes, std::size_t count);

// The stable order of keys, as 64-bit slots: a slot's lower half is the index of a key, and keys' slots stand in the
// keys' order. The upper half is free.
constexpr std::uint64_t most_slots = std::uint64_t{1} << 32;

// Writes `count` slots, at most most_slots. `finished(first, last)` is called, by any thread, for parts of them that
// will not change any more; together they are all slots.
void order_slots(const KeyRule& rule, const void* keys, std::uint64_t count, std::uint64_t* slots, Threads threads,
                 const std::function<void(std::uint64_t, std::uint64_t)>& finished);

// From one place to another: keys, and values of `value_bytes` bytes with them, or none.
struct MergeArrays {
  void* keys;
  void* merged_keys;
  std::byte* values = nullptr;
  std::byte* merged_values = nullptr;
  std::size_t value_bytes = 0;
};
// Merges sorted runs, of which none is empty and each lies after the one before, stably. Both places are written to.
void merge_runs(Dtype dtype, const MergeArrays& arrays, std::span<const Run> runs, Order order, Threads threads);

constexpr std::uint64_t task_elements = std::uint64_t{1} << 16;  // least work of a task of its own

using runtime::for_stripes;
// Calls body(i) for [first, last); a call can be interrupted in between.
template <class F>
void for_each_in(std::uint64_t first, std::uint64_t last, const F& body) {
  for (std::uint64_t at = first; at < last; at += task_elements) {
    runtime::check_interrupted();
    const std::uint64_t end = std::min(last, at + task_elements);
    for (std::uint64_t i = at; i < end; ++i) body(i);
  }
}
// As many stripes as there are threads, `each` times.
inline std::uint64_t stripes_of(std::uint64_t count, Threads threads, std::uint64_t each = 1) {
  if (threads == Threads::one || count < 2 * task_elements) return 1;
  const std::uint64_t most = cpu_threads();
  return most == 1 ? 1 : std::min(most * each, count / task_elements);
}
void copy_bytes(void* to, const void* from, std::uint64_t bytes, Threads threads);

// Keys are distributed over buckets of neighbouring keys before they are sorted: one pass in place of eight of a
// quicksort's.

constexpr unsigned bucket_digit_bits = 12;  // of the bits in which keys differ: keys are counted by these
constexpr std::size_t bucket_digits = std::size_t{1} << bucket_digit_bits;
constexpr std::size_t most_buckets = 256;  // runs of digits with about as many keys each

// Keys as numbers from 0 on.
template <class T>
struct Numbers {
  using Key = KeyOf<T>;
  const T* keys;
  Keys<T> key_of;
  Key least = 0;                  // of all keys
  unsigned bits = 8 * sizeof(T);  // of the greatest number

  [[nodiscard]] Key operator()(std::uint64_t i) const noexcept { return static_cast<Key>(key_of(keys[i]) - least); }
  // Calls f(i, number) for the keys [first, last), in order.
  template <class F>
  void each(std::uint64_t first, std::uint64_t last, const F& f) const {
    constexpr std::uint64_t block = 512;
    std::array<Key, block> numbers;
    for (std::uint64_t at = first; at < last; at += block) {
      if ((at - first) % task_elements == 0) runtime::check_interrupted();
      const std::uint64_t size = std::min(block, last - at);
      key_numbers(key_of, keys + at, size, least, numbers.data());
      for (std::uint64_t i = 0; i < size; ++i) f(at + i, numbers[i]);
    }
  }
};

// Whether some keys tell that the numbers of all need every bit, so that nothing is gained by looking for the least.
template <class T>
bool spans_all_bits(Keys<T> key, const T* keys, std::uint64_t count) {
  constexpr std::uint64_t looked_at = 64;
  const std::uint64_t stride = count / looked_at + 1;
  auto least = key(keys[0]);
  auto greatest = least;
  for (std::uint64_t i = stride; i < count; i += stride) {
    least = std::min(least, key(keys[i]));
    greatest = std::max(greatest, key(keys[i]));
  }
  return static_cast<KeyOf<T>>(greatest - least) >> (8 * sizeof(T) - 1) != 0;
}

template <class T>
Numbers<T> numbers_of(Keys<T> key, const T* keys, std::uint64_t count, Threads threads) {
  Numbers<T> result = {keys, key};
  if constexpr (sizeof(T) >= 4) {
    if (spans_all_bits(key, keys, count)) return result;
    const std::uint64_t stripes = stripes_of(count, threads);
    std::vector<KeyRange> ranges(stripes);
    for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      ranges[stripe] = key_range(key, keys + first, last - first);
    });
    KeyRange all = ranges[0];
    for (const KeyRange& range : ranges) {
      all = {std::min(all.least, range.least), std::max(all.greatest, range.greatest)};
    }
    result.least = static_cast<KeyOf<T>>(all.least);
    result.bits = static_cast<unsigned>(std::bit_width(all.greatest - all.least));
  }
  return result;
}

struct Bucket {
  std::uint64_t first, last;
  [[nodiscard]] std::uint64_t size() const noexcept { return last - first; }
};

// Where each stripe of the keys puts its keys, so that a bucket's keys keep their order.
class BucketPlan {
 public:
  template <class T>
  BucketPlan(const Numbers<T>& numbers, std::uint64_t count, std::uint64_t stripes)
      : shift_(numbers.bits > bucket_digit_bits ? numbers.bits - bucket_digit_bits : 0), count_(count) {
    counts_.resize(stripes);
    for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      auto& mine = counts_[stripe];
      mine.fill(0);
      numbers.each(first, last, [&mine, shift = shift_](std::uint64_t, auto number) {
        ++mine[static_cast<std::size_t>(number >> shift)];
      });
    });
    make_buckets();
  }
  [[nodiscard]] const std::vector<Bucket>& buckets() const noexcept { return buckets_; }

  // Calls move(i, number, place) for every key. To be called once.
  template <class T, class F>
  void scatter(const Numbers<T>& numbers, const F& move) {
    for_stripes(count_, places_.size(), [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      std::array<std::uint64_t, most_buckets> ends = places_[stripe];
      numbers.each(first, last, [this, &ends, shift = shift_, mine = move](std::uint64_t i, auto number) {
        mine(i, number, ends[bucket_of_[static_cast<std::size_t>(number >> shift)]]++);
      });
    });
  }

 private:
  void make_buckets();

  unsigned shift_;
  std::uint64_t count_;
  std::vector<std::array<std::uint64_t, bucket_digits>> counts_;  // of each stripe
  std::vector<std::array<std::uint64_t, most_buckets>> places_;   // of each stripe's first key
  std::array<std::uint16_t, bucket_digits> bucket_of_;
  std::vector<Bucket> buckets_;
};

}  // namespace masu::cpu
