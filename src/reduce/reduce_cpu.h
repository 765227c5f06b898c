// SPDX-License-Identifier: Apache-2.0
// Reducing on the CPU.
#pragma once

#include "reduce/reduce_rank.h"

#include <masu/reduce.h>

#include <cstdint>
#include <vector>

namespace masu {

// What is found in each of `rows` rows of equal length, at least one element each; indices count from `first` on.
std::vector<Reduced> reduce_cpu(const ArrayView& data, std::uint64_t rows, ReduceOp op, bool skip,
                                std::uint64_t first = 0);

}  // namespace masu
