// SPDX-License-Identifier: Apache-2.0
// WeightedHistogram: what a result tells.
#include "histogram/bins/bin_rule.h"
#include "histogram/histogram_checks.h"
#include "histogram/weighted_checks.h"

#include <fmt/format.h>
#include <masu/exact_sum.h>
#include <masu/weighted_histogram.h>

#include <algorithm>
#include <bit>
#include <limits>

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
  const std::span<const T> of_row = std::span(all).subspan(row * (joint_bins_ + extras_), joint_bins_ + extras_);
  return extra ? of_row.subspan(joint_bins_) : of_row.first(joint_bins_);
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
  divide_by_widths(rules_, rules_.size() == 1, result);
  for (double& value : result) value /= sum.sum();
  return result;
}

bool operator==(const WeightedHistogram& a, const WeightedHistogram& b) {
  return a.rows_ == b.rows_ && same_bits(a.totals_, b.totals_) && same_bits(a.variances_, b.variances_) &&
         a.signed_ == b.signed_ && a.unsigned_ == b.unsigned_ && same_edges(a.rules_, b.rules_);
}

namespace {
constexpr std::uint64_t most_slots = std::uint64_t{1} << 31;
constexpr std::uint64_t most_weighted_rows = std::uint64_t{1} << 20;
}  // namespace

WeightedShape::WeightedShape(Dtype dtype, Dtype of_weights, std::span<const Bins> bins, const WeightedOptions& options,
                             std::uint64_t elements)
    : weights_dtype(of_weights), rows(options.rows), row_elements(elements) {
  check_count(bins.size());
  if (rows < 1 || rows > most_weighted_rows) {
    weighted_invalid(fmt::format("rows must be 1 to {}, got {}", most_weighted_rows, rows));
  }
  if (rows > 1 && bins.size() > 1) {
    weighted_invalid(fmt::format("rows are for one column, got {} columns", bins.size()));
  }
  if (rows > 1 && elements > std::numeric_limits<std::uint64_t>::max() / rows) {
    weighted_invalid(fmt::format("rows must have fewer than 2^64 elements in all, got {} of {}", rows, elements));
  }
  if (rows == 1) row_elements = std::numeric_limits<std::uint64_t>::max();
  for (const Bins& column : bins) {
    auto rule = std::make_shared<const BinRule>(column, dtype, options.right_open, bins.size() > 1);
    if (rule->n > most_slots / rows / joint_bins) {
      weighted_invalid(
          fmt::format("rows * joint bins must be at most 2^31, got {} * {} and more", rows * joint_bins, rule->n));
    }
    joint_bins *= rule->n;
    rules.push_back(std::move(rule));
  }
  slots = joint_bins + (bins.size() > 1 ? 2 : extra_slots);
  formats.emplace_back(weights_dtype, false);
  if (options.variances) formats.emplace_back(weights_dtype, true);
}

void WeightedShape::refuse_total(std::uint64_t row, std::uint64_t slot) const {
  std::string where;
  const bool joint = rules.size() > 1;
  constexpr std::string_view of_one[] = {"the values below the bins", "the values above the bins", "the NaNs"};
  constexpr std::string_view of_several[] = {"the points outside of the bins", "the points with a NaN"};
  if (slot >= joint_bins) {
    where = joint ? of_several[slot - joint_bins] : of_one[slot - joint_bins];
  } else {
    where = fmt::format("{} {}", joint ? "joint bin" : "bin", slot);
    for (std::uint64_t stride = joint_bins, d = 0; joint && d < rules.size(); ++d) {
      stride /= rules[d]->n;
      where += fmt::format("{}{}", d == 0 ? " (" : ", ", slot / stride % rules[d]->n);
      if (d + 1 == rules.size()) where += ")";
    }
  }
  if (rows > 1) where += fmt::format(" of row {}", row);
  weighted_invalid(fmt::format("the total of {} must fit {}, got one that does not", where,
                               is_signed(weights_dtype) ? "i64" : "u64"));
}

WeightedHistogram WeightedShape::empty(std::uint64_t n) const {
  WeightedHistogram result;
  result.rows_ = rows;
  result.joint_bins_ = joint_bins;
  result.extras_ = slots - joint_bins;
  result.n_ = n;
  result.dtype_ = rules.front()->dtype;
  result.weights_dtype_ = weights_dtype;
  result.rules_ = rules;
  return result;
}

WeightedHistogram WeightedShape::of(std::uint64_t n, std::span<const double> totals, std::span<const double> variances,
                                    std::span<const std::uint64_t> integers) const {
  WeightedHistogram result = empty(n);
  result.totals_.assign(totals.begin(), totals.end());
  result.variances_.assign(variances.begin(), variances.end());
  if (is_signed(weights_dtype)) result.signed_.assign(integers.begin(), integers.end());
  else result.unsigned_.assign(integers.begin(), integers.end());
  return result;
}

}  // namespace masu
