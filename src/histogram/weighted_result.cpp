// SPDX-License-Identifier: Apache-2.0
// WeightedHistogram: what a result tells.
#include "histogram/bins/bin_estimator_state.h"
#include "histogram/bins/bin_rule.h"

#include <masu/exact_sum.h>
#include <masu/weighted_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace masu {

namespace {

[[noreturn]] void result_invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, fmt::format("WeightedHistogram::{}", message));
}

const BinRule& weighted_column_rule(std::span<const std::shared_ptr<const BinRule>> rules, unsigned d) {
  if (d >= rules.size()) result_invalid(fmt::format("size: the column must be < {}, got {}", rules.size(), d));
  return *rules[d];
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

}  // namespace

std::uint64_t WeightedHistogram::size(unsigned d) const {
  return weighted_column_rule(rules_, d).n;
}

std::vector<double> WeightedHistogram::edges(unsigned d) const {
  return weighted_column_rule(rules_, d).all_edges();
}

template <class T>
std::span<const T> WeightedHistogram::part(const std::vector<T>& all, std::uint64_t row, bool extra) const {
  if (row >= rows_) result_invalid(fmt::format("totals: the row must be < {}, got {}", rows_, row));
  if (all.empty()) return {};
  const std::span<const T> of_row = std::span(all).subspan(row * (cells_ + extras_), cells_ + extras_);
  return extra ? of_row.subspan(cells_) : of_row.first(cells_);
}

std::span<const double> WeightedHistogram::totals(std::uint64_t row) const {
  return part(totals_, row, false);
}
std::span<const std::int64_t> WeightedHistogram::signed_totals(std::uint64_t row) const {
  return part(signed_, row, false);
}
std::span<const std::uint64_t> WeightedHistogram::unsigned_totals(std::uint64_t row) const {
  return part(unsigned_, row, false);
}
std::span<const double> WeightedHistogram::variances(std::uint64_t row) const {
  return part(variances_, row, false);
}
std::span<const double> WeightedHistogram::extra_totals(std::uint64_t row) const {
  return part(totals_, row, true);
}
std::span<const std::int64_t> WeightedHistogram::signed_extra_totals(std::uint64_t row) const {
  return part(signed_, row, true);
}
std::span<const std::uint64_t> WeightedHistogram::unsigned_extra_totals(std::uint64_t row) const {
  return part(unsigned_, row, true);
}
std::span<const double> WeightedHistogram::extra_variances(std::uint64_t row) const {
  return part(variances_, row, true);
}

double WeightedHistogram::extra(std::uint64_t row, bool joint, std::size_t place, const char* name) const {
  if (joint != (rules_.size() > 1)) {
    result_invalid(fmt::format("{}: is of {}, got {}", name, joint ? "several columns" : "one column", rules_.size()));
  }
  return extra_totals(row)[place];
}

double WeightedHistogram::below(std::uint64_t row) const {
  return extra(row, false, slot_below, "below");
}
double WeightedHistogram::above(std::uint64_t row) const {
  return extra(row, false, slot_above, "above");
}
double WeightedHistogram::nan(std::uint64_t row) const {
  return extra_totals(row).back();
}
double WeightedHistogram::outside(std::uint64_t row) const {
  return extra(row, true, 0, "outside");
}

std::vector<double> WeightedHistogram::density(std::uint64_t row) const {
  // As NumPy: divided by the widths, column by column, then by the sum. Of one column, numpy.histogram subtracts the
  // edges in their own type.
  const std::span<const double> from = totals(row);
  std::vector<double> result(from.begin(), from.end());
  ExactSum sum;
  sum.add(ArrayView(from));
  std::uint64_t stride = result.size();
  for (const auto& rule : rules_) {
    stride /= rule->n;
    const bool own = rules_.size() == 1;
    const Dtype edge_type = own && rule->f32_edges ? Dtype::f32 : own && rule->f16_edges ? Dtype::f16 : Dtype::f64;
    for (std::size_t cell = 0; cell < result.size(); ++cell) {
      const std::uint64_t bin = cell / stride % rule->n;
      result[cell] /= rounded_to(edge_type, rule->edge(bin + 1) - rule->edge(bin));
    }
  }
  for (double& value : result) value /= sum.sum();
  return result;
}

bool operator==(const WeightedHistogram& a, const WeightedHistogram& b) {
  const auto same = [](const auto& x, const auto& y) { return x->same_edges(*y); };
  return a.rows_ == b.rows_ && same_bits(a.totals_, b.totals_) && same_bits(a.variances_, b.variances_) &&
         a.signed_ == b.signed_ && a.unsigned_ == b.unsigned_ &&
         std::equal(a.rules_.begin(), a.rules_.end(), b.rules_.begin(), b.rules_.end(), same);
}

}  // namespace masu
