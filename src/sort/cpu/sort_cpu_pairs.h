// SPDX-License-Identifier: Apache-2.0
// Keys with values, and the order of keys, by the fastest stable way.
#pragma once

#include "sort/cpu/sort_cpu_quick.h"

#include <masu/sort.h>

#include <cstddef>
#include <cstdint>

namespace masu::cpu {

void sort_pairs(Dtype dtype, void* keys, std::byte* values, std::size_t value_bytes, std::uint64_t count, Order order,
                Threads threads);
// `indices` are of 4 or 8 bytes.
void sort_order(Dtype dtype, const void* keys, void* indices, std::size_t index_bytes, std::uint64_t count, Order order,
                Threads threads);

}  // namespace masu::cpu
