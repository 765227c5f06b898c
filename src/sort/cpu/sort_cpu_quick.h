// SPDX-License-Identifier: Apache-2.0
// Sorts 32-bit and 64-bit keys in place on the CPU, where equal codes (sort_simd.h) cannot be told apart. Needs no
// memory to speak of.
#pragma once

#include "sort/cpu/sort_simd.h"

#include <cstddef>
#include <cstdint>

namespace masu::cpu {

// Whether a call may use more than the calling thread. Never inside of a task of runtime::parallel_tasks.
enum class Threads { one, all };

// Sorts the codes of `bits`, and leaves them as bits.
void quick_sort(std::int32_t* bits, std::size_t count, Coding<std::int32_t> coding, Threads threads);
void quick_sort(std::int64_t* bits, std::size_t count, Coding<std::int64_t> coding, Threads threads);

}  // namespace masu::cpu
