// SPDX-License-Identifier: Apache-2.0
// Keys alone, by the fastest way that leaves the bits a stable sort would leave; keys with values, and the order of
// keys, by the fastest stable way.
#pragma once

#include "sort/cpu/sort_cpu_quick.h"

#include <masu/sort.h>

#include <cstddef>
#include <cstdint>

namespace masu::cpu {

void sort_keys(Dtype dtype, void* keys, std::uint64_t count, Order order, Threads threads);

// trend_of() by several threads, where the data's beginning does not end it.
Trend trend_of(Dtype dtype, const void* keys, std::uint64_t count, Order order, Threads threads);

void sort_pairs(Dtype dtype, void* keys, std::byte* values, std::size_t value_bytes, std::uint64_t count, Order order,
                Threads threads);
// `indices` are of 4 or 8 bytes.
void sort_order(Dtype dtype, const void* keys, void* indices, std::size_t index_bytes, std::uint64_t count, Order order,
                Threads threads);

}  // namespace masu::cpu
