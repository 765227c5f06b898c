// SPDX-License-Identifier: Apache-2.0
// Sums, means, variances and deviations of many rows, each exact and rounded once without an exact total. Where
// rounding is not certain there is no result.
#pragma once

#include "sum/sum_totals.h"

#include <cstdint>

namespace masu::cpu {

// Whether quick_rows() is for this function of rows of `length` elements. Not where quick_arithmetic() is false.
[[nodiscard]] bool are_quick_rows(const SumRule& rule, std::uint64_t rows, std::uint64_t length) noexcept;

// The result of each row, and whether it is certain. By the calling thread.
void quick_rows(const SumRule& rule, const void* x, std::uint64_t rows, std::uint64_t length, double* results,
                std::uint8_t* sure);

}  // namespace masu::cpu
