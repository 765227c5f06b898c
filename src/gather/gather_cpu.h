// SPDX-License-Identifier: Apache-2.0
// Moving records on the CPU.
#pragma once

#include "gather/gather_plan.h"

#include <cstddef>
#include <cstdint>

namespace masu {

// The first position of an index that is not below the limit; `count` where there is none.
std::uint64_t first_bad_index_cpu(const void* indices, Dtype dtype, std::uint64_t count, std::uint64_t limit);
// Gather, scatter, permute, reverse, by indices that are right.
void move_cpu(const gather_plan::Move& move, const void* in, const void* indices, void* out);
// The number of flags that are not 0, and, unless it is above `room`, the elements.
std::uint64_t compact_cpu(std::size_t element_bytes, std::uint64_t count, const void* in, const void* flags, void* out,
                          std::uint64_t room);
// start and step: the integers, or the bits of f64.
void iota_cpu(Dtype dtype, std::uint64_t count, void* out, std::uint64_t start, std::uint64_t step);

}  // namespace masu
