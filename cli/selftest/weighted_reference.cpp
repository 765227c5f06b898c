// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest/references.h"

#include "element_text.h"
#include "errors.h"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace masu::cli {

std::vector<std::byte> every(const ArrayView& data, std::size_t first, std::size_t stride) {
  const std::size_t size = size_of(data.dtype);
  std::vector<std::byte> values(data.count / stride * size);
  const auto* from = static_cast<const std::byte*>(data.data) + first * size;
  for (std::size_t at = 0; at < values.size(); at += size, from += stride * size) {
    std::memcpy(values.data() + at, from, size);
  }
  return values;
}

WeightedReference::WeightedReference(Dtype dtype, std::span<const Bins> bins, const WeightedOptions& options,
                                     std::uint64_t row_elements)
    : options_(options), row_elements_(row_elements) {
  for (const Bins& each : bins) {
    const BinRule rule(each, dtype, options.right_open, bins.size() > 1);
    std::vector<double>& edges = edges_.emplace_back();
    for (std::uint64_t i = 0; i <= rule.n; ++i) edges.push_back(rule.edge(i));
    half_open_.push_back(rule.half_open);
    if (bins.size() == 1) half_ = reference::half_even(rule);
    cells_ *= rule.n;
  }
  sums_.resize((cells_ + 3) * options.rows);
}

// Behind the cells: below (or outside), above, NaN.
std::size_t WeightedReference::slot_of(std::span<const double> point) const {
  if (std::any_of(point.begin(), point.end(), [](double x) { return std::isnan(x); })) return cells_ + 2;
  const bool joint = point.size() > 1;
  std::size_t cell = 0;
  for (std::size_t d = 0; d < point.size(); ++d) {
    const std::vector<double>& edges = edges_[d];
    const double x = point[d];
    const bool below = x < edges.front();
    const bool above = x > edges.back() || (half_open_[d] && x == edges.back());
    if ((below || above) && options_.outside == Outside::drop) return cells_ + (above && !joint ? 1 : 0);
    cell = cell * (edges.size() - 1) + (below ? 0 : above ? edges.size() - 2 : reference::bin_of(x, edges, half_));
  }
  return cell;
}

void WeightedReference::add(std::span<const ArrayView> columns, const ArrayView& weights) {
  const std::size_t dimensions = edges_.size();
  const bool interleaved = columns.size() < dimensions;
  std::vector<double> point(dimensions);
  for (std::uint64_t i = 0; i < weights.count; ++i, ++position_) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      point[d] = interleaved ? number_at(columns.front(), i * dimensions + d) : number_at(columns[d], i);
    }
    const std::uint64_t row = row_elements_ == 0 ? 0 : position_ / row_elements_;
    const auto* weight = static_cast<const std::byte*>(weights.data) + i * size_of(weights.dtype);
    sums_[row * (cells_ + 3) + slot_of(point)].add(ArrayView(weights.dtype, weight, 1));
  }
}

void WeightedReference::compare(const std::string& name, const WeightedHistogram& found) const {
  const auto check = [&](std::uint64_t row, const std::string& what, double got, std::size_t slot) {
    const double expected = sums_[row * (cells_ + 3) + slot].sum();
    if (std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(expected)) return;
    throw Differs(
        fmt::format("{}, row {}, {}: the total is {}, that of the reference {}", name, row, what, got, expected));
  };
  for (std::uint64_t row = 0; row < found.rows(); ++row) {
    for (std::size_t bin = 0; bin < cells_; ++bin) {
      check(row, fmt::format("bin {}", bin), found.totals(row)[bin], bin);
    }
    const bool joint = edges_.size() > 1;
    check(row, joint ? "outside" : "below", joint ? found.outside(row) : found.below(row), cells_);
    if (!joint) check(row, "above", found.above(row), cells_ + 1);
    check(row, "nan", found.nan(row), cells_ + 2);
  }
}

}  // namespace masu::cli
