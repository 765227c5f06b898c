// SPDX-License-Identifier: Apache-2.0
#include "topk/topk_cpu.h"

#include "elements/special_values.h"
#include "runtime/parallel.h"
#include "select/select_places.h"

#include <masu/device.h>
#include <masu/sort.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

namespace masu::cpu {

namespace {

constexpr std::size_t block_elements = 4096;       // that the SIMD loop looks at in one call
constexpr std::size_t looked_after_blocks = 64;    // whether the call is interrupted
constexpr std::uint64_t sorted_entries = 1 << 16;  // by one task
constexpr std::uint64_t least_sampled = 1 << 16;   // elements that are worth a sample
constexpr std::uint64_t most_samples = 1 << 14;
constexpr std::uint64_t elements_a_sample = 256;                 // at least
constexpr std::uint64_t most_kept = std::uint64_t{1} << 60;      // more than there is, and small enough to count with
constexpr std::uint64_t turn_elements = std::uint64_t{1} << 19;  // at least, of one thread's turn
constexpr std::size_t spare_entries = 512;                       // beside 2 k, before a list is cut
constexpr std::uint64_t least_ordered = 1 << 16;  // elements of a row whose whole order is found where much is wanted
constexpr std::uint64_t ordered_share = 8;        // more than this part of them

template <class T>
std::uint64_t bits_of(T x) {
  return std::bit_cast<KeyOf<T>>(x);
}

// What a part of the elements leaves: a list that is cut to k whenever it is full. Each cut raises the threshold: later
// elements have higher indices, and so must have a higher rank.
template <class T>
class Scan {
 public:
  // Elements below `least` are of no interest.
  Scan(const Ranking& ranking, std::uint64_t k, std::uint64_t least)
      : ranking_(ranking), k_(std::min(k, most_kept)), least_(least) {}

  void add(const T* x, std::uint64_t count, std::uint64_t first) {
    std::array<std::uint32_t, block_elements> places;
    for (std::uint64_t i = 0; i < count && !closed_; i += block_elements) {
      if ((first + i) / block_elements % looked_after_blocks == 0) runtime::check_interrupted();
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, count - i));
      const auto [least_key, greatest_key] = ranking_.keys_from<T>(least_);
      const std::size_t found = select_loops<T>().find_within(x + i, length, least_key, greatest_key, places.data());
      for (std::size_t p = 0; p < found; ++p) {
        const T value = x[i + places[p]];
        const std::uint64_t rank = ranking_(value);
        if (rank < least_ || closed_ || (ranking_.skip && rank == 0)) continue;
        entries_.push_back({rank, first + i + places[p], bits_of(value)});
        if (entries_.size() >= 2 * k_ + spare_entries) cut();
      }
    }
  }
  std::vector<TopkEntry>& entries() noexcept { return entries_; }

 private:
  void cut() {
    const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(entries_.begin(), last, entries_.end());
    closed_ = last->rank == static_cast<KeyOf<T>>(~KeyOf<T>{0});
    least_ = last->rank + 1;
    entries_.resize(k_);
  }

  Ranking ranking_;
  std::uint64_t k_;
  std::uint64_t least_;
  bool closed_ = false;  // nothing can come before what there is
  std::vector<TopkEntry> entries_;
};

// Looks random; the same everywhere.
std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

// A rank that k of the elements reach but once in some millions, and that few more do: the sample's element that lies
// five deviations and eight beyond where the k-th is expected. 0 where a sample is not worth it.
template <class T>
std::uint64_t sampled_rank(const Ranking& ranking, const T* x, std::uint64_t count, std::uint64_t k) {
  if (count < least_sampled || k > count / 4) return 0;
  const std::uint64_t samples = std::min(most_samples, count / elements_a_sample);
  const double mean = static_cast<double>(samples) * static_cast<double>(k) / static_cast<double>(count);
  const auto rest = static_cast<std::uint64_t>(mean + 5 * std::sqrt(mean) + 8);
  if (rest >= samples / 2) return 0;
  std::vector<std::uint64_t> ranks(samples);
  const std::uint64_t width = count / samples;
  for (std::uint64_t i = 0; i < samples; ++i) ranks[i] = ranking(x[i * width + scrambled(i) % width]);
  const auto place = ranks.begin() + static_cast<std::ptrdiff_t>(rest);
  std::nth_element(ranks.begin(), place, ranks.end(), std::greater<>());
  return *place;
}

void keep(std::vector<TopkEntry>& entries, std::uint64_t k) {
  if (entries.size() <= k) return;
  std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(k), entries.end());
  entries.resize(k);
}

void sort_entries(std::vector<TopkEntry>& entries) {
  const std::uint64_t count = entries.size();
  const auto parts = [&](std::uint64_t length, const auto& body) {
    runtime::parallel_tasks((count + length - 1) / length, [&](std::uint64_t task) {
      const auto at = [&](std::uint64_t place) { return static_cast<std::ptrdiff_t>(std::min(count, place)); };
      body(at(task * length), at(task * length + length / 2), at((task + 1) * length));
    });
  };
  if (std::is_sorted(entries.begin(), entries.end())) return;
  if (count <= sorted_entries) return std::sort(entries.begin(), entries.end());
  const auto begin = entries.begin();
  parts(sorted_entries,
        [&](std::ptrdiff_t first, std::ptrdiff_t, std::ptrdiff_t end) { std::sort(begin + first, begin + end); });
  std::vector<TopkEntry> merged(count);
  for (std::uint64_t length = 2 * sorted_entries; length < 2 * count; length *= 2) {
    const auto from = entries.begin();
    parts(length, [&](std::ptrdiff_t first, std::ptrdiff_t middle, std::ptrdiff_t end) {
      std::merge(from + first, from + middle, from + middle, from + end, merged.begin() + first);
    });
    entries.swap(merged);
  }
}

// The first k of a row from its whole order: sooner than from a list where k is a large part of the row.
template <class T>
void first_of_order(const T* x, std::uint64_t count, std::uint64_t k, const Ranking& ranking, const RowsTarget& target,
                    std::uint64_t row) {
  using Key = KeyOf<T>;
  const auto keys = std::make_unique_for_overwrite<Key[]>(count);
  const auto order = std::make_unique_for_overwrite<std::uint64_t[]>(count);
  std::vector<std::uint64_t> nans(count / turn_elements + 1);
  runtime::parallel_parts(count, turn_elements, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) keys[i] = static_cast<Key>(~ranking(x[i]));
    if (ranking.skip) nans[begin / turn_elements] = count_nans(x + begin, end - begin);
  });
  argsort(Device::open("cpu"), ArrayView(dtype_of<Key>, keys.get(), count),
          MutableArrayView(Dtype::u64, order.get(), count));
  std::uint64_t skipped = 0;
  for (const std::uint64_t n : nans) skipped += n;
  const std::uint64_t found = std::min(k, count - skipped);
  auto* values = static_cast<T*>(target.values) + row * k;
  runtime::parallel_parts(found, turn_elements, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      target.indices[row * k + i] = order[i];
      values[i] = x[order[i]];
    }
  });
  target.found[row] = found;
  target.skipped[row] = skipped;
}

}  // namespace

TopkList::TopkList(Dtype dtype, const Ranking& ranking, std::uint64_t k)
    : dtype_(dtype), ranking_(ranking), k_(std::min(k, most_kept)) {}

void TopkList::keep_first() {
  keep(kept_, k_);
}

void TopkList::add(const ArrayView& data, std::uint64_t first) {
  dispatch(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    add_elements(static_cast<const T*>(data.data), data.count, first);
  });
}

void TopkList::add(const std::vector<TopkEntry>& entries, std::uint64_t skipped) {
  skipped_ += skipped;
  if (!std::is_sorted(kept_.begin(), kept_.end())) sort_entries(kept_);
  const auto old = kept_.insert(kept_.end(), entries.begin(), entries.end());
  std::inplace_merge(kept_.begin(), old, kept_.end());
  kept_.resize(std::min<std::uint64_t>(kept_.size(), k_));
}

template <class T>
void TopkList::add_elements(const T* x, std::uint64_t count, std::uint64_t first) {
  if (count == 0) return;
  const std::uint64_t threads = cpu_threads();
  const std::uint64_t tasks =
      std::clamp<std::uint64_t>(count / turn_elements, 1, k_ < turn_elements / 64 ? 8 * threads : threads);
  // What must be reached to come before the first k so far.
  std::uint64_t threshold = 0;
  if (kept_.size() == k_) {
    const std::uint64_t last = std::max_element(kept_.begin(), kept_.end())->rank;
    if (last == static_cast<KeyOf<T>>(~KeyOf<T>{0})) {
      if (ranking_.skip) skipped_ += count_nans(x, count);
      return;
    }
    threshold = last + 1;
  }
  std::vector<std::vector<TopkEntry>> found(tasks);
  std::vector<std::uint64_t> nans(tasks);
  const auto scan = [&](std::uint64_t least, bool counting) {
    runtime::parallel_tasks(tasks, [&](std::uint64_t task) {
      const std::uint64_t begin = count / tasks * task;
      const std::uint64_t end = task + 1 == tasks ? count : begin + count / tasks;
      Scan<T> part(ranking_, k_, least);
      if (!counting) {
        part.add(x + begin, end - begin, first + begin);
      } else {
        for (std::uint64_t i = begin; i < end; i += block_elements) {  // while they are in the cache
          const std::uint64_t length = std::min<std::uint64_t>(block_elements, end - i);
          nans[task] += count_nans(x + i, length);
          part.add(x + i, length, first + i);
        }
      }
      found[task] = std::move(part.entries());
    });
  };
  const std::uint64_t sampled = sampled_rank(ranking_, x, count, k_);
  scan(std::max(threshold, sampled), ranking_.skip);
  if (sampled > threshold) {
    // The sample misled where fewer than k reach it.
    std::uint64_t reaching = static_cast<std::uint64_t>(
        std::count_if(kept_.begin(), kept_.end(), [&](const TopkEntry& entry) { return entry.rank >= sampled; }));
    for (const auto& entries : found) reaching += entries.size();
    if (reaching < k_) scan(threshold, false);
  }
  for (const std::uint64_t n : nans) skipped_ += n;
  for (auto& entries : found) {
    kept_.insert(kept_.end(), entries.begin(), entries.end());
    std::vector<TopkEntry>().swap(entries);
    if (kept_.size() > 4 * k_ + spare_entries) keep_first();
  }
  keep_first();
}

std::vector<TopkEntry> TopkList::result() const {
  std::vector<TopkEntry> result = kept_;
  sort_entries(result);
  return result;
}

void topk_rows(const ArrayView& data, std::uint64_t rows, std::uint64_t k, const Ranking& ranking,
               std::span<const std::uint64_t> lengths, const RowsTarget& target) {
  const std::uint64_t count = data.count / rows;
  const auto length_of = [&](std::uint64_t row) { return lengths.empty() ? count : lengths[row]; };
  const std::size_t size = size_of(data.dtype);
  const auto put = [&](std::uint64_t row, const std::vector<TopkEntry>& entries, std::uint64_t skipped) {
    auto* values = static_cast<std::byte*>(target.values) + row * k * size;
    for (std::uint64_t i = 0; i < entries.size(); ++i) {
      target.indices[row * k + i] = entries[i].index;
      std::memcpy(values + i * size, &entries[i].bits, size);
    }
    target.found[row] = entries.size();
    target.skipped[row] = skipped;
  };
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    if (rows == 1 || (count >= 4 * turn_elements && rows < 4 * std::uint64_t{cpu_threads()})) {
      for (std::uint64_t row = 0; row < rows; ++row) {
        const std::uint64_t length = length_of(row);
        if (length >= least_ordered && k > length / ordered_share) {
          first_of_order(x + row * count, length, k, ranking, target, row);
          continue;
        }
        TopkList list(data.dtype, ranking, k);
        list.add(ArrayView(data.dtype, x + row * count, length), 0);
        put(row, list.result(), list.skipped());
      }
      return;
    }
    const std::uint64_t rows_a_task =
        std::max<std::uint64_t>(1, turn_elements / 16 / std::max<std::uint64_t>(count, 1));
    runtime::parallel_parts(rows, rows_a_task, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t row = begin; row < end; ++row) {
        const T* from = x + row * count;
        const std::uint64_t length = length_of(row);
        const std::uint64_t sampled = sampled_rank(ranking, from, length, k);
        std::optional<Scan<T>> scan(std::in_place, ranking, k, sampled);
        scan->add(from, length, 0);
        if (sampled != 0 && scan->entries().size() < k) {
          scan.emplace(ranking, k, 0);
          scan->add(from, length, 0);
        }
        keep(scan->entries(), k);
        std::sort(scan->entries().begin(), scan->entries().end());
        put(row, scan->entries(), ranking.skip ? count_nans(from, length) : 0);
      }
    });
  });
}

}  // namespace masu::cpu
