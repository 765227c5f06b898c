// SPDX-License-Identifier: Apache-2.0
// The stable order of keys as slots, each of which is a key above its index; and the buckets that keys are distributed
// over first.
#include "sort/cpu/sort_cpu.h"

#include <array>
#include <utility>
#include <vector>

namespace masu::cpu {

void copy_bytes(void* to, const void* from, std::uint64_t bytes, Threads threads) {
  // Memory that is touched for the first time takes long: stripes that a call can be interrupted between.
  constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;
  const std::uint64_t stripes = stripes_of(bytes / 8, threads);
  for_stripes(bytes, threads == Threads::one ? 1 : std::max(stripes, bytes / most_bytes),
              [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
                std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                            last - first);
              });
}

// Neighbouring digits share a bucket until it has its part of the keys. So one with much more than that is one digit.
void BucketPlan::make_buckets() {
  places_.resize(counts_.size());
  for (auto& place : places_) place.fill(0);
  buckets_ = {{0, 0}};
  for (std::size_t digit = 0; digit < bucket_digits; ++digit) {
    std::uint64_t here = 0;
    for (const auto& mine : counts_) here += mine[digit];
    const std::uint64_t size = buckets_.back().size();
    if (buckets_.size() < most_buckets && size != 0 && size + here > count_ / most_buckets) {
      buckets_.push_back({buckets_.back().last, buckets_.back().last});
    }
    buckets_.back().last += here;
    const std::size_t bucket = buckets_.size() - 1;
    bucket_of_[digit] = static_cast<std::uint16_t>(bucket);
    for (std::size_t stripe = 0; stripe < counts_.size(); ++stripe) places_[stripe][bucket] += counts_[stripe][digit];
  }
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    std::uint64_t at = buckets_[bucket].first;
    for (auto& place : places_) at += std::exchange(place[bucket], at);
  }
}

namespace {

constexpr std::uint64_t scattered_from = std::uint64_t{1} << 18;
constexpr std::uint64_t sign = std::uint64_t{1} << 63;
constexpr std::uint64_t short_run = 16;
constexpr std::uint64_t ahead = 16;  // slots whose keys are fetched before they are needed

template <class T>
class Orderer {
 public:
  using Key = KeyOf<T>;
  using Finished = std::function<void(std::uint64_t, std::uint64_t)>;
  Orderer(const Numbers<T>& numbers, std::uint64_t count, std::uint64_t* slots, const Finished& finished)
      : number_of_(numbers),
        dropped_(numbers.bits > 32 ? numbers.bits - 32 : 0),
        count_(count),
        slots_(slots),
        finished_(finished) {}

  void run(Threads threads) {
    const auto write = [dropped = dropped_, slots = slots_](std::uint64_t i, std::uint64_t number,
                                                            std::uint64_t place) {
      // The upper 32 of the bits in which keys differ, and the index: ordered as a signed integer.
      slots[place] = ((number >> dropped) << 32 | i) ^ sign;
    };
    if (count_ < scattered_from) {
      number_of_.each(0, count_, [&](std::uint64_t i, auto number) { write(i, number, i); });
      finish({0, count_}, Threads::one);
      return;
    }
    BucketPlan plan(number_of_, count_, stripes_of(count_, threads));
    plan.scatter(number_of_, write);
    std::vector<Bucket> parts = plan.buckets();
    std::ranges::sort(parts, std::ranges::greater(), &Bucket::size);
    // Large buckets one after another by all threads, the others each by one.
    const std::uint64_t large =
        threads == Threads::one ? count_ : std::max(count_ / (2 * cpu_threads()), task_elements);
    std::size_t done = 0;
    for (; done < parts.size() && parts[done].size() > large; ++done) finish(parts[done], threads);
    if (threads == Threads::one) {
      for (; done < parts.size(); ++done) finish(parts[done], Threads::one);
    } else {
      runtime::parallel_tasks(parts.size() - done,
                              [&](std::uint64_t part) { finish(parts[done + part], Threads::one); });
    }
  }

 private:
  void finish(Bucket bucket, Threads threads) const;
  void order_run(std::uint64_t first, std::uint64_t last, Threads threads) const;
  void sort_slots(std::uint64_t* slots, std::uint64_t count, Threads threads) const;
  [[nodiscard]] std::uint32_t index(std::uint64_t i) const noexcept { return static_cast<std::uint32_t>(slots_[i]); }
  [[nodiscard]] bool alike(std::uint64_t i, std::uint64_t j) const noexcept {
    return (slots_[i] ^ slots_[j]) >> 32 == 0;
  }

  Numbers<T> number_of_;
  unsigned dropped_;  // of a number's bits, those that do not fit into a slot
  std::uint64_t count_;
  std::uint64_t* slots_;
  const Finished& finished_;
};

template <class T>
void Orderer<T>::sort_slots(std::uint64_t* slots, std::uint64_t count, Threads threads) const {
  // One key alone is in order already.
  if (trend_of({Dtype::i64, Order::ascending}, slots, count).rising) return;
  quick_sort(reinterpret_cast<std::int64_t*>(slots), count, {}, threads);
}

template <class T>
void Orderer<T>::finish(Bucket bucket, Threads threads) const {
  sort_slots(slots_ + bucket.first, bucket.size(), threads);
  if (dropped_ != 0) {
    for (std::uint64_t i = bucket.first; i < bucket.last;) {
      if (i + ahead + 1 < bucket.last && alike(i + ahead, i + ahead + 1)) {
        __builtin_prefetch(number_of_.keys + index(i + ahead));
        __builtin_prefetch(number_of_.keys + index(i + ahead + 1));
      }
      std::uint64_t end = i + 1;
      while (end < bucket.last && alike(i, end)) ++end;
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
  if (size > short_run) {
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t lower = std::uint64_t{number_of_(index(first + i))} & ((std::uint64_t{1} << dropped_) - 1);
      slots[i] = (lower << 32 | index(first + i)) ^ sign;
    }
    return sort_slots(slots, size, threads);
  }
  std::array<Key, short_run> found;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t slot = slots[i];
    const Key here = number_of_(static_cast<std::uint32_t>(slot));
    std::uint64_t at = i;
    for (; at != 0 && found[at - 1] > here; --at) {
      found[at] = found[at - 1];
      slots[at] = slots[at - 1];
    }
    found[at] = here;
    slots[at] = slot;
  }
}

}  // namespace

void order_slots(const KeyRule& rule, const void* keys, std::uint64_t count, std::uint64_t* slots, Threads threads,
                 const std::function<void(std::uint64_t, std::uint64_t)>& finished) {
  if (count == 0) return;
  with_keys(rule, [&]<class T>(Keys<T> key) {
    const Numbers<T> numbers = numbers_of(key, static_cast<const T*>(keys), count, threads);
    Orderer<T>(numbers, count, slots, finished).run(threads);
  });
}

}  // namespace masu::cpu
