// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_cpu_dispatch.h"

#include <array>

namespace masu::cpu {

namespace {

constexpr std::uint64_t run = 16;  // sorted by insertion

template <class Items>
void sort_run(const Items& items, std::uint64_t first, std::uint64_t last) {
  using Key = decltype(items.key(0));
  std::array<Key, run> keys;
  std::array<std::uint64_t, run> places;
  std::size_t size = 0;
  for (std::uint64_t i = first; i < last; ++i, ++size) {
    const Key key = items.key(i);
    std::size_t at = size;
    for (; at != 0 && keys[at - 1] > key; --at) {
      keys[at] = keys[at - 1];
      places[at] = places[at - 1];
    }
    keys[at] = key;
    places[at] = i;
  }
  for (std::size_t i = 0; i < size; ++i) items.move(places[i], first + i);
}

// How many of the first `taken` merged items come from the left run: the merge path's crossing of that diagonal.
template <class Items>
std::uint64_t from_left(const Items& items, std::uint64_t left, std::uint64_t middle, std::uint64_t right,
                        std::uint64_t taken) {
  std::uint64_t low = taken > right - middle ? taken - (right - middle) : 0;
  std::uint64_t high = std::min(taken, middle - left);
  while (low < high) {
    const std::uint64_t half = low + (high - low) / 2;
    // Equal keys of the left run come first.
    if (items.key(left + half) <= items.key(middle + (taken - half - 1))) low = half + 1;
    else high = half;
  }
  return low;
}

// Writes the merged items [first, last) of the runs [left, middle) and [middle, right).
template <class Items>
void merge_part(const Items& items, std::uint64_t left, std::uint64_t middle, std::uint64_t right, std::uint64_t first,
                std::uint64_t last) {
  const std::uint64_t skip = from_left(items, left, middle, right, first - left);
  std::uint64_t a = left + skip;
  std::uint64_t b = middle + (first - left - skip);
  std::uint64_t to = first;
  while (to < last && a < middle && b < right) {
    const bool second = items.key(b) < items.key(a);
    items.move(second ? b : a, to++);
    b += second;
    a += !second;
  }
  while (to < last && a < middle) items.move(a++, to++);
  while (to < last) items.move(b++, to++);
}

template <class Items>
void sort_items(Items&& items, Threads threads) {
  const std::uint64_t count = items.count();
  const std::uint64_t stripes = stripes_of(count, threads, 4);
  for_stripes((count + run - 1) / run, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
    for (std::uint64_t r = first; r < last; ++r) sort_run(items, r * run, std::min(count, (r + 1) * run));
  });
  items.turn();
  for (std::uint64_t width = run; width < count; width *= 2) {
    for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
      for (std::uint64_t at = first; at < last;) {
        const std::uint64_t left = at / (2 * width) * (2 * width);
        const std::uint64_t middle = std::min(count, left + width);
        const std::uint64_t right = std::min(count, left + 2 * width);
        const std::uint64_t end = std::min(last, right);
        merge_part(items, left, middle, right, at, end);
        at = end;
      }
    });
    items.turn();
  }
  items.come_home(threads);
}

}  // namespace

void merge_sort(const StableWork& work, Order order, Threads threads) {
  if (work.count == 0) return;
  with_items(work, order, [&](auto&& items) { sort_items(items, threads); });
}

}  // namespace masu::cpu
