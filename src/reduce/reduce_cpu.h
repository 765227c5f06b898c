// SPDX-License-Identifier: Apache-2.0
// Reducing on the CPU.
#pragma once

#include "reduce/reduce_rank.h"

#include <masu/dtype.h>
#include <masu/reduce.h>

#include <cstdint>
#include <vector>

namespace masu {

// What is found in each of `rows` rows of equal length, at least one element each; indices count from `first` on.
std::vector<Reduced> reduce_cpu(const ArrayView& data, std::uint64_t rows, ReduceOp op, bool skip,
                                std::uint64_t first = 0);

}  // namespace masu

namespace masu::cpu {

// The loops over elements, compiled once for each instruction set.

// The place of an extreme is sought in the one block of this many bytes that has it first.
inline constexpr std::uint64_t block_bytes = std::uint64_t{1} << 16;

// The least rank of elements, and where the first block begins that has it, in elements.
struct BestBlock {
  std::uint64_t rank = ~std::uint64_t{0};
  std::uint64_t begin = 0;
};
// Of the least and of the greatest of at least one element; what `op` does not want is left as it is.
struct BestBlocks {
  BestBlock of[2];
};
BestBlocks best_blocks(Dtype dtype, const void* elements, std::uint64_t count, ReduceOp op, bool skip);

// The first element of this rank; `count` where there is none.
std::uint64_t first_of_rank(Dtype dtype, const void* elements, std::uint64_t count, const ExtremeRule& rule,
                            std::uint64_t rank);

// How many elements are not zero.
std::uint64_t nonzero_elements(Dtype dtype, const void* elements, std::uint64_t count);

}  // namespace masu::cpu
