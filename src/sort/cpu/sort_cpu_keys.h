// SPDX-License-Identifier: Apache-2.0
// Keys alone, by the fastest way that leaves the bits a stable sort would leave.
#pragma once

#include "sort/cpu/sort_cpu_quick.h"

#include <masu/sort.h>

#include <cstdint>

namespace masu::cpu {

void sort_keys(Dtype dtype, void* keys, std::uint64_t count, Order order, Threads threads);

// trend_of() by several threads, where the data's beginning does not end it.
Trend trend_of(Dtype dtype, const void* keys, std::uint64_t count, Order order, Threads threads);

}  // namespace masu::cpu
