// SPDX-License-Identifier: Apache-2.0
// What --op of masu reduce takes, and what has to be kept of the data for it.
#pragma once

#include "cli/arrays/array_stream.h"
#include "cli/verify/references.h"
#include "text.h"

#include <masu/reduce.h>
#include <masu/sum.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

// What one kind of reduction found for each row so far.
struct Reduced {
  explicit Reduced(Dtype dtype) : least(dtype), greatest(dtype) {}
  Column least;
  Column greatest;
  Column least_place{Dtype::u64};
  Column greatest_place{Dtype::u64};
  Column nonzero{Dtype::u64};

  void append(const ReduceResult& result) {
    const bool both = result.op() == ReduceOp::minmax;
    if (result.op() == ReduceOp::count_nonzero) return nonzero.append(ArrayView(result.nonzero()));
    if (both || result.op() == ReduceOp::min) {
      least.append(result.min_values());
      least_place.append(ArrayView(result.min_indices()));
    }
    if (both || result.op() == ReduceOp::max) {
      greatest.append(result.max_values());
      greatest_place.append(ArrayView(result.max_indices()));
    }
  }
};

// All that was found; what no operation needs is left out.
struct Totals {
  const ReduceRequest& request;
  std::optional<SumAccumulator> sums;
  Reduced reduced;
  std::uint64_t rows = 1;
  std::uint64_t count = 0;    // of each row
  std::uint64_t skipped = 0;  // entries that were left out
  Column median = {};

  // The same number for each row.
  [[nodiscard]] Column each(std::uint64_t number) const {
    const std::vector<std::uint64_t> numbers(rows, number);
    return Column(ArrayView(numbers));
  }
};

struct Operation {
  std::string_view name;
  // What has to be kept: a kind of sums, or a reduction.
  std::optional<SumKind> sums;
  std::optional<ReduceOp> reduction;
  bool of_nothing;  // whether data without elements have it
  Column (*column)(const Totals& totals);
  bool is_count = false;
};

inline Column column_of(const SumResult& found) {
  Column column(found.dtype());
  for (std::uint64_t row = 0; row < found.rows(); ++row) {
    const std::uint64_t bits = bits_of(found, row);
    column.append({column.dtype, &bits, 1});
  }
  return column;
}

inline constexpr Column (*variance_of)(const Totals& totals) = [](const Totals& t) {
  return column_of(t.sums->variance(t.request.ddof, t.request.result));
};

inline constexpr std::array<Operation, 14> operations{{
    {"sum", SumKind::sum, std::nullopt, true, [](const Totals& t) { return column_of(t.sums->sum(t.request.result)); }},
    {"mean", SumKind::sum, std::nullopt, false,
     [](const Totals& t) { return column_of(t.sums->mean(t.request.result)); }},
    {"min", std::nullopt, ReduceOp::min, false, [](const Totals& t) { return t.reduced.least; }},
    {"max", std::nullopt, ReduceOp::max, false, [](const Totals& t) { return t.reduced.greatest; }},
    {"argmin", std::nullopt, ReduceOp::min, false, [](const Totals& t) { return t.reduced.least_place; }},
    {"argmax", std::nullopt, ReduceOp::max, false, [](const Totals& t) { return t.reduced.greatest_place; }},
    {"count", std::nullopt, std::nullopt, true, [](const Totals& t) { return t.each(t.count); }, true},
    {"skipped", std::nullopt, std::nullopt, true, [](const Totals& t) { return t.each(t.skipped); }, true},
    {"median", std::nullopt, std::nullopt, false, [](const Totals& t) { return t.median; }},
    {"variance", SumKind::squares, std::nullopt, false, variance_of},
    {"var", SumKind::squares, std::nullopt, false, variance_of},
    {"std", SumKind::squares, std::nullopt, false,
     [](const Totals& t) { return column_of(t.sums->standard_deviation(t.request.ddof, t.request.result)); }},
    {"norm2", SumKind::squares, std::nullopt, true,
     [](const Totals& t) { return column_of(t.sums->norm2(t.request.result)); }},
    {"count-nonzero", std::nullopt, ReduceOp::count_nonzero, true, [](const Totals& t) { return t.reduced.nonzero; },
     true},
}};

inline const Operation& operation(const std::string& name) {
  return *std::find_if(operations.begin(), operations.end(), [&](const Operation& one) { return one.name == name; });
}

// Whether an operation needs the kind of sums, or the reduction.
template <class Kind>
bool needs(const ReduceRequest& request, std::optional<Kind> Operation::*member, Kind kind) {
  return std::ranges::any_of(request.ops, [&](const std::string& name) { return operation(name).*member == kind; });
}

inline std::optional<SumAccumulator> sums_for(const Device& device, Dtype dtype, const ReduceRequest& request) {
  const bool squares = needs(request, &Operation::sums, SumKind::squares);
  if (!squares && !needs(request, &Operation::sums, SumKind::sum)) return std::nullopt;
  return SumAccumulator(device, dtype, squares ? SumKind::squares : SumKind::sum, request.row_length.value_or(0));
}

// How many elements have the result.
inline std::uint64_t least_count(const std::string& name, const ReduceRequest& request) {
  const bool spread = name.starts_with("var") || name == "std";
  return spread ? request.ddof + 1 : operation(name).of_nothing ? 0 : 1;
}

inline std::vector<ReduceOp> reductions_for(const ReduceRequest& request) {
  const bool least = needs(request, &Operation::reduction, ReduceOp::min);
  const bool greatest = needs(request, &Operation::reduction, ReduceOp::max);
  std::vector<ReduceOp> result;
  if (least || greatest) result.push_back(least && greatest ? ReduceOp::minmax : least ? ReduceOp::min : ReduceOp::max);
  if (needs(request, &Operation::reduction, ReduceOp::count_nonzero)) result.push_back(ReduceOp::count_nonzero);
  return result;
}

}  // namespace masu::cli
