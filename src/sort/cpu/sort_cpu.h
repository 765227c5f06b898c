// SPDX-License-Identifier: Apache-2.0
// Sorting on the CPU. Every function honours job.order, job.algorithm and job.pieces; what is outside of the pieces
// stays as it is (is copied, where there is a place to copy it to).
#pragma once

#include "sort/sort_job.h"

#include <masu/sort.h>

#include <cstdint>
#include <span>

namespace masu {

// `result` may be `data` itself, and must not overlap it otherwise.
void sort_cpu(const ArrayView& data, void* result, const SortJob& job);
void sort_by_key_cpu(MutableArrayView keys, RecordsView values, const SortJob& job);
// indices.dtype is u32 or u64.
void argsort_cpu(const ArrayView& keys, MutableArrayView indices, const SortJob& job);
// Whether every piece is in order.
bool is_sorted_cpu(const ArrayView& data, const SortJob& job);

}  // namespace masu

namespace masu::bitonic {

// The bitonic network on the CPU.

// The stable order of the keys, keys[indices[0]] first, by the network of masu/bitonic.h over pairs of key and index.
// As many indices as keys. Takes 16 bytes of memory for each.
void order_cpu(const ArrayView& keys, Order order, std::span<std::uint64_t> indices);

}  // namespace masu::bitonic
