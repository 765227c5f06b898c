// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_cpu_stable.h"

#include "runtime/parallel.h"
#include "sort/cpu/sort_cpu.h"
#include "sort/cpu/sort_cpu_items.h"
#include "sort/cpu/sort_cpu_keys.h"
#include "sort/sort_job.h"

#include <masu/bitonic.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace masu::cpu {

namespace {

constexpr unsigned digit_bits = 8;
constexpr std::size_t digits = std::size_t{1} << digit_bits;
using Counts = std::array<std::uint64_t, digits>;

// Each stripe's counts become the places of its first keys. False when all keys have one digit.
bool place(std::vector<Counts>& counts, std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::size_t digit = 0; digit < digits; ++digit) {
    const std::uint64_t before = sum;
    for (Counts& stripe : counts) {
      const std::uint64_t here = stripe[digit];
      stripe[digit] = sum;
      sum += here;
    }
    if (sum - before == count) return false;
  }
  return true;
}

template <class Items>
void radix_items(Items&& items, Threads threads) {
  const std::uint64_t count = items.count();
  using Key = decltype(items.key(0));
  std::vector<Counts> counts(stripes_of(count, threads));
  for (unsigned shift = 0; shift < 8 * sizeof(Key); shift += digit_bits) {
    const auto digit = [&](std::uint64_t i) { return static_cast<std::size_t>(items.key(i) >> shift) % digits; };
    for_stripes(count, counts.size(), [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      Counts& mine = counts[stripe];
      mine.fill(0);
      for_each_in(first, last, [&](std::uint64_t i) { ++mine[digit(i)]; });
    });
    if (!place(counts, count)) continue;
    for_stripes(count, counts.size(), [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      Counts at = counts[stripe];
      for_each_in(first, last, [&](std::uint64_t i) { items.move(i, at[digit(i)]++); });
    });
    items.turn();
  }
  items.come_home(threads);
}

}  // namespace

void radix_sort(const StableWork& work, Order order, Threads threads) {
  if (work.count == 0) return;
  with_items(work, order, [&](auto&& items) { radix_items(items, threads); });
}

namespace {

// Record i becomes the one that was at order[i].
void apply(std::byte* records, std::size_t bytes, std::span<const std::uint64_t> order) {
  const Scratch old(order.size() * bytes);
  const std::byte* const from = old.as<std::byte>();
  std::memcpy(old.as<std::byte>(), records, order.size() * bytes);
  for (std::uint64_t i = 0; i < order.size(); ++i) std::memcpy(records + i * bytes, from + order[i] * bytes, bytes);
}

}  // namespace

void network_sort(const StableWork& work, Order order) {
  if (work.count == 0) return;
  const ArrayView keys(work.dtype, work.keys, work.count);
  if (work.indices != nullptr && work.index_bytes == sizeof(std::uint64_t)) {
    return bitonic::order_cpu(keys, order, {static_cast<std::uint64_t*>(work.indices), work.count});
  }
  const Scratch memory(work.count * sizeof(std::uint64_t));
  const std::span<std::uint64_t> indices(memory.as<std::uint64_t>(), work.count);
  bitonic::order_cpu(keys, order, indices);
  if (work.indices != nullptr) {
    auto* const narrow = static_cast<std::uint32_t*>(work.indices);
    for (std::uint64_t i = 0; i < work.count; ++i) narrow[i] = static_cast<std::uint32_t>(indices[i]);
    return;
  }
  apply(static_cast<std::byte*>(work.keys), size_of(work.dtype), indices);
  if (work.value_bytes != 0) apply(work.values, work.value_bytes, indices);
}

}  // namespace masu::cpu

namespace masu::bitonic {

namespace {

// Elements that are sorted, and whose stages are finished, while they are in the cache; a power of two.
constexpr std::uint64_t block_elements = 1 << 14;

template <class Key>
struct Item {
  Key key;
  std::uint64_t index;
  // No two are equal.
  friend bool operator<(const Item& a, const Item& b) noexcept {
    return (a.key < b.key) | ((a.key == b.key) & (a.index < b.index));
  }
};

// The pairs [first, end) of a pass.
template <class Key>
void compare(Item<Key>* items, const BitonicPass& pass, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i < end; ++i) {
    const BitonicPair pair = bitonic_pair(pass, i);
    Item<Key>& lower = items[pair.lower];
    Item<Key>& upper = items[pair.upper];
    const Item<Key> a = lower;
    const Item<Key> b = upper;
    const bool exchanged = b < a;
    lower = exchanged ? b : a;
    upper = exchanged ? a : b;
  }
}

// All of the passes in each block by itself: their distances are less than a block's half.
template <class Key>
void in_blocks(std::vector<Item<Key>>& items, std::span<const BitonicPass> passes) {
  const std::uint64_t blocks = (items.size() + block_elements - 1) / block_elements;
  runtime::parallel_tasks(blocks, [&](std::uint64_t block) {
    const std::uint64_t first = block * block_elements;
    const std::uint64_t length = std::min<std::uint64_t>(block_elements, items.size() - first);
    for (const BitonicPass& pass : passes) compare(items.data() + first, pass, 0, bitonic_pairs(pass, length));
  });
}

template <class Key>
void sort(std::vector<Item<Key>>& items) {
  const std::vector<BitonicPass> schedule = bitonic_schedule(items.size());
  const std::span all(schedule);
  for (std::size_t i = 0; i < schedule.size();) {
    const std::size_t begin = i;
    while (i < schedule.size() && schedule[i].distance < block_elements) ++i;
    if (i != begin) {
      in_blocks(items, all.subspan(begin, i - begin));
      continue;
    }
    const BitonicPass& pass = schedule[i++];
    const std::uint64_t pairs = bitonic_pairs(pass, items.size());
    runtime::parallel_tasks((pairs + block_elements - 1) / block_elements, [&](std::uint64_t task) {
      const std::uint64_t first = task * block_elements;
      compare(items.data(), pass, first, std::min(pairs, first + block_elements));
    });
  }
}

}  // namespace

void order_cpu(const ArrayView& keys, Order order, std::span<std::uint64_t> indices) {
  dispatch(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const values = static_cast<const T*>(keys.data);
    std::vector<Item<UnsignedOf<sizeof(T)>>> items(keys.count);
    for (std::uint64_t i = 0; i < keys.count; ++i) items[i] = {sort_key(values[i], order), i};
    sort(items);
    for (std::uint64_t i = 0; i < keys.count; ++i) indices[i] = items[i].index;
  });
}

}  // namespace masu::bitonic
