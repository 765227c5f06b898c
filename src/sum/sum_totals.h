// SPDX-License-Identifier: Apache-2.0
// What the functions of sum.h need of their data, how CPU threads find it, and how results are made of it.
#pragma once

#include "sum/fixed_point.h"

#include <masu/dtype.h>
#include <masu/sum.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace masu {

// What is added up.
struct SumNeeds {
  bool values = false;
  bool squares = false;
  bool products = false;  // of two inputs; never beside the others
};
SumNeeds needs_of(SumKind kind) noexcept;

// Exact totals of a row: of its values, and of its squares or products.
struct Totals {
  fixed::Sum values;
  fixed::Products products;
};
struct Parts {
  fixed::Part values;
  fixed::Part products;
  Parts() = default;
  explicit Parts(const Totals& totals) : values(totals.values), products(totals.products) {}
};

// One of the six functions on data of a dtype.
struct SumRule {
  enum class Function { sum, dot, mean, norm2, variance, standard_deviation };

  Function function = Function::sum;
  Dtype dtype = Dtype::u8;
  Dtype result = Dtype::f64;
  std::uint64_t ddof = 0;

  [[nodiscard]] std::string_view name() const noexcept;
  [[nodiscard]] SumNeeds needs() const noexcept;
  [[nodiscard]] bool is_spread() const noexcept {
    return function == Function::variance || function == Function::standard_deviation;
  }
  // The dtype of results.
  [[nodiscard]] Dtype result_dtype() const noexcept;
  // Throws invalid_argument unless the result's dtype is a float's, and rows of `count` elements have a result.
  void check(std::uint64_t count) const;
  // The bits of a result (a double's, or an integer's) of a row of `count` elements. An integer that does not fit is
  // modulo 2^64, and sets `misfit`; where that is null, throws invalid_argument.
  [[nodiscard]] std::uint64_t bits(const Parts& parts, std::uint64_t count, std::atomic<bool>* misfit = nullptr) const;
};

// Makes results.
struct SumParts {
  static SumResult make(Dtype dtype, std::uint64_t rows) {
    SumResult result;
    result.dtype_ = dtype;
    result.bits_.resize(rows);
    return result;
  }
  static std::uint64_t& bits(SumResult& result, std::uint64_t row) { return result.bits_[row]; }
};

}  // namespace masu

// On the CPU.
namespace masu::cpu {

// Adds `count` elements, or products with those of y. y matters where products of two inputs are asked for.
void add_totals(Dtype dtype, const SumNeeds& needs, const void* x, const void* y, std::uint64_t count, Totals& totals);

// The totals of each of `rows` rows of `count` elements. `sink` is called by many threads at once, once for each row.
void add_rows(Dtype dtype, const SumNeeds& needs, const void* x, const void* y, std::uint64_t rows, std::uint64_t count,
              const std::function<void(std::uint64_t, const Totals&)>& sink);

// Sums, means, variances and deviations of many rows, each exact and rounded once without an exact total. Where
// rounding is not certain there is no result.

// Whether quick_rows() is for this function of rows of `length` elements. Not where quick_arithmetic() is false.
[[nodiscard]] bool are_quick_rows(const SumRule& rule, std::uint64_t rows, std::uint64_t length) noexcept;

// The result of each row, and whether it is certain. By the calling thread.
void quick_rows(const SumRule& rule, const void* x, std::uint64_t rows, std::uint64_t length, double* results,
                std::uint8_t* sure);

}  // namespace masu::cpu
