// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_cpu.h"

#include "runtime/parallel.h"
#include "sort/sort_job.h"

#include <masu/bitonic.h>

#include <algorithm>
#include <vector>

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
