// SPDX-License-Identifier: Apache-2.0
// CUB's sorts behind a plain function, so that only cub_sort.cu is compiled by nvcc.
#pragma once

#include "cub_types.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace masu::bench {

enum class CubSort {
  radix_keys,   // DeviceRadixSort::SortKeys
  radix_pairs,  // SortPairs, with u32 values
  merge_keys,   // DeviceMergeSort::SortKeysCopy; u32, u64 and f32 alone
  merge_pairs,  // SortPairsCopy, with u32 values; u32 alone
  segmented,    // DeviceSegmentedSort::SortKeys; u32 alone
};

struct CubSortTask {
  CubType type;
  CubSort sort;
  const void* keys;
  std::uint64_t count;
  const std::vector<std::uint64_t>& offsets;  // of the segments, and the end
  unsigned repeats;                           // fewer where they take long
  bool result;                                // whether keys and values are wanted
};

struct CubSorted {
  std::vector<double> device_seconds;
  std::vector<double> call_seconds;  // by the host's clock, until the result is there
  std::vector<std::byte> keys;
  std::vector<std::uint32_t> values;  // of pairs: where each key was
  std::uint64_t scratch;              // bytes that CUB asked for
};

// Values are 0, 1, 2, … Sizes are 64-bit. Throws std::runtime_error.
CubSorted cub_sort(const CubSortTask& task);

}  // namespace masu::bench
