// SPDX-License-Identifier: Apache-2.0
// Selection and partition of host memory on the CPU.
#pragma once

#include <masu/dtype.h>
#include <masu/quantile.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace masu {

// Refuses places that do not ascend or are not within a row.
void check_places(std::string_view function, std::uint64_t length, std::span<const std::uint64_t> places);

}  // namespace masu

namespace masu::cpu {

// The ascending keys (elements/order.h) at `places`, which ascend, of each row: row by row.
void keys_at(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
             std::span<std::uint64_t> keys);
// Parts the data around the element at a place, by all threads.
PartitionResult partition_at(const ArrayView& data, void* result, std::uint64_t place);

}  // namespace masu::cpu
