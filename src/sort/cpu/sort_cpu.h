// SPDX-License-Identifier: Apache-2.0
// Sorting on the CPU: keys alone, by the fastest way that leaves the bits a stable sort would leave; keys with values,
// and the order of keys, by the fastest stable way, or by the one that is asked for by name; and what these share.
#pragma once

#include "runtime/parallel.h"
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

// Sorts the codes of `bits`, and leaves them as bits.
void quick_sort(std::int32_t* bits, std::size_t count, Coding<std::int32_t> coding, Threads threads);
void quick_sort(std::int64_t* bits, std::size_t count, Coding<std::int64_t> coding, Threads threads);

void sort_keys(Dtype dtype, void* keys, std::uint64_t count, Order order, Threads threads);

// trend_of() by several threads, where the data's beginning does not end it.
Trend trend_of(Dtype dtype, const void* keys, std::uint64_t count, Order order, Threads threads);

void sort_pairs(Dtype dtype, void* keys, std::byte* values, std::size_t value_bytes, std::uint64_t count, Order order,
                Threads threads);
// `indices` are of 4 or 8 bytes.
void sort_order(Dtype dtype, const void* keys, void* indices, std::size_t index_bytes, std::uint64_t count, Order order,
                Threads threads);

// Sorts, ascending, as many codes as fit a core's own cache.

// By Highway's vqsort; by digits, in temporary memory for as many, where the processor makes that slow.
void sort_leaf(std::uint16_t* codes, std::size_t count);
void sort_leaf(std::int32_t* codes, std::size_t count);
void sort_leaf(std::int64_t* codes, std::size_t count);

// The latter of the two ways. For tests.
void sort_leaf_by_digits(std::uint16_t* codes, std::size_t count);
void sort_leaf_by_digits(std::int32_t* codes, std::size_t count);

// The stable order of keys, as 64-bit slots: a slot's lower half is the index of a key, and keys' slots stand in the
// keys' order. The upper half is free.
constexpr std::uint64_t most_slots = std::uint64_t{1} << 32;

// Writes `count` slots, at most most_slots. `finished(first, last)` is called, by any thread, for parts of them that
// will not change any more; together they are all slots.
void order_slots(Dtype dtype, const void* keys, std::uint64_t count, Order order, std::uint64_t* slots, Threads threads,
                 const std::function<void(std::uint64_t, std::uint64_t)>& finished);

// Temporary memory of the CPU's sorts.

// Bytes that nothing has been written to. Large ones are asked for in huge pages, where the system has them: touching
// fresh memory page by page can take as long as sorting it.
class Scratch {
 public:
  // Throws Error out_of_memory.
  explicit Scratch(std::uint64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  [[nodiscard]] T* as(std::uint64_t byte_offset = 0) const noexcept {
    return reinterpret_cast<T*>(data_ + byte_offset);
  }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t mapped_ = 0;  // bytes of the mapping; 0: from the heap
};

// Stable sorts that move what they sort. They need the temporary memory of one copy of that.

// A sort of keys of 1 or 2 bytes with values of `value_bytes` bytes, or, where `indices` is not null, the order
// of keys that stay, of any size where the indices have 8 bytes.
struct StableWork {
  Dtype dtype;
  void* keys;
  std::uint64_t count;
  std::byte* values = nullptr;
  std::size_t value_bytes = 0;
  void* indices = nullptr;
  std::size_t index_bytes = 0;
};

// The least significant digit first, 8 bits at a time; digits in which all keys are alike are passed over.
void radix_sort(const StableWork& work, Order order, Threads threads);
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

// What the stable sorts move: keys, keys with values, or indices of keys. They lie in one of two places, `from`, and
// are moved to the other.

constexpr std::uint64_t task_elements = std::uint64_t{1} << 16;  // least work of a task of its own

// Calls body(first, last, stripe) for [0, count) cut into `stripes`.
template <class F>
void for_stripes(std::uint64_t count, std::uint64_t stripes, const F& body) {
  runtime::parallel_tasks(stripes, [&](std::uint64_t stripe) {
    const auto at = [&](std::uint64_t s) { return count / stripes * s + std::min(s, count % stripes); };
    body(at(stripe), at(stripe + 1), stripe);
  });
}
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
inline void copy_bytes(void* to, const void* from, std::uint64_t bytes, Threads threads) {
  // Memory that is touched for the first time takes long: stripes that a call can be interrupted between.
  constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;
  const std::uint64_t stripes = stripes_of(bytes / 8, threads);
  for_stripes(bytes, threads == Threads::one ? 1 : std::max(stripes, bytes / most_bytes),
              [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
                std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                            last - first);
              });
}

template <class T>
class KeyItems {
 public:
  // `other`: memory for as many keys, which is allocated where it is null.
  KeyItems(T* keys, std::uint64_t count, Order order, T* other = nullptr)
      : count_(count),
        order_(order),
        spare_(other != nullptr ? 0 : count * sizeof(T)),
        home_(keys),
        from_(keys),
        to_(other != nullptr ? other : spare_.as<T>()) {}
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] auto key(std::uint64_t i) const noexcept { return sort_key(from_[i], order_); }
  void move(std::uint64_t i, std::uint64_t to) const noexcept { to_[to] = from_[i]; }
  // The items [a, a_end) and [b, b_end) and where they go when merged, as merge_codes() takes them.
  [[nodiscard]] CodeRuns<CodeOf<T>> codes(std::uint64_t a, std::uint64_t a_end, std::uint64_t b, std::uint64_t b_end,
                                          std::uint64_t to) const noexcept {
    const auto* const from = reinterpret_cast<const CodeOf<T>*>(from_);
    return {from + a, a_end - a, from + b, b_end - b, reinterpret_cast<CodeOf<T>*>(to_) + to};
  }
  [[nodiscard]] Order order() const noexcept { return order_; }
  void turn() noexcept { std::swap(from_, to_); }
  void come_home(Threads threads) { come_to(home_, threads); }
  void come_to(T* place, Threads threads) const {
    if (from_ != place) copy_bytes(place, from_, count_ * sizeof(T), threads);
  }

 private:
  std::uint64_t count_;
  Order order_;
  Scratch spare_;
  T *home_, *from_, *to_;
};

template <class T>
class PairItems {
 public:
  PairItems(T* keys, std::byte* values, std::size_t bytes, std::uint64_t count, Order order, T* other_keys = nullptr,
            std::byte* other_values = nullptr)
      : keys_(keys, count, order, other_keys),
        bytes_(bytes),
        spare_(other_values != nullptr ? 0 : count * bytes),
        home_(values),
        from_(values),
        to_(other_values != nullptr ? other_values : spare_.as<std::byte>()) {}
  [[nodiscard]] std::uint64_t count() const noexcept { return keys_.count(); }
  [[nodiscard]] auto key(std::uint64_t i) const noexcept { return keys_.key(i); }
  void move(std::uint64_t i, std::uint64_t to) const noexcept {
    keys_.move(i, to);
    std::memcpy(to_ + to * bytes_, from_ + i * bytes_, bytes_);
  }
  void turn() noexcept {
    keys_.turn();
    std::swap(from_, to_);
  }
  void come_home(Threads threads) {
    keys_.come_home(threads);
    if (from_ != home_) copy_bytes(home_, from_, count() * bytes_, threads);
  }
  void come_to(T* keys, std::byte* values, Threads threads) const {
    keys_.come_to(keys, threads);
    if (from_ != values) copy_bytes(values, from_, count() * bytes_, threads);
  }

 private:
  KeyItems<T> keys_;
  std::size_t bytes_;
  Scratch spare_;
  std::byte *home_, *from_, *to_;
};

template <class T, class Index>
class IndexItems {
 public:
  IndexItems(const T* keys, Index* indices, std::uint64_t count, Order order)
      : keys_(keys),
        count_(count),
        order_(order),
        spare_(count * sizeof(Index)),
        home_(indices),
        from_(indices),
        to_(spare_.as<Index>()) {
    for_each_in(0, count, [&](std::uint64_t i) { indices[i] = static_cast<Index>(i); });
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] auto key(std::uint64_t i) const noexcept { return sort_key(keys_[from_[i]], order_); }
  void move(std::uint64_t i, std::uint64_t to) const noexcept { to_[to] = from_[i]; }
  void turn() noexcept { std::swap(from_, to_); }
  void come_home(Threads threads) {
    if (from_ != home_) copy_bytes(home_, from_, count_ * sizeof(Index), threads);
  }

 private:
  const T* keys_;
  std::uint64_t count_;
  Order order_;
  Scratch spare_;
  Index *home_, *from_, *to_;
};

// Keys are distributed over buckets of neighbouring keys before they are sorted: one pass in place of eight of a
// quicksort's.

constexpr unsigned bucket_digit_bits = 12;  // of the bits in which keys differ: keys are counted by these
constexpr std::size_t bucket_digits = std::size_t{1} << bucket_digit_bits;
constexpr std::size_t most_buckets = 256;  // runs of digits with about as many keys each

// Keys as numbers from 0 on.
template <class T>
struct Numbers {
  using Key = UnsignedOf<sizeof(T)>;
  const T* keys;
  Order order;
  Key least = 0;                  // of all keys
  unsigned bits = 8 * sizeof(T);  // of the greatest number

  [[nodiscard]] Key operator()(std::uint64_t i) const noexcept {
    return static_cast<Key>(sort_key(keys[i], order) - least);
  }
  // Calls f(i, number) for the keys [first, last), in order.
  template <class F>
  void each(std::uint64_t first, std::uint64_t last, const F& f) const {
    constexpr std::uint64_t block = 512;
    std::array<Key, block> numbers;
    for (std::uint64_t at = first; at < last; at += block) {
      if ((at - first) % task_elements == 0) runtime::check_interrupted();
      const std::uint64_t size = std::min(block, last - at);
      key_numbers(dtype_of<T>, keys + at, size, order, least, numbers.data());
      for (std::uint64_t i = 0; i < size; ++i) f(at + i, numbers[i]);
    }
  }
};

// Whether some keys tell that the numbers of all need every bit, so that nothing is gained by looking for the least.
template <class T>
bool spans_all_bits(const T* keys, std::uint64_t count, Order order) {
  constexpr std::uint64_t looked_at = 64;
  const std::uint64_t stride = count / looked_at + 1;
  auto least = sort_key(keys[0], order);
  auto greatest = least;
  for (std::uint64_t i = stride; i < count; i += stride) {
    least = std::min(least, sort_key(keys[i], order));
    greatest = std::max(greatest, sort_key(keys[i], order));
  }
  return static_cast<decltype(least)>(greatest - least) >> (8 * sizeof(T) - 1) != 0;
}

template <class T>
Numbers<T> numbers_of(const T* keys, std::uint64_t count, Order order, Threads threads) {
  using Key = typename Numbers<T>::Key;
  Numbers<T> result = {keys, order};
  if constexpr (sizeof(T) >= 4) {
    if (spans_all_bits(keys, count, order)) return result;
    const std::uint64_t stripes = stripes_of(count, threads);
    std::vector<KeyRange> ranges(stripes);
    for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      ranges[stripe] = key_range(dtype_of<T>, keys + first, last - first, order);
    });
    KeyRange all = ranges[0];
    for (const KeyRange& range : ranges) {
      all = {std::min(all.least, range.least), std::max(all.greatest, range.greatest)};
    }
    result.least = static_cast<Key>(all.least);
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
