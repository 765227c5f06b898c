// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/reduce_operations.h"

#include "options.h"
#include "text.h"

#include <algorithm>
#include <array>

namespace masu::cli {
namespace {

Column column_of(const SumResult& found) {
  Column column(found.dtype());
  for (std::uint64_t row = 0; row < found.rows(); ++row) {
    const std::uint64_t bits = bits_of(found, row);
    column.append({column.dtype, &bits, 1});
  }
  return column;
}

constexpr Column (*variance_of)(const Totals& totals) = [](const Totals& t) {
  return column_of(t.sums->variance(t.request.ddof, t.request.result));
};

constexpr std::array<Operation, 14> operations{{
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

}  // namespace

const Operation& operation(const std::string& name) {
  return *std::find_if(operations.begin(), operations.end(), [&](const Operation& one) { return one.name == name; });
}

namespace {

bool needs(const ReduceRequest& request, ReduceOp reduction) {
  return std::any_of(request.ops.begin(), request.ops.end(),
                     [&](const std::string& name) { return operation(name).reduction == reduction; });
}

bool needs(const ReduceRequest& request, SumKind kind) {
  return std::any_of(request.ops.begin(), request.ops.end(),
                     [&](const std::string& name) { return operation(name).sums == kind; });
}

}  // namespace

std::optional<SumAccumulator> sums_for(const Device& device, Dtype dtype, const ReduceRequest& request) {
  const bool squares = needs(request, SumKind::squares);
  if (!squares && !needs(request, SumKind::sum)) return std::nullopt;
  return SumAccumulator(device, dtype, squares ? SumKind::squares : SumKind::sum, request.row_length.value_or(0));
}

std::uint64_t least_count(const std::string& name, const ReduceRequest& request) {
  const bool spread = name.starts_with("var") || name == "std";
  return spread ? request.ddof + 1 : operation(name).of_nothing ? 0 : 1;
}

std::vector<ReduceOp> reductions_for(const ReduceRequest& request) {
  const bool least = needs(request, ReduceOp::min);
  const bool greatest = needs(request, ReduceOp::max);
  std::vector<ReduceOp> result;
  if (least || greatest) result.push_back(least && greatest ? ReduceOp::minmax : least ? ReduceOp::min : ReduceOp::max);
  if (needs(request, ReduceOp::count_nonzero)) result.push_back(ReduceOp::count_nonzero);
  return result;
}

std::vector<std::string> reduce_op_names() {
  std::vector<std::string> names;
  for (const Operation& one : operations) names.emplace_back(one.name);
  return names;
}

}  // namespace masu::cli
