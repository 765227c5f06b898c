// SPDX-License-Identifier: Apache-2.0
#include "histogram/weighted_checks.h"

#include <limits>

namespace masu {

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
    if (rule->n > most_slots / rows / cells) {
      weighted_invalid(fmt::format("rows * cells must be at most 2^31, got {} * {} and more", rows * cells, rule->n));
    }
    cells *= rule->n;
    rules.push_back(std::move(rule));
  }
  slots = cells + (bins.size() > 1 ? 2 : extra_slots);
  formats.emplace_back(weights_dtype, false);
  if (options.variances) formats.emplace_back(weights_dtype, true);
}

void WeightedShape::refuse_total(std::uint64_t row, std::uint64_t slot) const {
  std::string where;
  const bool joint = rules.size() > 1;
  constexpr std::string_view of_one[] = {"the values below the bins", "the values above the bins", "the NaNs"};
  constexpr std::string_view of_several[] = {"the points outside of the bins", "the points with a NaN"};
  if (slot >= cells) {
    where = joint ? of_several[slot - cells] : of_one[slot - cells];
  } else {
    where = fmt::format("{} {}", joint ? "cell" : "bin", slot);
    for (std::uint64_t stride = cells, d = 0; joint && d < rules.size(); ++d) {
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
  result.cells_ = cells;
  result.extras_ = slots - cells;
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
