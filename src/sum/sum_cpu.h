// SPDX-License-Identifier: Apache-2.0
// Sums by CPU threads: exact totals, and results.
#pragma once

#include "sum/sum_totals.h"

#include <masu/dtype.h>
#include <masu/version.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace masu::cpu {

// Adds `count` elements, or products with those of y. y matters where products of two inputs are asked for.
void add_totals(Dtype dtype, const SumNeeds& needs, const void* x, const void* y, std::uint64_t count, Totals& totals);

// The totals of each of `rows` rows of `count` elements. `sink` is called by many threads at once, once for each row.
void add_rows(Dtype dtype, const SumNeeds& needs, const void* x, const void* y, std::uint64_t rows, std::uint64_t count,
              const std::function<void(std::uint64_t, const Totals&)>& sink);

// The results of `count` rows of host memory, which follow each other; `y` matters for dot products.
void sum_rows(const SumRows& to, const void* x, const void* y, std::uint64_t count);

// Sums, means, variances and deviations of many rows, each exact and rounded once without an exact total. Where
// rounding is not certain there is no result.

// Whether quick_rows() is for this function of rows of `length` elements.
[[nodiscard]] bool are_quick_rows(const SumRule& rule, std::uint64_t rows, std::uint64_t length) noexcept;

// The result of each row, and whether it is certain. By the calling thread.
void quick_rows(const SumRule& rule, const void* x, std::uint64_t rows, std::uint64_t length, double* results,
                std::uint8_t* sure);

// Whether quick_columns() is for this function of columns of `rows` elements.
[[nodiscard]] bool are_quick_columns(const SumRule& rule, std::uint64_t rows) noexcept;

// The same for neighbouring columns of a matrix, or for lines of `rows` elements one after the other. Returns whether
// all are certain.
struct SumColumns {
  std::uint64_t rows;
  std::uint64_t stride;  // elements from row to row; 0: the columns are such lines
  std::uint64_t columns;
};
bool quick_columns(const SumRule& rule, const void* x, const SumColumns& of, double* results, std::uint8_t* sure);

}  // namespace masu::cpu

namespace masu {

// The results of `rows` lines of host memory, stored in the bytes of their dtype. With `columns` > 1 the data are
// rows / columns matrices of so many columns, which are the lines. Integers that do not fit are modulo 2^64, or, with
// `refuses`, an error; returns whether all fit.
MASU_EXPORT bool sum_lines(const SumRule& rule, const ArrayView& x, const ArrayView& y, std::uint64_t rows,
                           std::uint64_t columns, void* results, bool refuses = false);

}  // namespace masu
