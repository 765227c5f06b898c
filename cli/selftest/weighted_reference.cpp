// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest/references.h"

#include "errors.h"
#include "json.h"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace masu::cli {

std::size_t ReferenceSlots::joint_bins() const {
  std::size_t joint_bins = 1;
  for (const std::vector<double>& column : edges) joint_bins *= column.size() - 1;
  return joint_bins;
}

std::size_t ReferenceSlots::slot_of(std::span<const double> point) const {
  if (std::any_of(point.begin(), point.end(), [](double x) { return std::isnan(x); })) return joint_bins() + 2;
  std::size_t joint_bin = 0;
  for (std::size_t d = 0; d < point.size(); ++d) {
    const std::vector<double>& column = edges[d];
    const double x = point[d];
    const bool below = x < column.front();
    const bool above = x > column.back() || (half_open[d] && x == column.back());
    if ((below || above) && outside == Outside::drop) return joint_bins() + (above && point.size() == 1 ? 1 : 0);
    joint_bin = joint_bin * (column.size() - 1) + (below   ? 0
                                                   : above ? column.size() - 2
                                                           : reference::bin_of(x, column, half));
  }
  return joint_bin;
}

void ReferenceSlots::each(std::span<const ArrayView> columns, const std::function<void(std::size_t)>& take) const {
  const std::size_t dimensions = edges.size();
  const bool interleaved = columns.size() < dimensions;
  std::vector<double> point(dimensions);
  for (std::uint64_t i = 0; i < columns.front().count / (interleaved ? dimensions : 1); ++i) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      point[d] = interleaved ? number_at(columns.front(), i * dimensions + d) : number_at(columns[d], i);
    }
    take(slot_of(point));
  }
}

WeightedReference::WeightedReference(Dtype dtype, std::span<const Bins> bins, const WeightedOptions& options,
                                     std::uint64_t row_elements)
    : row_elements_(row_elements) {
  slots_.outside = options.outside;
  for (const Bins& each : bins) {
    const BinRule rule(each, dtype, options.right_open, bins.size() > 1);
    std::vector<double>& edges = slots_.edges.emplace_back();
    for (std::uint64_t i = 0; i <= rule.n; ++i) edges.push_back(rule.edge(i));
    slots_.half_open.push_back(rule.half_open);
    if (bins.size() == 1) slots_.half = reference::half_even(rule);
  }
  joint_bins_ = slots_.joint_bins();
  sums_.resize((joint_bins_ + 3) * options.rows);
}

void WeightedReference::add(std::span<const ArrayView> columns, const ArrayView& weights) {
  const std::byte* weight = element_at(weights, 0);
  slots_.each(columns, [&](std::size_t slot) {
    const std::uint64_t row = row_elements_ == 0 ? 0 : position_++ / row_elements_;
    sums_[row * (joint_bins_ + 3) + slot].add(ArrayView(weights.dtype, weight, 1));
    weight += size_of(weights.dtype);
  });
}

void WeightedReference::compare(const std::string& name, const WeightedHistogram& found) const {
  const auto check = [&](std::uint64_t row, const std::string& what, double got, std::size_t slot) {
    const double expected = sums_[row * (joint_bins_ + 3) + slot].sum();
    if (std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(expected)) return;
    throw Differs(
        fmt::format("{}, row {}, {}: the total is {}, that of the reference {}", name, row, what, got, expected));
  };
  for (std::uint64_t row = 0; row < found.rows(); ++row) {
    for (std::size_t bin = 0; bin < joint_bins_; ++bin) {
      check(row, fmt::format("bin {}", bin), found.totals(row)[bin], bin);
    }
    const bool joint = slots_.edges.size() > 1;
    check(row, joint ? "outside" : "below", joint ? found.outside(row) : found.below(row), joint_bins_);
    if (!joint) check(row, "above", found.above(row), joint_bins_ + 1);
    check(row, "nan", found.nan(row), joint_bins_ + 2);
  }
}

}  // namespace masu::cli
