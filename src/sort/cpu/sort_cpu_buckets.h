// SPDX-License-Identifier: Apache-2.0
// Keys are distributed over buckets of neighbouring keys before they are sorted: one pass in place of eight of a
// quicksort's.
#pragma once

#include "sort/cpu/sort_cpu_items.h"

#include <array>
#include <bit>
#include <vector>

namespace masu::cpu {

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
