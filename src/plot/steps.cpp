// SPDX-License-Identifier: Apache-2.0
#include "plot/steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace masu::plot {
namespace {

// The first i of [first, end) whose edge satisfies `beyond`, which holds for all edges after such a one; else `end`.
template <class Predicate>
std::uint64_t first_edge(const BinAxis& bins, std::uint64_t first, std::uint64_t end, Predicate beyond) {
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (beyond(bins.edge(middle))) end = middle;
    else first = middle + 1;
  }
  return first;
}

// Heights of bins, asked for from left to right.
class Heights {
 public:
  Heights(const Series& series, Quantity quantity, std::uint64_t total)
      : series_(series), quantity_(quantity), total_(static_cast<double>(total)) {}

  // The highest of bins [first, end).
  double highest(std::uint64_t first, std::uint64_t end) {
    const auto counts = series_.counts;
    if (quantity_ == Quantity::cumulative) {
      for (; summed_ < end; ++summed_) sum_ += counts[summed_];
      return static_cast<double>(sum_);
    }
    if (quantity_ == Quantity::counts) {
      std::uint64_t most = 0;
      for (std::uint64_t i = first; i < end; ++i) most = std::max(most, counts[i]);
      return static_cast<double>(most);
    }
    double most = 0;
    for (std::uint64_t i = first; i < end; ++i) {
      if (counts[i] == 0) continue;
      const double density =
          static_cast<double>(counts[i]) / total_ / (series_.bins.edge(i + 1) - series_.bins.edge(i));
      if (std::isfinite(density)) most = std::max(most, density);
    }
    return most;
  }

 private:
  const Series& series_;
  Quantity quantity_;
  double total_;
  std::uint64_t summed_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace

Placed placed(const BinAxis& bins, bool logarithmic) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Placed place;
  const std::uint64_t edges = bins.size + 1;
  place.first = first_edge(bins, 0, edges, [&](double e) { return logarithmic ? e > 0 : e > -infinity; });
  const std::uint64_t beyond = first_edge(bins, place.first, edges, [](double e) { return !(e < infinity); });
  if (beyond <= place.first + 1) return {};
  place.end = beyond - 1;
  place.lo = bins.edge(place.first);
  place.hi = bins.edge(place.end);
  return place;
}

bool is_logarithmic(const BinAxis& bins) {
  if (bins.scale != Scale::automatic) return bins.scale == Scale::logarithmic;
  const std::uint64_t n = bins.size;
  const double lo = bins.edge(0);
  const double hi = bins.edge(n);
  if (n < 3 || !(lo > 0) || !std::isfinite(hi) || hi / lo < 10) return false;
  for (const std::uint64_t i : {n / 4, n / 2, n - n / 4, n - 1}) {
    const double expected =
        std::log(lo) + (std::log(hi) - std::log(lo)) * static_cast<double>(i) / static_cast<double>(n);
    if (std::abs(std::log(bins.edge(i)) - expected) > 1e-6 * (std::log(hi) - std::log(lo))) return false;
  }
  return true;
}

std::pair<double, double> widened(double lo, double hi, bool logarithmic) {
  if (logarithmic) {
    if (lo > 0 && hi / lo > 1 + 1e-12) return {lo, hi};
    return lo > 0 ? std::pair(lo / 2, hi * 2) : std::pair(1.0, 10.0);
  }
  // A range that doubles can hardly divide is widened too.
  const double greatest = std::max(std::abs(lo), std::abs(hi));
  if (hi / 2 - lo / 2 > greatest * 1e-13) return {lo, hi};
  const double around = greatest == 0 ? 0.5 : greatest * 1e-6;
  return {lo - around, hi + around};
}

std::vector<Span> bins_in_columns(const BinAxis& bins, const Placed& place, const Axis& axis, std::uint64_t columns) {
  std::vector<Span> spans(columns);
  std::uint64_t from = place.first;
  for (std::uint64_t column = 0; column < columns; ++column) {
    const double left = axis.value(static_cast<double>(column) / static_cast<double>(columns));
    const double right = axis.value(static_cast<double>(column + 1) / static_cast<double>(columns));
    if (right <= place.lo || left >= place.hi) continue;
    // From the bin that holds the column's left end to the last one that begins before its right end.
    const std::uint64_t beyond = first_edge(bins, from, place.end, [&](double e) { return e > left; });
    from = std::max(beyond, place.first + 1) - 1;
    const bool all = right >= place.hi;
    const std::uint64_t end =
        all ? place.end : first_edge(bins, from + 1, place.end, [&](double e) { return e >= right; });
    spans[column] = {from, end};
  }
  return spans;
}

Steps steps(const Series& series, const Axis& axis, std::uint64_t columns, Quantity quantity, std::uint64_t total) {
  Steps result;
  const Placed place = placed(series.bins, axis.logarithmic);
  const auto sum = [&](std::uint64_t first, std::uint64_t end) {
    return std::accumulate(series.counts.begin() + static_cast<std::ptrdiff_t>(first),
                           series.counts.begin() + static_cast<std::ptrdiff_t>(end), std::uint64_t{0});
  };
  result.unplaced = sum(0, place.first) + sum(place.end, series.counts.size());
  Heights heights(series, quantity, total);
  if (place.end - place.first <= columns) {
    double left = axis.at(place.lo);
    for (std::uint64_t i = place.first; i < place.end; ++i) {
      const double right = axis.at(series.bins.edge(i + 1));
      result.steps.push_back({left, right, heights.highest(i, i + 1)});
      left = right;
    }
  } else {
    const std::vector<Span> spans = bins_in_columns(series.bins, place, axis, columns);
    for (std::uint64_t column = 0; column < columns; ++column) {
      const auto [first, end] = spans[column];
      if (first == end) continue;
      result.most_in_column = std::max(result.most_in_column, end - first);
      result.steps.push_back({static_cast<double>(column) / static_cast<double>(columns),
                              static_cast<double>(column + 1) / static_cast<double>(columns),
                              heights.highest(first, end)});
    }
  }
  for (const Step& step : result.steps) {
    result.highest = std::max(result.highest, step.height);
    if (step.height > 0 && (result.lowest == 0 || step.height < result.lowest)) result.lowest = step.height;
  }
  return result;
}

}  // namespace masu::plot
