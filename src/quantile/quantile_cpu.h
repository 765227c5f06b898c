// SPDX-License-Identifier: Apache-2.0
// Selection and partition on the CPU: counted digits, collected keys, short rows, and elements on their way to their
// part.
#pragma once

#include <masu/dtype.h>
#include <masu/quantile.h>

#include <cstdint>
#include <span>
#include <vector>

namespace masu::cpu {

// The digit of a key is its `width` bits from bit `shift` on; a prefix is what is above them. Prefixes ascend.
struct DigitPass {
  unsigned shift;
  unsigned width;
  std::span<const std::uint64_t> prefixes;
};
// Adds to a table of 2^width counts for each prefix, on all threads.
void count_digits(const ArrayView& data, const DigitPass& pass, std::span<std::uint64_t> tables);
// Appends the keys whose bits from `shift` on are one of the prefixes.
void collect_keys(const ArrayView& data, unsigned shift, std::span<const std::uint64_t> prefixes,
                  std::vector<std::uint64_t>& keys);

// The keys at `places` (ascending) of each of `rows` short rows, row by row.
std::vector<std::uint64_t> keys_of_rows(const ArrayView& data, std::uint64_t rows,
                                        std::span<const std::uint64_t> places);

// Writes the elements whose key is less, then those that have it, then the others.
PartitionResult partition_by_key(const ArrayView& data, void* result, std::uint64_t key);

}  // namespace masu::cpu
