// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_cpu_pairs.h"

#include "sort/sort_cpu_items.h"
#include "sort/sort_cpu_keys.h"
#include "sort/sort_cpu_order.h"
#include "sort/sort_cpu_stable.h"

#include <array>

namespace masu::cpu {

namespace {

constexpr std::uint64_t insertion_most = 16;
constexpr std::size_t most_value_bytes = 64;
constexpr std::size_t slot_bytes = sizeof(std::uint64_t);

using SmallOrder = std::array<std::uint8_t, insertion_most>;

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
  std::array<T, insertion_most> old_keys;
  std::array<std::byte, insertion_most * most_value_bytes> old_values;
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

// Slots whose lower half is an index get values in place of it; what does not fit into a slot goes to `spare`. Keys and
// values are read in the order of the slots and written where they belong, since they may lie only once in memory more.
class Mover {
 public:
  Mover(std::uint64_t count, std::size_t key_bytes, std::size_t value_bytes, Threads threads)
      : count_(count),
        key_spare_(key_bytes > 4 ? key_bytes - 4 : 0),
        value_spare_(value_bytes > slot_bytes ? value_bytes - 4 : 0),
        stripes_(stripes_of(count, threads)),
        memory_(count * (slot_bytes + std::max(key_spare_, value_spare_))) {}

  // Bytes of temporary memory for each pair.
  static std::size_t bytes_for(std::size_t key_bytes, std::size_t value_bytes) {
    return slot_bytes + std::max(key_bytes > 4 ? key_bytes - 4 : 0, value_bytes > slot_bytes ? value_bytes - 4 : 0);
  }

  [[nodiscard]] std::uint64_t* slots() const noexcept { return memory_.as<std::uint64_t>(); }

  template <class T>
  void move_keys(T* keys) const {
    // The upper half of the slot holds the key, or its first four bytes.
    constexpr std::size_t in_slot = sizeof(T) < 4 ? sizeof(T) : 4;
    each([&](std::uint64_t i) {
      const auto* const from = reinterpret_cast<const std::byte*>(keys + index(i));
      std::memcpy(slot(i) + 4, from, in_slot);
      if constexpr (sizeof(T) > 4) std::memcpy(spare(i, sizeof(T) - 4), from + 4, sizeof(T) - 4);
    });
    each([&](std::uint64_t i) {
      auto* const to = reinterpret_cast<std::byte*>(keys + i);
      std::memcpy(to, slot(i) + 4, in_slot);
      if constexpr (sizeof(T) > 4) std::memcpy(to + 4, spare(i, sizeof(T) - 4), sizeof(T) - 4);
    });
  }

  void move_values(std::byte* values, std::size_t bytes) const {
    switch (bytes) {
      case 4: return move_short<4>(values, bytes);
      case 8: return move_short<8>(values, bytes);
      case 16: return move_long<16>(values, bytes);
      default: return bytes <= slot_bytes ? move_short<0>(values, bytes) : move_long<0>(values, bytes);
    }
  }

 private:
  template <class F>
  void each(const F& f) const {
    for_stripes(count_, stripes_, [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
      for (std::uint64_t i = first; i < last; ++i) f(i);
    });
  }
  // Bytes is the record's size where it is known when compiled, else 0.
  template <std::size_t Bytes>
  void move_short(std::byte* values, std::size_t bytes) const {
    const std::size_t size = Bytes != 0 ? Bytes : bytes;
    each([&](std::uint64_t i) { std::memcpy(slot(i), values + index(i) * size, size); });
    each([&](std::uint64_t i) { std::memcpy(values + i * size, slot(i), size); });
  }
  template <std::size_t Bytes>
  void move_long(std::byte* values, std::size_t bytes) const {
    const std::size_t size = Bytes != 0 ? Bytes : bytes;
    each([&](std::uint64_t i) {
      const std::byte* const from = values + index(i) * size;
      std::memcpy(slot(i) + 4, from, 4);
      std::memcpy(spare(i, size - 4), from + 4, size - 4);
    });
    each([&](std::uint64_t i) {
      std::byte* const to = values + i * size;
      std::memcpy(to, slot(i) + 4, 4);
      std::memcpy(to + 4, spare(i, size - 4), size - 4);
    });
  }
  [[nodiscard]] std::uint32_t index(std::uint64_t i) const noexcept { return static_cast<std::uint32_t>(slots()[i]); }
  // A slot's bytes: the index is the first four (masu is for little-endian machines).
  [[nodiscard]] std::byte* slot(std::uint64_t i) const noexcept { return memory_.as<std::byte>(i * slot_bytes); }
  [[nodiscard]] std::byte* spare(std::uint64_t i, std::size_t size) const noexcept {
    return memory_.as<std::byte>(count_ * slot_bytes + i * size);
  }

  std::uint64_t count_;
  std::size_t key_spare_, value_spare_;
  std::uint64_t stripes_;
  Scratch memory_;
};

template <class T>
void sort_typed(T* keys, std::byte* values, std::size_t bytes, std::uint64_t count, Order order, Threads threads) {
  if (count <= insertion_most) return sort_small(keys, values, bytes, count, order);
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
  // Slots must be no more than a copy of all and a quarter.
  if (sizeof(T) <= 2 || count > most_slots || 4 * Mover::bytes_for(sizeof(T), bytes) > 5 * (sizeof(T) + bytes)) {
    return radix_sort({dtype_of<T>, keys, count, values, bytes}, order, threads);
  }
  const Mover mover(count, sizeof(T), bytes, threads);
  order_slots(dtype_of<T>, keys, count, order, mover.slots(), threads, [](std::uint64_t, std::uint64_t) {});
  mover.move_keys(keys);
  mover.move_values(values, bytes);
}

template <class T, class Index>
void order_typed(const T* keys, Index* indices, std::uint64_t count, Order order, Threads threads) {
  if (count <= insertion_most) {
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
    if (index_bytes == 4) order_typed(typed, static_cast<std::uint32_t*>(indices), count, order, threads);
    else order_typed(typed, static_cast<std::uint64_t*>(indices), count, order, threads);
  });
}

}  // namespace masu::cpu
