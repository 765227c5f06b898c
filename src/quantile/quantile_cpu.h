// SPDX-License-Identifier: Apache-2.0
// What selection from data that comes in pieces needs on the CPU: counted digits and collected keys.
#pragma once

#include <masu/dtype.h>

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

}  // namespace masu::cpu
