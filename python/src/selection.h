// SPDX-License-Identifier: Apache-2.0
// The keys at a few places of the sorted order of a long row, in one pass: a sample tells between which keys each place
// lies, the pass counts what is below and collects what is between, and the place is found among that.
//
// Method: R. W. Floyd, R. L. Rivest, "Expected time bounds for selection", CACM 18(3), 1975.
#pragma once

#include "keys.h"

#include <masu/interrupt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace masu_python {

// Elements that a loop passes between two looks at whether the call shall end; a multiple of every block.
inline constexpr std::uint64_t interruptible = std::uint64_t{1} << 18;

// A key, and how many of the row are less and equal.
template <class K>
struct Place {
  K key = 0;
  std::uint64_t less = 0;
  std::uint64_t equal = 0;
};

template <class K>
struct Between {
  K low = 0;
  K high = 0;
  std::uint64_t below = 0;    // keys that are less than low
  std::uint64_t count = 0;    // keys from low to high
  std::vector<K> found = {};  // those keys, but where low is high
};

// Keys between which each of the places (ascending) lies in all likelihood, as a sample has it; what overlaps is one.
template <class T>
std::vector<Between<Key<T>>> likely(const T* row, std::uint64_t length, std::span<const std::uint64_t> places) {
  constexpr std::uint64_t samples = 1U << 14;
  std::vector<Key<T>> sample(samples);
  const std::uint64_t step = length / samples;
  std::uint64_t random = 0x9e3779b97f4a7c15;
  for (std::uint64_t i = 0; i < samples; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    sample[i] = key_of(row[i * step + (random >> 33) % step]);
  }
  std::sort(sample.begin(), sample.end());
  std::vector<Between<Key<T>>> result;
  for (const std::uint64_t place : places) {
    const double share = static_cast<double>(place) / static_cast<double>(length);
    const double middle = share * samples;
    const double spread = 4 * std::sqrt(samples * share * (1 - share)) + 8;
    const double first = std::floor(middle - spread);
    const double last = std::ceil(middle + spread);
    const Key<T> low = first < 0 ? Key<T>{0} : sample[static_cast<std::size_t>(first)];
    const Key<T> high = last >= samples ? std::numeric_limits<Key<T>>::max() : sample[static_cast<std::size_t>(last)];
    if (!result.empty() && low <= result.back().high) result.back().high = std::max(high, result.back().high);
    else result.push_back({low, high});
  }
  return result;
}

// One place for each of `places`, which ascend; nothing where the sample misled or too many keys are alike. The row has
// 2^15 elements or more.
template <class T>
std::vector<Place<Key<T>>> select(const T* row, std::uint64_t length, std::span<const std::uint64_t> places) {
  using K = Key<T>;
  constexpr std::uint64_t block = 2048;
  std::vector<Between<K>> between = likely(row, length, places);
  const std::uint64_t most = length / 4 + block;
  for (Between<K>& range : between) {
    if (range.low != range.high) range.found.resize(most / between.size() + block);
  }
  std::array<K, block> keys;
  for (std::uint64_t first = 0; first < length; first += block) {
    if (first % interruptible == 0) masu::check_interrupted();
    const std::uint64_t count = std::min(block, length - first);
    for (std::uint64_t i = 0; i < count; ++i) keys[i] = key_of(row[first + i]);
    for (Between<K>& range : between) {
      const K width = static_cast<K>(range.high - range.low);
      std::uint64_t below = 0;
      std::uint64_t end = range.count;
      if (width == 0) {
        for (std::uint64_t i = 0; i < count; ++i) {
          below += keys[i] < range.low ? 1 : 0;
          end += keys[i] == range.low ? 1 : 0;
        }
      } else {
        if (end + count > range.found.size()) return {};
        K* const found = range.found.data();
        for (std::uint64_t i = 0; i < count; ++i) {
          below += keys[i] < range.low ? 1 : 0;
          found[end] = keys[i];
          end += static_cast<K>(keys[i] - range.low) <= width ? 1 : 0;
        }
      }
      range.below += below;
      range.count = end;
    }
  }
  std::vector<Place<K>> result;
  std::size_t at = 0;
  for (const std::uint64_t place : places) {
    while (at < between.size() && place >= between[at].below + between[at].count) ++at;
    if (at == between.size() || place < between[at].below) return {};
    Between<K>& range = between[at];
    if (range.found.empty()) {
      result.push_back({range.low, range.below, range.count});
      continue;
    }
    const auto begin = range.found.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(range.count);
    const auto middle = begin + static_cast<std::ptrdiff_t>(place - range.below);
    std::nth_element(begin, middle, end);
    const K key = *middle;
    const auto less = static_cast<std::uint64_t>(std::count_if(begin, middle, [&](K one) { return one < key; }));
    result.push_back({key, range.below + less, static_cast<std::uint64_t>(std::count(begin, end, key))});
  }
  return result;
}

}  // namespace masu_python
