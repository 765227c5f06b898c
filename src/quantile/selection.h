// SPDX-License-Identifier: Apache-2.0
// Selection and partition of host memory on the CPU.
#pragma once

#include <masu/dtype.h>
#include <masu/quantile.h>

#include <cstdint>
#include <span>

namespace masu::cpu {

// The ascending keys (elements/order.h) at `places`, which ascend, of each row: row by row.
void keys_at(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
             std::span<std::uint64_t> keys);
// Parts the data around the element at a place, by all threads.
PartitionResult partition_at(const ArrayView& data, void* result, std::uint64_t place);

}  // namespace masu::cpu
