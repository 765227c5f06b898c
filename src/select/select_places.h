// SPDX-License-Identifier: Apache-2.0
// The elements at places of the sorted order of a row in host memory. A sample tells between which elements each place
// lies in all likelihood; one pass counts what is below and collects what is between, where the place is found again.
//
// Method: R. W. Floyd, R. L. Rivest, "Expected time bounds for selection", CACM 18(3), 1975.
#pragma once

#include "elements/order.h"
#include "runtime/parallel.h"
#include "sort/cpu/sort_cpu.h"

#include <masu/dtype.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace masu::cpu {

// The SIMD loops of selection and partition on the CPU, dispatched at run time to the best instruction set (Highway).
//
// T: an integer type, float or double; of partitions stored floats, too. Elements are compared as values: -0 is equal
// to +0, NaN is greater than all else and equal to NaN. Stored floats are compared by their ordered keys.

// What elements are compared as.
template <class T>
using WorkOf = std::conditional_t<is_stored<T>, std::uint16_t, T>;

// Those of stored floats, by their bits and those of their infinity.
void ordered_keys(const std::uint16_t* bits, std::uint64_t count, std::uint16_t infinity, std::uint16_t* keys);

// Elements that the loops may write after those that they return.
inline constexpr std::size_t spare_elements = 64;

struct Narrowed {
  std::uint64_t below, inside;
};
// The elements that are less than a pivot and equal to it; the others are greater.
struct PartSizes {
  std::uint64_t less, equal;
};
// Places of a result: where each of the three parts goes on, or where it ends.
struct PartPlaces {
  std::uint64_t less, equal, greater;
  friend bool operator==(const PartPlaces&, const PartPlaces&) = default;
};

// The loops, compiled for one set of instructions.
template <class T>
struct SelectLoops {
  // Writes the elements from `low` to `high`, in order, to `found`, which has room for `count` and spare_elements; it
  // may be x. None for stored floats.
  Narrowed (*narrow)(const T* x, std::uint64_t count, T low, T high, T* found);
  // Writes the places of the elements whose keys are from `first` to `last`, in order, and gives their number; of some
  // others, too, which the caller tells apart by their keys. `count` is below 2^32.
  std::size_t (*find_within)(const T* x, std::size_t count, std::uint64_t first, std::uint64_t last,
                             std::uint32_t* places);
  PartSizes (*count_parts)(const T* x, std::uint64_t count, WorkOf<T> pivot);
  // Writes the elements in three parts, each in order, and moves `at` on. Nothing is written from `ends` on.
  void (*part_values)(const T* x, std::uint64_t count, WorkOf<T> pivot, T* to, PartPlaces& at, const PartPlaces& ends);
  // The same of their indices from `first` on. At most 2^31 elements.
  void (*part_indices)(const T* x, std::uint64_t count, WorkOf<T> pivot, std::uint64_t first, std::uint64_t* to,
                       PartPlaces& at, const PartPlaces& ends);
};
template <class T>
const SelectLoops<T>& select_loops();

template <class T>
bool before(T a, T b) noexcept {
  if constexpr (std::is_floating_point_v<T>) return a < b || (std::isnan(b) && !std::isnan(a));
  else return a < b;
}
template <class T>
bool alike(T a, T b) noexcept {
  return !before(a, b) && !before(b, a);
}

// An element, and how many of its row come before it and are equal to it.
template <class T>
struct PlacedElement {
  T element;
  std::uint64_t less, equal;
};

// T: an integer type, float or double. Places ascend.
template <class T>
class PlaceSelector {
 public:
  using Found = PlacedElement<T>;
  // `threads`: those that sort a copy, where there are many places.
  void find(const T* row, std::uint64_t length, std::span<const std::uint64_t> places, Found* found, Threads threads) {
    if (places.size() >= many_places) by_sorting(row, length, places, found, threads);
    else select(row, length, 0, places, found);
  }

 private:
  static constexpr std::size_t many_places = 16;
  static constexpr std::uint64_t few_elements = 24;
  static constexpr std::uint64_t not_many_elements = 2048;
  static constexpr std::size_t most_samples = std::size_t{1} << 14;
  static constexpr std::uint64_t piece = std::uint64_t{1} << 14;

  static T least() { return value_of_key<T>(least_key<T>()); }
  static T greatest() { return value_of_key<T>(std::numeric_limits<KeyOf<T>>::max()); }

  // Some places between two elements.
  struct Group {
    T low, high;
    std::size_t first, count;  // of the places
    std::unique_ptr<T[]> inside = {};
    Narrowed size = {0, 0};
    [[nodiscard]] bool is_one() const { return alike(low, high); }
  };

  void select(const T* x, std::uint64_t length, std::uint64_t before_x, std::span<const std::uint64_t> places,
              Found* found) const;
  [[nodiscard]] std::vector<Group> groups_of(const T* x, std::uint64_t length, std::uint64_t before_x,
                                             std::span<const std::uint64_t> places) const;
  static void one_by_one(const T* x, std::uint64_t length, std::uint64_t before_x,
                         std::span<const std::uint64_t> places, Found* found);
  static void by_sorting(const T* row, std::uint64_t length, std::span<const std::uint64_t> places, Found* found,
                         Threads threads);
  static bool by_bounds(const T* x, std::uint64_t length, std::uint64_t before_x, T low, T high,
                        std::span<const std::uint64_t> places, Found* found);
  static void by_parting(const T* x, std::uint64_t length, std::uint64_t before_x,
                         std::span<const std::uint64_t> places, Found* found);
};

template <class T>
void PlaceSelector<T>::by_sorting(const T* row, std::uint64_t length, std::span<const std::uint64_t> places,
                                  Found* found, Threads threads) {
  const Scratch memory(length * sizeof(T));
  T* const sorted = memory.as<T>();
  copy_bytes(sorted, row, length * sizeof(T), threads);
  sort_keys(dtype_of<T>, sorted, length, Order::ascending, threads);
  for (std::size_t p = 0; p < places.size(); ++p) {
    if (p != 0 && places[p] < found[p - 1].less + found[p - 1].equal) {
      found[p] = found[p - 1];
      continue;
    }
    const T element = sorted[places[p]];
    std::uint64_t first = places[p];
    std::uint64_t last = places[p] + 1;
    if ((first != 0 && alike(sorted[first - 1], element)) || (last != length && alike(sorted[last], element))) {
      first = static_cast<std::uint64_t>(std::lower_bound(sorted, sorted + first, element, before<T>) - sorted);
      last = static_cast<std::uint64_t>(std::upper_bound(sorted + last, sorted + length, element, before<T>) - sorted);
    }
    found[p] = {element, first, last - first};
  }
}

// Where two elements are most of all, the places are theirs in all likelihood.
template <class T>
bool PlaceSelector<T>::by_bounds(const T* x, std::uint64_t length, std::uint64_t before_x, T low, T high,
                                 std::span<const std::uint64_t> places, Found* found) {
  std::size_t known = 0;
  for (const T bound : {low, high}) {
    const PartSizes sizes = select_loops<T>().count_parts(x, length, bound);
    const Found here{bound, before_x + sizes.less, sizes.equal};
    while (known != places.size() && places[known] - here.less < here.equal) found[known++] = here;
  }
  return known == places.size();
}

template <class T>
void PlaceSelector<T>::by_parting(const T* x, std::uint64_t length, std::uint64_t before_x,
                                  std::span<const std::uint64_t> places, Found* found) {
  std::vector<T> elements(x, x + length);
  T* const copy = elements.data();
  T* const end = copy + length;
  T* from = copy;
  for (std::size_t p = 0; p < places.size(); ++p) {
    T* const place = copy + (places[p] - before_x);
    std::nth_element(from, place, end, before<T>);
    const T element = *place;
    std::uint64_t less = 0;
    std::uint64_t equal = 0;
    for (const T* each = copy; each != end; ++each) {
      less += before(*each, element) ? 1U : 0U;
      equal += alike(*each, element) ? 1U : 0U;
    }
    found[p] = {element, before_x + less, equal};
    from = place;
  }
}

// Not many elements: for each place those between two of a small sample, as long as they are more than a few.
template <class T>
void PlaceSelector<T>::one_by_one(const T* x, std::uint64_t length, std::uint64_t before_x,
                                  std::span<const std::uint64_t> places, Found* found) {
  using Key = KeyOf<T>;
  constexpr std::size_t samples = 16;
  constexpr double spread = 2.5;  // samples around a place: it lies between them four times in five
  constexpr unsigned most_rounds = 24;
  const auto narrow = select_loops<T>().narrow;
  std::array<T, not_many_elements + spare_elements> memory[2];
  std::array<Key, few_elements> keys;
  const auto sort = [&](std::size_t count) {
    for (std::size_t i = 1; i < count; ++i) {
      const Key key = keys[i];
      std::size_t at = i;
      for (; at != 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
      keys[at] = key;
    }
  };
  std::uint32_t random = 0x9e3779b9;
  for (std::size_t p = 0; p < places.size(); ++p) {
    const T* these = x;
    std::uint64_t count = length;
    std::uint64_t less = before_x;
    bool known = false;
    for (unsigned round = 0; count > few_elements && places[p] - less < count && !known && round < most_rounds;
         ++round) {
      for (std::size_t i = 0; i < samples; ++i) {
        random = random * 1664525 + 1013904223;
        keys[i] = ordered_key(these[(random >> 16) * count >> 16]);
      }
      sort(samples);
      const double middle = (static_cast<double>(places[p] - less) + 0.5) / static_cast<double>(count) * samples;
      const auto first = static_cast<int>(std::floor(middle - spread));
      const auto last = static_cast<int>(std::floor(middle + spread));
      T low = first < 0 ? least() : value_of_key<T>(keys[static_cast<std::size_t>(first)]);
      T high = last >= static_cast<int>(samples) ? greatest() : value_of_key<T>(keys[static_cast<std::size_t>(last)]);
      T* const to = memory[round % 2].data();
      Narrowed size = narrow(these, count, low, high, to);
      if (places[p] < less + size.below) {
        high = low;
        low = least();
        size = narrow(these, count, low, high, to);
      } else if (places[p] >= less + size.below + size.inside) {
        low = high;
        high = greatest();
        size = narrow(these, count, low, high, to);
      }
      known = size.inside > count / 4 * 3 && by_bounds(these, count, less, low, high, places.subspan(p, 1), found + p);
      if (known) break;
      these = to;
      less += size.below;
      count = size.inside;
      if (alike(low, high)) {
        found[p] = {low, less, count};
        known = true;
      }
    }
    if (known) continue;
    if (places[p] - less >= count) {  // the elements were changed meanwhile
      by_parting(x, length, before_x, places.subspan(p, 1), found + p);
      continue;
    }
    if (count > few_elements) {  // equals, which no sample tells apart
      by_parting(these, count, less, places.subspan(p, 1), found + p);
      continue;
    }
    std::transform(these, these + count, keys.begin(), ordered_key<T>);
    sort(count);
    const auto begin = keys.begin();
    const auto [from, end] =
        std::equal_range(begin, begin + static_cast<std::ptrdiff_t>(count), keys[places[p] - less]);
    found[p] = {value_of_key<T>(*from), less + static_cast<std::uint64_t>(from - begin),
                static_cast<std::uint64_t>(end - from)};
  }
}

template <class T>
auto PlaceSelector<T>::groups_of(const T* x, std::uint64_t length, std::uint64_t before_x,
                                 std::span<const std::uint64_t> places) const -> std::vector<Group> {
  using Code = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  constexpr auto sign = sizeof(T) < 4 ? KeyOf<T>{0} : key_sign<T>;
  const double wanted = std::pow(static_cast<double>(length), 2.0 / 3) / 2;
  const std::size_t samples = std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 64, most_samples);
  const std::uint64_t step = length / samples;
  std::array<Code, 256> few;
  std::vector<Code> many(samples > few.size() ? samples : 0);
  Code* const sample = samples > few.size() ? many.data() : few.data();
  std::uint64_t random = 0x9e3779b97f4a7c15;
  for (std::size_t i = 0; i < samples; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    sample[i] =
        static_cast<Code>(static_cast<KeyOf<T>>(ordered_key(x[i * step + ((random >> 32) * step >> 32)]) ^ sign));
  }
  sort_leaf(sample, samples);
  const auto element = [&](std::size_t i) {
    return value_of_key<T>(static_cast<KeyOf<T>>(static_cast<KeyOf<T>>(sample[i]) ^ sign));
  };
  std::vector<Group> groups;
  groups.reserve(places.size());
  for (std::size_t p = 0; p < places.size(); ++p) {
    const double share = (static_cast<double>(places[p] - before_x) + 0.5) / static_cast<double>(length);
    const double middle = share * static_cast<double>(samples);
    const double spread = 2.5 * std::sqrt(middle * (1 - share)) + 3;
    const double first = std::floor(middle - spread);
    const double last = std::ceil(middle + spread);
    const T low = first < 0 ? least() : element(static_cast<std::size_t>(first));
    const T high = last >= static_cast<double>(samples) ? greatest() : element(static_cast<std::size_t>(last));
    if (!groups.empty() && !before(groups.back().high, low)) {
      groups.back().high = before(high, groups.back().high) ? groups.back().high : high;
      ++groups.back().count;
    } else {
      groups.push_back({low, high, p, 1});
    }
  }
  return groups;
}

template <class T>
void PlaceSelector<T>::select(const T* x, std::uint64_t length, std::uint64_t before_x,
                              std::span<const std::uint64_t> places, Found* found) const {
  if (length <= not_many_elements) return one_by_one(x, length, before_x, places, found);
  std::vector<Group> groups = groups_of(x, length, before_x, places);
  for (Group& group : groups) {
    if (!group.is_one()) group.inside = std::make_unique_for_overwrite<T[]>(length + spare_elements);
  }
  const SelectLoops<T>& loops = select_loops<T>();
  for (std::uint64_t first = 0; first < length; first += piece) {
    if (first % (16 * piece) == 0) runtime::check_interrupted();
    const std::uint64_t count = std::min(piece, length - first);
    for (Group& group : groups) {
      if (group.is_one()) {
        const PartSizes sizes = loops.count_parts(x + first, count, group.low);
        group.size.below += sizes.less;
        group.size.inside += sizes.equal;
      } else {
        T* const to = group.inside.get() + group.size.inside;
        const Narrowed size = loops.narrow(x + first, count, group.low, group.high, to);
        group.size.below += size.below;
        group.size.inside += size.inside;
      }
    }
  }
  for (const Group& group : groups) {
    const std::span<const std::uint64_t> these = places.subspan(group.first, group.count);
    Found* const to = found + group.first;
    const std::uint64_t begin = before_x + group.size.below;
    const std::uint64_t end = begin + group.size.inside;
    if (these.front() < begin || these.back() >= end || (!group.is_one() && group.size.inside > length / 4 * 3)) {
      // The sample misled.
      if (by_bounds(x, length, before_x, group.low, group.high, these, to)) continue;
      by_parting(x, length, before_x, these, to);
    } else if (group.is_one()) {
      std::fill_n(to, group.count, Found{group.low, begin, group.size.inside});
    } else {
      select(group.inside.get(), group.size.inside, begin, these, to);
    }
  }
}

}  // namespace masu::cpu
