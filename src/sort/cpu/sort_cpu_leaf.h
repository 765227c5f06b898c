// SPDX-License-Identifier: Apache-2.0
// Sorts, ascending, as many codes as fit a core's own cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace masu::cpu {

// By Highway's vqsort; by digits, in temporary memory for as many, where the processor makes that slow.
void sort_leaf(std::uint16_t* codes, std::size_t count);
void sort_leaf(std::int32_t* codes, std::size_t count);
void sort_leaf(std::int64_t* codes, std::size_t count);

// The latter of the two ways. For tests.
void sort_leaf_by_digits(std::uint16_t* codes, std::size_t count);
void sort_leaf_by_digits(std::int32_t* codes, std::size_t count);

}  // namespace masu::cpu
