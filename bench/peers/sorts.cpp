// SPDX-License-Identifier: Apache-2.0
// Sorting as the standard library and Highway do it: std::sort, std::stable_sort, std::sort(par), vqsort; argsort with
// keys and indices packed into 64 bits and sorted by vqsort. Floats that have NaNs are ordered by std::sort as masu
// orders them; vqsort orders them among the numbers' ends.
#include <hwy/contrib/sort/vqsort.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cstring>
#include <execution>
#include <stdexcept>
#include <type_traits>

#include "loops.h"

namespace masu::bench {
namespace {

// NaNs last, equal to each other: a strict weak order, unlike <.
struct Before {
  template <class T>
  bool operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
    else return a < b;
  }
};

template <class T>
struct Pair {
  T key;
  std::uint32_t value;
};
struct KeyBefore {
  template <class T>
  bool operator()(const Pair<T>& a, const Pair<T>& b) const {
    return Before{}(a.key, b.key);
  }
};

template <class T>
std::span<const T> keys_of(const SortPeer::Task& task) {
  return {static_cast<const T*>(task.keys.data), task.keys.count};
}

// Sorts a fresh copy of the keys each time; sort(first, last).
template <class T, class Sort>
Sorted sort_keys(const SortPeer::Task& task, const Sort& sort) {
  const auto keys = keys_of<T>(task);
  std::vector<T> work(keys.size());
  Sorted sorted;
  sorted.kernel = time_repeats(
      task.repeats,
      [&] {
        if (task.offsets.empty()) sort(work.data(), work.data() + work.size());
        for (std::size_t i = 1; i < task.offsets.size(); ++i) {
          sort(work.data() + task.offsets[i - 1], work.data() + task.offsets[i]);
        }
      },
      [&] { std::copy(keys.begin(), keys.end(), work.begin()); });
  if (task.result) {
    sorted.keys.resize(work.size() * sizeof(T));
    std::memcpy(sorted.keys.data(), work.data(), sorted.keys.size());
  }
  return sorted;
}

template <class T, class Sort>
Sorted sort_pairs(const SortPeer::Task& task, const Sort& sort) {
  const auto keys = keys_of<T>(task);
  std::vector<Pair<T>> pairs(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) pairs[i] = {keys[i], static_cast<std::uint32_t>(i)};
  std::vector<Pair<T>> work(pairs.size());
  Sorted sorted;
  sorted.kernel = time_repeats(
      task.repeats, [&] { sort(work.data(), work.data() + work.size()); },
      [&] { std::copy(pairs.begin(), pairs.end(), work.begin()); });
  if (!task.result) return sorted;
  sorted.keys.resize(work.size() * sizeof(T));
  for (std::size_t i = 0; i < work.size(); ++i) {
    std::memcpy(sorted.keys.data() + i * sizeof(T), &work[i].key, sizeof(T));
    sorted.values.push_back(work[i].value);
  }
  return sorted;
}

template <class T, class Sort>
Sorted sort_order(const SortPeer::Task& task, const Sort& sort) {
  const auto keys = keys_of<T>(task);
  Sorted sorted;
  sorted.values.resize(keys.size());
  sorted.kernel = time_repeats(task.repeats, [&] {
    for (std::size_t i = 0; i < keys.size(); ++i) sorted.values[i] = static_cast<std::uint32_t>(i);
    sort(sorted.values.data(), sorted.values.data() + sorted.values.size(),
         [&](std::uint32_t a, std::uint32_t b) { return Before{}(keys[a], keys[b]); });
  });
  if (!task.result) sorted.values.clear();
  return sorted;
}

template <class Sort>
Sorted run_with(const SortPeer::Task& task, const Sort& sort) {
  return with_type(task.keys.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (task.what->kind == SortCase::Kind::pairs) {
      return sort_pairs<T>(task, [&](auto* first, auto* last) { sort(first, last, KeyBefore{}); });
    }
    if (task.what->has_order()) return sort_order<T>(task, sort);
    return sort_keys<T>(task, [&](auto* first, auto* last) { sort(first, last, Before{}); });
  });
}

Sorted standard(const SortPeer::Task& task) {
  return run_with(task, [](auto* first, auto* last, const auto& before) { std::sort(first, last, before); });
}

Sorted stable(const SortPeer::Task& task) {
  return run_with(task, [](auto* first, auto* last, const auto& before) { std::stable_sort(first, last, before); });
}

Sorted parallel(const SortPeer::Task& task) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, task.threads);
  return run_with(
      task, [](auto* first, auto* last, const auto& before) { std::sort(std::execution::par, first, last, before); });
}

// The order of 32-bit keys: each packed above its index, sorted, unpacked.
Sorted packed(const SortPeer::Task& task) {
  const auto* bits = static_cast<const std::uint32_t*>(task.keys.data);
  constexpr std::uint32_t sign = 0x80000000;
  const bool floats = is_float(task.keys.dtype);
  std::vector<std::uint64_t> work(task.keys.count);
  Sorted sorted;
  sorted.values.resize(task.keys.count);
  sorted.kernel = time_repeats(task.repeats, [&] {
    for (std::size_t i = 0; i < work.size(); ++i) {
      std::uint32_t key = bits[i];
      if (floats) key = (key & sign) != 0 ? ~key : key | sign;
      work[i] = std::uint64_t{key} << 32 | i;
    }
    hwy::Sorter{}(work.data(), work.size(), hwy::SortAscending{});
    for (std::size_t i = 0; i < work.size(); ++i) sorted.values[i] = static_cast<std::uint32_t>(work[i]);
  });
  if (!task.result) sorted.values.clear();
  return sorted;
}

Sorted vectors(const SortPeer::Task& task) {
  if (task.what->has_order()) return packed(task);
  return with_type(task.keys.dtype, [&](auto zero) -> Sorted {
    using T = decltype(zero);
    if constexpr (sizeof(T) == 1) throw std::runtime_error("no keys of 8 bits");
    else {
      return sort_keys<T>(task, [](T* first, T* last) {
        hwy::Sorter{}(first, static_cast<std::size_t>(last - first), hwy::SortAscending{});
      });
    }
  });
}

}  // namespace

PeerSuite standard_sorts() {
  const std::vector<std::string> all = {"u32",           "f32",           "u64",           "u8",
                                        "u16",           "i32",           "i64",           "f64",
                                        "pairs-u32-u32", "pairs-u64-u32", "argsort-u32",   "argsort-f32",
                                        "rows-256",      "segments-4Ki",  "segments-64Ki", "segments-1Mi"};
  const std::vector<std::string> whole = {"u32", "f32", "u64", "u8", "u16", "i32", "i64", "f64"};
  const std::vector<std::string> wide = {"u32",          "f32",           "u64",         "u16",         "i32",
                                         "i64",          "f64",           "argsort-u32", "argsort-f32", "rows-256",
                                         "segments-4Ki", "segments-64Ki", "segments-1Mi"};
  return sort_peers({{{"std::sort", "cpu", all, 1}, false, true, standard},
                     {{"std::stable_sort", "cpu", all, 1}, true, true, stable},
                     {{"std::sort(par)", "cpu", whole, 1U << 16}, false, true, parallel},
                     {{"vqsort", "cpu", wide, 1}, false, false, vectors}},
                    {"16Mi"});
}

}  // namespace masu::bench
