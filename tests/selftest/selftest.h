// SPDX-License-Identifier: Apache-2.0
// The groups of the long self-test, and what they share.
#pragma once

#include "elements/dtypes.h"

#include <masu/device.h>
#include <masu/histogram.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

// Of seven things that take turns the one of a case. Every seventh case, which --quick runs, has another one too.
template <class T>
const T& in_turn(const std::array<T, 7>& all, std::uint64_t number) {
  return all[(number + number / 7) % 7];
}

// What the cases of one primitive on one device came to.
struct SelftestTally {
  std::uint64_t every = 1;  // of so many cases one is run
  std::uint64_t met = 0;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::vector<std::string> failures;  // the first few, in words

  void add(bool passed_case, const std::string& name) {
    ++(passed_case ? passed : failed);
    if (!passed_case && failures.size() < 10) failures.push_back(name);
  }
};

// Random values of a dtype between -100 and 120.
std::vector<std::byte> selftest_data(Dtype dtype, std::string_view distribution, std::uint64_t count,
                                     std::uint64_t seed);
// Adds what `test` finds, where it is this case's turn; refusals that a device or a named strategy may give are left
// out.
void selftest_case(const Device& device, SelftestTally& tally, const std::string& name, Strategy strategy,
                   const std::function<bool()>& test);

// Whether the bytes are those of the elements at `places` of the data.
bool are_elements(const std::byte* bytes, const ArrayView& data, const std::vector<std::uint64_t>& places);
// The same as selftest_data with zeros of both signs, infinities and NaNs of several bits among floats.
std::vector<std::byte> selftest_special_data(Dtype dtype, std::string_view distribution, std::uint64_t count,
                                             std::uint64_t seed);

// Data of `rows` rows, case `number` of those of a primitive; false where what is found is not the reference's.
struct SelftestData {
  const Device& device;
  ArrayView data;
  std::uint64_t rows;
  std::uint64_t number;
};
struct SelftestCheck {
  const char* name;
  bool (*run)(const SelftestData& test);
};
struct SelftestShape {
  std::uint64_t rows;
  std::uint64_t length;
};
// Each check of each shape of each dtype. Distributions take turns; of every `special` cases one has NaNs and zeros of
// both signs.
void selftest_each(const Device& device, SelftestTally& tally, std::span<const SelftestShape> shapes,
                   std::span<const SelftestCheck> checks, std::uint64_t special);

void selftest_sort(const Device& device, SelftestTally& tally);
void selftest_topk(const Device& device, SelftestTally& tally);
// Runs and searching too.
void selftest_unique(const Device& device, SelftestTally& tally);
// The n-th element and partitions too.
void selftest_quantile(const Device& device, SelftestTally& tally);
void selftest_sum(const Device& device, SelftestTally& tally);
void selftest_reduce(const Device& device, SelftestTally& tally);
void selftest_scan(const Device& device, SelftestTally& tally);
// Transposing, gathering and their kin.
void selftest_movement(const Device& device, SelftestTally& tally);
void selftest_convert(const Device& device, SelftestTally& tally);
void selftest_histogram(const Device& device, SelftestTally& tally);
// Rows, joint histograms, regions of images, and bins that are found in the data.
void selftest_shapes(const Device& device, SelftestTally& tally);

}  // namespace masu::cli
