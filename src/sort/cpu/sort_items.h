// SPDX-License-Identifier: Apache-2.0
// What the stable sorts and merges of the CPU move: keys, keys with values, or indices of keys. They lie in one of two
// places, `from`, and are moved to the other.
#pragma once

#include "sort/cpu/sort_cpu.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace masu::cpu {

template <class T>
class KeyItems {
 public:
  KeyItems(Keys<T> key, T* from, T* to, std::uint64_t count) : key_of_(key), count_(count), from_(from), to_(to) {}
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] Coding<CodeOf<T>> coding() const noexcept { return key_of_.coding(); }
  [[nodiscard]] auto key(std::uint64_t i) const noexcept { return key_of_(from_[i]); }
  void move(std::uint64_t i, std::uint64_t to) const noexcept { to_[to] = from_[i]; }
  // The items [a, a_end) and [b, b_end) and where they go when merged, as CodeLoops::merge takes them.
  [[nodiscard]] CodeRuns<CodeOf<T>> codes(std::uint64_t a, std::uint64_t a_end, std::uint64_t b, std::uint64_t b_end,
                                          std::uint64_t to) const noexcept {
    const auto* const from = reinterpret_cast<const CodeOf<T>*>(from_);
    return {from + a, a_end - a, from + b, b_end - b, reinterpret_cast<CodeOf<T>*>(to_) + to};
  }
  void turn() noexcept { std::swap(from_, to_); }
  void come_to(T* place, Threads threads) const {
    if (from_ != place) copy_bytes(place, from_, count_ * sizeof(T), threads);
  }

 private:
  Keys<T> key_of_;
  std::uint64_t count_;
  T *from_, *to_;
};

// Keys and values at one place.
template <class T>
struct Pairs {
  T* keys;
  std::byte* values;
  std::size_t bytes;  // of a value
  [[nodiscard]] Pairs at(std::uint64_t first) const noexcept { return {keys + first, values + first * bytes, bytes}; }
};

template <class T>
[[gnu::always_inline]] inline void move_pair(const Pairs<T>& from, std::uint64_t i, const Pairs<T>& to,
                                             std::uint64_t j) {
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

template <class T>
class PairItems {
 public:
  PairItems(Keys<T> key, const Pairs<T>& from, const Pairs<T>& to, std::uint64_t count)
      : key_of_(key), count_(count), from_(from), to_(to) {}
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] auto key(std::uint64_t i) const noexcept { return key_of_(from_.keys[i]); }
  void move(std::uint64_t i, std::uint64_t to) const noexcept { move_pair(from_, i, to_, to); }
  void turn() noexcept { std::swap(from_, to_); }
  void come_to(const Pairs<T>& place, Threads threads) const {
    if (from_.keys != place.keys) copy_pairs(place, from_, count_, threads);
  }

 private:
  Keys<T> key_of_;
  std::uint64_t count_;
  Pairs<T> from_, to_;
};

template <class T, class Index>
class IndexItems {
 public:
  IndexItems(Keys<T> key, const T* keys, Index* from, Index* to, std::uint64_t count)
      : key_of_(key), keys_(keys), count_(count), from_(from), to_(to) {
    for_each_in(0, count, [&](std::uint64_t i) { from[i] = static_cast<Index>(i); });
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] auto key(std::uint64_t i) const noexcept { return key_of_(keys_[from_[i]]); }
  void move(std::uint64_t i, std::uint64_t to) const noexcept { to_[to] = from_[i]; }
  void turn() noexcept { std::swap(from_, to_); }
  void come_to(Index* place, Threads threads) const {
    if (from_ != place) copy_bytes(place, from_, count_ * sizeof(Index), threads);
  }

 private:
  Keys<T> key_of_;
  const T* keys_;
  std::uint64_t count_;
  Index *from_, *to_;
};

constexpr unsigned digit_bits = 8;
constexpr std::size_t digits = std::size_t{1} << digit_bits;
using DigitCounts = std::array<std::uint64_t, digits>;

// Each stripe's counts become the places of its first keys. False when all keys have one digit.
inline bool make_places(std::vector<DigitCounts>& counts, std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::size_t digit = 0; digit < digits; ++digit) {
    const std::uint64_t before = sum;
    for (DigitCounts& stripe : counts) sum += std::exchange(stripe[digit], sum);
    if (sum - before == count) return false;
  }
  return true;
}

// The least digit first, 8 bits at a time; digits in which all keys are alike are passed over.
template <class Items>
void sort_by_digits(Items& items, Threads threads) {
  const std::uint64_t count = items.count();
  using Key = decltype(items.key(0));
  std::vector<DigitCounts> counts(stripes_of(count, threads));
  for (unsigned shift = 0; shift < 8 * sizeof(Key); shift += digit_bits) {
    const auto digit = [&](std::uint64_t i) { return static_cast<std::size_t>(items.key(i) >> shift) % digits; };
    for_stripes(count, counts.size(), [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      DigitCounts& mine = counts[stripe];
      mine.fill(0);
      for_each_in(first, last, [&](std::uint64_t i) { ++mine[digit(i)]; });
    });
    if (!make_places(counts, count)) continue;
    for_stripes(count, counts.size(), [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      DigitCounts at = counts[stripe];
      for_each_in(first, last, [&](std::uint64_t i) { items.move(i, at[digit(i)]++); });
    });
    items.turn();
  }
}

}  // namespace masu::cpu
