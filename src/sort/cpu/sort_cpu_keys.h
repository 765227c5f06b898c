// SPDX-License-Identifier: Apache-2.0
// Keys alone, by the fastest way that leaves the bits a stable sort would leave; keys with values, and the order of
// keys, by the fastest stable way.
#pragma once

#include "sort/cpu/sort_simd.h"
#include "sort/sort_job.h"

#include <masu/sort.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace masu::cpu {

// Sorts 32-bit and 64-bit keys in place on the CPU, where equal codes (sort_simd.h) cannot be told apart. Needs no
// memory to speak of.

// Whether a call may use more than the calling thread. Never inside of a task of runtime::parallel_tasks.
enum class Threads { one, all };

// Sorts the codes of `bits`, and leaves them as bits.
void quick_sort(std::int32_t* bits, std::size_t count, Coding<std::int32_t> coding, Threads threads);
void quick_sort(std::int64_t* bits, std::size_t count, Coding<std::int64_t> coding, Threads threads);

void sort_keys(Dtype dtype, void* keys, std::uint64_t count, Order order, Threads threads);

// trend_of() by several threads, where the data's beginning does not end it.
Trend trend_of(Dtype dtype, const void* keys, std::uint64_t count, Order order, Threads threads);

void sort_pairs(Dtype dtype, void* keys, std::byte* values, std::size_t value_bytes, std::uint64_t count, Order order,
                Threads threads);
// `indices` are of 4 or 8 bytes.
void sort_order(Dtype dtype, const void* keys, void* indices, std::size_t index_bytes, std::uint64_t count, Order order,
                Threads threads);

// Sorts, ascending, as many codes as fit a core's own cache.

// By Highway's vqsort; by digits, in temporary memory for as many, where the processor makes that slow.
void sort_leaf(std::uint16_t* codes, std::size_t count);
void sort_leaf(std::int32_t* codes, std::size_t count);
void sort_leaf(std::int64_t* codes, std::size_t count);

// The latter of the two ways. For tests.
void sort_leaf_by_digits(std::uint16_t* codes, std::size_t count);
void sort_leaf_by_digits(std::int32_t* codes, std::size_t count);

// The stable order of keys, as 64-bit slots: a slot's lower half is the index of a key, and keys' slots stand in the
// keys' order. The upper half is free.
constexpr std::uint64_t most_slots = std::uint64_t{1} << 32;

// Writes `count` slots, at most most_slots. `finished(first, last)` is called, by any thread, for parts of them that
// will not change any more; together they are all slots.
void order_slots(Dtype dtype, const void* keys, std::uint64_t count, Order order, std::uint64_t* slots, Threads threads,
                 const std::function<void(std::uint64_t, std::uint64_t)>& finished);

// Temporary memory of the CPU's sorts.

// Bytes that nothing has been written to. Large ones are asked for in huge pages, where the system has them: touching
// fresh memory page by page can take as long as sorting it.
class Scratch {
 public:
  // Throws Error out_of_memory.
  explicit Scratch(std::uint64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  [[nodiscard]] T* as(std::uint64_t byte_offset = 0) const noexcept {
    return reinterpret_cast<T*>(data_ + byte_offset);
  }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t mapped_ = 0;  // bytes of the mapping; 0: from the heap
};

// The stable sorts of the CPU that are asked for by name. Those by radix and by merging need the temporary memory of
// one copy of what is moved.

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
