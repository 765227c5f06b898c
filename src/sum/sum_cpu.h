// SPDX-License-Identifier: Apache-2.0
// Exact sums by CPU threads.
#pragma once

#include "sum/sum_totals.h"

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace masu::cpu {

// Adds `count` elements, or products with those of y. y matters where products of two inputs are asked for.
void add_totals(Dtype dtype, const SumNeeds& needs, const void* x, const void* y, std::uint64_t count, Totals& totals);

// The totals of each of `rows` rows of `count` elements. `sink` is called by many threads at once, once for each row.
void add_rows(Dtype dtype, const SumNeeds& needs, const void* x, const void* y, std::uint64_t rows, std::uint64_t count,
              const std::function<void(std::uint64_t, const Totals&)>& sink);

// Sums, means, variances and deviations of many rows, each exact and rounded once without an exact total. Where
// rounding is not certain there is no result.

// Whether quick_rows() is for this function of rows of `length` elements.
[[nodiscard]] bool are_quick_rows(const SumRule& rule, std::uint64_t rows, std::uint64_t length) noexcept;

// The result of each row, and whether it is certain. By the calling thread.
void quick_rows(const SumRule& rule, const void* x, std::uint64_t rows, std::uint64_t length, double* results,
                std::uint8_t* sure);

// The `rows` columns of matrices of `columns` columns, as rows.
[[nodiscard]] std::vector<std::byte> columns_as_rows(const ArrayView& x, std::uint64_t rows, std::uint64_t columns);

}  // namespace masu::cpu
