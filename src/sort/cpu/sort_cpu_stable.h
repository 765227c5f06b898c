// SPDX-License-Identifier: Apache-2.0
// The stable sorts of the CPU that are asked for by name. Those by radix and by merging need the temporary memory of
// one copy of what is moved.
#pragma once

#include "sort/cpu/sort_cpu_keys.h"
#include "sort/sort_job.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace masu::cpu {

// What is sorted: keys alone, keys with values of `value_bytes` bytes, or, where `indices` is not null, the order of
// keys that stay.
struct StableWork {
  Dtype dtype;
  void* keys;
  std::uint64_t count;
  std::byte* values = nullptr;
  std::size_t value_bytes = 0;
  void* indices = nullptr;
  std::size_t index_bytes = 0;
};

// The least significant digit first, 8 bits at a time; digits in which all keys are alike are passed over.
void radix_sort(const StableWork& work, Order order, Threads threads);
// Short runs by insertion, then two runs at a time are merged.
void merge_sort(const StableWork& work, Order order, Threads threads);
// From one place to another: keys, and values of `value_bytes` bytes with them, or none.
struct MergeArrays {
  void* keys;
  void* merged_keys;
  std::byte* values = nullptr;
  std::byte* merged_values = nullptr;
  std::size_t value_bytes = 0;
};
// Merges sorted runs, of which none is empty and each lies behind the one before, stably. Both places are written to.
void merge_runs(Dtype dtype, const MergeArrays& arrays, std::span<const Run> runs, Order order, Threads threads);
// The network of masu/bitonic.h over pairs of key and index: needs 24 bytes for each key, and a copy of what is moved.
void network_sort(const StableWork& work, Order order);

}  // namespace masu::cpu
