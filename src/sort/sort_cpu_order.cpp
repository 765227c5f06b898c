// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_cpu_order.h"

#include "sort/sort_cpu_items.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace masu::cpu {

namespace {

constexpr std::uint64_t scattered_from = std::uint64_t{1} << 15;
constexpr unsigned digit_bits = 12;  // of the upper half: keys are counted by these
constexpr std::size_t digits = std::size_t{1} << digit_bits;
constexpr std::size_t buckets = 256;  // runs of digits with about as many keys each
constexpr std::size_t line = 8;       // slots written to a bucket at a time: a cache line
constexpr std::uint64_t sign = std::uint64_t{1} << 63;
constexpr std::uint64_t short_run = 16;

struct Bucket {
  std::uint64_t first, last;
};

template <class T>
class Orderer {
 public:
  using Key = UnsignedOf<sizeof(T)>;
  using Finished = std::function<void(std::uint64_t, std::uint64_t)>;
  Orderer(const T* keys, std::uint64_t count, Order order, std::uint64_t* slots, const Finished& finished)
      : keys_(keys), count_(count), order_(order), slots_(slots), finished_(finished) {}

  void run(Threads threads) {
    find_range(threads);
    if (count_ < scattered_from) {
      for (std::uint64_t i = 0; i < count_; ++i) slots_[i] = slot_of(i);
      finish({0, count_}, Threads::one);
      return;
    }
    std::vector<Bucket> parts = scatter(threads);
    std::ranges::sort(parts, std::ranges::greater(), [](const Bucket& part) { return part.last - part.first; });
    // Large buckets one after another by all threads, the others each by one.
    const std::uint64_t large =
        threads == Threads::one ? count_ : std::max(count_ / (2 * cpu_threads()), task_elements);
    std::size_t done = 0;
    for (; done < parts.size() && parts[done].last - parts[done].first > large; ++done) finish(parts[done], threads);
    if (threads == Threads::one) {
      for (; done < parts.size(); ++done) finish(parts[done], Threads::one);
    } else {
      runtime::parallel_tasks(parts.size() - done,
                              [&](std::uint64_t part) { finish(parts[done + part], Threads::one); });
    }
  }

 private:
  [[nodiscard]] Key key(std::uint64_t i) const noexcept { return sort_key(keys_[i], order_); }
  // The upper 32 of the bits in which keys differ.
  [[nodiscard]] std::uint64_t upper(std::uint64_t i) const noexcept {
    return static_cast<std::uint64_t>(static_cast<Key>(key(i) - least_)) >> dropped_;
  }
  // Ordered as a signed integer.
  [[nodiscard]] std::uint64_t slot_of(std::uint64_t i) const noexcept { return (upper(i) << 32 | i) ^ sign; }

  void find_range(Threads threads);
  std::vector<Bucket> scatter(Threads threads);
  void finish(Bucket bucket, Threads threads) const;
  void order_run(std::uint64_t first, std::uint64_t last, Threads threads) const;

  const T* keys_;
  std::uint64_t count_;
  Order order_;
  std::uint64_t* slots_;
  const Finished& finished_;
  Key least_ = 0;
  unsigned bits_ = 8 * sizeof(T);  // in which keys differ
  unsigned dropped_ = 0;           // of these, do not fit into a slot
};

template <class T>
void Orderer<T>::find_range(Threads threads) {
  if constexpr (sizeof(T) >= 4) {
    const std::uint64_t stripes = stripes_of(count_, threads);
    std::vector<std::array<Key, 2>> ranges(stripes);
    for_stripes(count_, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
      Key low = key(first);
      Key high = low;
      for (std::uint64_t i = first; i < last; ++i) {
        low = std::min(low, key(i));
        high = std::max(high, key(i));
      }
      ranges[stripe] = {low, high};
    });
    least_ = ranges[0][0];
    Key most = ranges[0][1];
    for (const auto& range : ranges) {
      least_ = std::min(least_, range[0]);
      most = std::max(most, range[1]);
    }
    bits_ = static_cast<unsigned>(std::bit_width(static_cast<Key>(most - least_)));
    dropped_ = bits_ > 32 ? bits_ - 32 : 0;
  }
}

// Writes the slots into buckets of neighbouring keys, in the order of their indices.
template <class T>
std::vector<Bucket> Orderer<T>::scatter(Threads threads) {
  const unsigned kept = bits_ - dropped_;
  const unsigned shift = 32 + (kept > digit_bits ? kept - digit_bits : 0);
  const auto digit = [&](std::uint64_t slot) { return static_cast<std::size_t>((slot ^ sign) >> shift); };
  const std::uint64_t stripes = stripes_of(count_, threads);
  std::vector<std::array<std::uint64_t, digits>> counts(stripes);
  for_stripes(count_, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
    auto& mine = counts[stripe];
    mine.fill(0);
    for (std::uint64_t i = first; i < last; ++i) ++mine[digit(slot_of(i))];
  });
  // Neighbouring digits share a bucket until it has its part of the keys.
  std::array<std::uint8_t, digits> bucket_of;
  std::vector<Bucket> parts = {{0, 0}};
  std::vector<std::array<std::uint64_t, buckets>> places(stripes);
  for (auto& place : places) place.fill(0);
  for (std::size_t d = 0; d < digits; ++d) {
    std::uint64_t here = 0;
    for (const auto& mine : counts) here += mine[d];
    const std::uint64_t size = parts.back().last - parts.back().first;
    if (parts.size() < buckets && size != 0 && size + here > count_ / buckets) {
      parts.push_back({parts.back().last, parts.back().last});
    }
    parts.back().last += here;
    bucket_of[d] = static_cast<std::uint8_t>(parts.size() - 1);
    for (std::uint64_t stripe = 0; stripe < stripes; ++stripe) places[stripe][parts.size() - 1] += counts[stripe][d];
  }
  for (std::size_t b = 0; b < parts.size(); ++b) {
    std::uint64_t at = parts[b].first;
    for (auto& place : places) at += std::exchange(place[b], at);
  }
  for_stripes(count_, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
    const auto begins = places[stripe];
    auto ends = begins;
    alignas(64) std::uint64_t lines[buckets][line];
    for (std::uint64_t i = first; i < last; ++i) {
      const std::uint64_t slot = slot_of(i);
      const std::size_t b = bucket_of[digit(slot)];
      const std::uint64_t at = ends[b]++;
      lines[b][at % line] = slot;
      if (at % line != line - 1) continue;
      const std::uint64_t from = at - (line - 1);
      if (from >= begins[b]) std::memcpy(slots_ + from, lines[b], sizeof(lines[b]));
      else std::copy(lines[b] + begins[b] % line, lines[b] + line, slots_ + begins[b]);
    }
    for (std::size_t b = 0; b < parts.size(); ++b) {
      const std::uint64_t from = std::max(ends[b] / line * line, begins[b]);
      std::copy(lines[b] + from % line, lines[b] + from % line + (ends[b] - from), slots_ + from);
    }
  });
  return parts;
}

template <class T>
void Orderer<T>::finish(Bucket bucket, Threads threads) const {
  const std::uint64_t size = bucket.last - bucket.first;
  auto* const slots = reinterpret_cast<std::int64_t*>(slots_ + bucket.first);
  // One key alone is in order already.
  if (!cpu::trend_of(Dtype::i64, slots, size, Order::ascending).rising) quick_sort(slots, size, {}, threads);
  if (dropped_ != 0) {
    const auto upper_half = [&](std::uint64_t i) { return slots_[i] >> 32; };
    for (std::uint64_t i = bucket.first; i < bucket.last;) {
      std::uint64_t end = i + 1;
      while (end < bucket.last && upper_half(end) == upper_half(i)) ++end;
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
  if (size <= short_run) {
    std::array<Key, short_run> found;
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t slot = slots[i];
      const Key here = key(static_cast<std::uint32_t>(slot));
      std::uint64_t at = i;
      for (; at != 0 && found[at - 1] > here; --at) {
        found[at] = found[at - 1];
        slots[at] = slots[at - 1];
      }
      found[at] = here;
      slots[at] = slot;
    }
    return;
  }
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t index = static_cast<std::uint32_t>(slots[i]);
    const std::uint64_t lower = static_cast<std::uint64_t>(key(index) - least_) & ((std::uint64_t{1} << dropped_) - 1);
    slots[i] = (lower << 32 | index) ^ sign;
  }
  auto* const codes = reinterpret_cast<std::int64_t*>(slots);
  if (!cpu::trend_of(Dtype::i64, codes, size, Order::ascending).rising) quick_sort(codes, size, {}, threads);
}

}  // namespace

void order_slots(Dtype dtype, const void* keys, std::uint64_t count, Order order, std::uint64_t* slots, Threads threads,
                 const std::function<void(std::uint64_t, std::uint64_t)>& finished) {
  if (count == 0) return;
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Orderer<T>(static_cast<const T*>(keys), count, order, slots, finished).run(threads);
  });
}

}  // namespace masu::cpu
