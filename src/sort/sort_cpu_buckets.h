// SPDX-License-Identifier: Apache-2.0
// Keys are distributed over buckets of neighbouring keys before they are sorted: one pass in place of eight of a
// quicksort's.
#pragma once

#include "sort/sort_cpu_items.h"

#include <array>
#include <bit>
#include <vector>

namespace masu::cpu {

constexpr unsigned bucket_digit_bits = 12;  // of the bits in which keys differ: keys are counted by these
constexpr std::size_t bucket_digits = std::size_t{1} << bucket_digit_bits;
constexpr std::size_t most_buckets = 256;  // runs of digits with about as many keys each

// Keys as numbers from 0 on. Loops take a copy, so that it stays in registers whatever they write.
template <class T>
struct Numbers {
  using Key = UnsignedOf<sizeof(T)>;
  const T* keys;
  Key flip;                       // turns ascending into descending
  Key least = 0;                  // of all keys
  unsigned bits = 8 * sizeof(T);  // of the greatest number

  [[nodiscard]] Key operator()(std::uint64_t i) const noexcept {
    return static_cast<Key>(static_cast<Key>(sort_key(keys[i]) ^ flip) - least);
  }
};

template <class T>
Numbers<T> numbers_of(const T* keys, std::uint64_t count, Order order, Threads threads) {
  using Key = typename Numbers<T>::Key;
  Numbers<T> result = {keys, static_cast<Key>(order == Order::descending ? ~Key{0} : Key{0})};
  if constexpr (sizeof(T) >= 4) {
    const std::uint64_t stripes = stripes_of(count, threads);
    std::vector<std::array<Key, 2>> ranges(stripes);
    for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      const Numbers<T> number = result;
      Key low = number(first);
      Key high = low;
      for (std::uint64_t i = first; i < last; ++i) {
        low = std::min(low, number(i));
        high = std::max(high, number(i));
      }
      ranges[stripe] = {low, high};
    });
    Key low = ranges[0][0];
    Key high = ranges[0][1];
    for (const auto& range : ranges) {
      low = std::min(low, range[0]);
      high = std::max(high, range[1]);
    }
    result.least = low;
    result.bits = static_cast<unsigned>(std::bit_width(static_cast<Key>(high - low)));
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
      const Numbers<T> number = numbers;
      const unsigned shift = shift_;
      auto& mine = counts_[stripe];
      mine.fill(0);
      for (std::uint64_t i = first; i < last; ++i) ++mine[static_cast<std::size_t>(number(i) >> shift)];
    });
    make_buckets();
  }
  [[nodiscard]] const std::vector<Bucket>& buckets() const noexcept { return buckets_; }

  // Calls move(i, place) for every key. To be called once.
  template <class T, class F>
  void scatter(const Numbers<T>& numbers, const F& move) {
    for_stripes(count_, places_.size(), [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      const Numbers<T> number = numbers;
      const unsigned shift = shift_;
      const F mine = move;
      std::array<std::uint64_t, most_buckets> ends = places_[stripe];
      for (std::uint64_t i = first; i < last; ++i) {
        mine(i, ends[bucket_of_[static_cast<std::size_t>(number(i) >> shift)]]++);
      }
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
