// SPDX-License-Identifier: Apache-2.0
// What the functions of sum.h need of their data, and how their results are made of it.
#pragma once

#include "sum/fixed_point.h"

#include <masu/dtype.h>
#include <masu/sum.h>
#include <masu/version.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

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
  std::uint64_t addend = 0;  // of each sum: the bits of an element, or of an integer of 64 bits

  [[nodiscard]] std::string_view name() const noexcept;
  [[nodiscard]] SumNeeds needs() const noexcept;
  [[nodiscard]] bool is_spread() const noexcept {
    return function == Function::variance || function == Function::standard_deviation;
  }
  // The dtype of results.
  [[nodiscard]] Dtype result_dtype() const noexcept;
  // Throws invalid_argument unless the result's dtype is a float's, and rows of `count` elements have a result.
  void check(std::uint64_t count) const;
  // The totals of a row with the addend.
  [[nodiscard]] Totals whole(const Totals& totals) const;
  // The bits of a result (a double's, or an integer's) of a row of `count` elements. An integer that does not fit is
  // modulo 2^64, and sets `misfit`; where that is null, throws invalid_argument.
  [[nodiscard]] std::uint64_t bits(const Parts& parts, std::uint64_t count, std::atomic<bool>* misfit = nullptr) const;
};

// What SumRule::addend is for SumOptions::initial; 0 adds nothing. Throws invalid_argument for what is no integer where
// the data are.
MASU_EXPORT std::uint64_t addend_of(Dtype dtype, const SumAddend& initial);

// Makes results.
struct SumParts {
  static SumResult make(Dtype dtype, std::uint64_t rows) {
    SumResult result;
    result.dtype_ = dtype;
    result.bits_.resize(rows);
    return result;
  }
  static std::uint64_t& bits(SumResult& result, std::uint64_t row) { return result.bits_[row]; }
  // A result with one row more than it has: its memory for results in the bytes of their dtype, then a word; and the
  // result, once they are there.
  static std::byte* memory(SumResult& result) { return reinterpret_cast<std::byte*>(result.bits_.data()); }
  static void settle(SumResult& result);
  // Results that write(memory) writes there.
  template <class F>
  static SumResult make(Dtype dtype, std::uint64_t rows, const F& write) {
    SumResult result = make(dtype, rows + 1);
    write(memory(result));
    settle(result);
    return result;
  }
};

// Rounds results of rows and stores them, each in the bytes of its dtype. Rows may be taken by many threads at once.
class SumRows {
 public:
  // Rows of `length` elements; `misfit`: as SumRule::bits has it.
  SumRows(const SumRule& rule, std::uint64_t length, std::byte* to, std::atomic<bool>* misfit)
      : rule_(rule), length_(length), size_(size_of(rule.result_dtype())), to_(to), misfit_(misfit) {}
  [[nodiscard]] const SumRule& rule() const noexcept { return rule_; }
  [[nodiscard]] std::uint64_t length() const noexcept { return length_; }
  // A result that is a float, or exact totals.
  void take(std::uint64_t row, double value) const noexcept { put(row, std::bit_cast<std::uint64_t>(value)); }
  void take(std::uint64_t row, const Totals& totals) const {
    const auto store = [&](const Totals& all) { put(row, rule_.bits(Parts(all), length_, misfit_)); };
    rule_.addend == 0 ? store(totals) : store(rule_.whole(totals));
  }
  // The same for `count` rows from `first` on, all floats.
  void take(std::uint64_t first, const double* values, std::uint64_t count) const noexcept;
  // Rows without elements.
  void take_nothing(std::uint64_t rows) const {
    for (std::uint64_t row = 0; row < rows; ++row) take(row, Totals());
  }

 private:
  void put(std::uint64_t row, std::uint64_t bits) const noexcept;

  SumRule rule_;
  std::uint64_t length_;
  std::size_t size_;
  std::byte* to_;
  std::atomic<bool>* misfit_;
};

}  // namespace masu
