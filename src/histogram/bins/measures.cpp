// SPDX-License-Identifier: Apache-2.0
// What follows from a histogram: density, cumulative counts, equalisation.
#include "call/operands.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/bins/natural.h"
#include "histogram/counts.h"

#include <fmt/format.h>
#include <masu/histogram.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace masu {

std::vector<double> Histogram::density() const {
  const FloatingPointScope usual;
  const auto total = static_cast<double>(std::accumulate(all_.bins.begin(), all_.bins.end(), std::uint64_t{0}));
  std::vector<double> result(all_.bins.begin(), all_.bins.end());
  divide_by_widths(all_.rules, true, result);
  for (double& value : result) value /= total;
  return result;
}

std::vector<std::uint64_t> Histogram::cumulative() const {
  std::vector<std::uint64_t> result(all_.bins.size());
  std::partial_sum(all_.bins.begin(), all_.bins.end(), result.begin());
  return result;
}

std::vector<std::uint16_t> equalization_map(const Histogram& histogram, std::uint32_t levels) {
  const FloatingPointScope usual;
  constexpr std::uint32_t most_levels = 65536;
  __extension__ using Wide = unsigned __int128;
  if (levels < 2 || levels > most_levels) {
    call::refuse("equalization_map", fmt::format("levels must be 2 to {}, got {}", most_levels, levels));
  }
  const std::vector<std::uint64_t> cumulative = histogram.cumulative();
  const std::uint64_t total = cumulative.back();
  if (total == 0) call::refuse("equalization_map", "bins must hold something, got no counts");
  std::uint64_t least = 0;
  std::vector<std::uint16_t> result(cumulative.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (least == 0) least = cumulative[i];
    if (least == 0 || least == total) continue;
    const Wide part = Wide{cumulative[i] - least} * (levels - 1);
    const Wide whole = total - least;
    result[i] = static_cast<std::uint16_t>((2 * part + whole) / (2 * whole));
  }
  return result;
}

// N. Otsu, "A threshold selection method from gray-level histograms", IEEE Trans. SMC 9, 1979.
//
// With w, s the count and the sum of the middles of the lower class, v and t those of the upper one, the variance
// between them is proportional to (w t - v s)^2 / (w v). It is compared as a long double where that is clear, otherwise
// as a fraction of whole numbers, so that equal maxima are seen as equal.

namespace {

// What long doubles (or doubles, where they are the same) tell apart: far above the rounding of as many sums as there
// can be bins.
constexpr long double clear = 1e-7L;

// A finite number is a whole number of at most 53 bits times 2^exponent.
struct ScaledInteger {
  explicit ScaledInteger(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto biased = static_cast<int>(bits >> 52 & 2047);
    negative = bits >> 63 != 0;
    magnitude = bits & ((std::uint64_t{1} << 52) - 1);
    if (biased != 0) magnitude |= std::uint64_t{1} << 52;
    const int zeros = magnitude == 0 ? 0 : std::countr_zero(magnitude);
    magnitude >>= zeros;
    exponent = std::max(biased, 1) - 1075 + zeros;
  }
  bool negative;
  std::uint64_t magnitude;
  int exponent;
};

// Edges as whole numbers: their distance from the first edge, in a unit that divides all of them.
class Distances {
 public:
  explicit Distances(const Histogram& histogram) : histogram_(histogram), origin_(histogram.edge(0)) {
    for (std::uint64_t i = 0; i <= histogram.size(); ++i) {
      const double edge = histogram.edge(i);
      if (!std::isfinite(edge)) {
        call::refuse("otsu_threshold", fmt::format("edges must be finite, got {} at {}", edge, i));
      }
      const ScaledInteger parts(edge);
      if (parts.magnitude != 0) unit_ = std::min(unit_, parts.exponent);
    }
  }
  Natural of_edge(std::uint64_t i) const {
    const ScaledInteger edge(histogram_.edge(i));
    const ScaledInteger origin(origin_);
    if (edge.negative != origin.negative) return whole(edge) + whole(origin);
    return edge.negative ? whole(origin) - whole(edge) : whole(edge) - whole(origin);
  }
  // Twice the middle of bin i.
  Natural of_bin(std::uint64_t i) const { return of_edge(i) + of_edge(i + 1); }
  long double near_bin(std::uint64_t i) const {
    const auto origin = static_cast<long double>(origin_);
    return (static_cast<long double>(histogram_.edge(i)) - origin) +
           (static_cast<long double>(histogram_.edge(i + 1)) - origin);
  }

 private:
  Natural whole(const ScaledInteger& x) const {
    return x.magnitude == 0 ? Natural() : Natural(x.magnitude, static_cast<unsigned>(x.exponent - unit_));
  }
  const Histogram& histogram_;
  double origin_;
  int unit_ = 1024;
};

// The lower class at a cut.
struct Lower {
  std::uint64_t count = 0;
  Natural sum;
  long double near_sum = 0;
};

// The variance between the classes, but for a factor: near it, and as a fraction.
class Variance {
 public:
  explicit Variance(Lower all) : all_(std::move(all)) {}

  long double near(const Lower& lower) const {
    const auto w = static_cast<long double>(lower.count);
    const auto v = static_cast<long double>(all_.count - lower.count);
    const long double root = w * (all_.near_sum - lower.near_sum) - v * lower.near_sum;
    return root / w * (root / v);
  }
  bool less(const Lower& a, const Lower& b) const {
    return squared_root(a) * weights(b) < squared_root(b) * weights(a);
  }

 private:
  Natural squared_root(const Lower& lower) const {
    const Natural root = Natural(lower.count) * (all_.sum - lower.sum) - Natural(all_.count - lower.count) * lower.sum;
    return root * root;
  }
  Natural weights(const Lower& lower) const { return Natural(lower.count) * Natural(all_.count - lower.count); }
  Lower all_;
};

}  // namespace

double otsu_threshold(const Histogram& histogram) {
  const FloatingPointScope usual;
  const std::span<const std::uint64_t> counts = histogram.counts();
  const auto filled = std::count_if(counts.begin(), counts.end(), [](std::uint64_t count) { return count != 0; });
  if (filled < 2) {
    call::refuse("otsu_threshold", fmt::format("at least 2 bins must hold something, got {}", filled));
  }
  const Distances distances(histogram);
  std::uint64_t first = 0;
  while (counts[first] == 0) ++first;
  const long double origin = distances.near_bin(first);
  const auto add = [&](Lower& to, std::uint64_t i) {
    to.count += counts[i];
    to.sum = to.sum + distances.of_bin(i) * Natural(counts[i]);
    to.near_sum += (distances.near_bin(i) - origin) * static_cast<long double>(counts[i]);
  };
  Lower all;
  for (std::uint64_t i = first; i < counts.size(); ++i) {
    if (counts[i] != 0) add(all, i);
  }
  const std::uint64_t total = all.count;
  const Variance variance(std::move(all));

  Lower lower;
  Lower best;
  long double near_best = -1;
  std::uint64_t best_edge = 0;
  for (std::uint64_t i = first; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;  // the same classes as at the edge before
    add(lower, i);
    if (lower.count == total) break;
    const long double near = variance.near(lower);
    if (near < near_best * (1 - clear)) continue;
    const bool better = near > near_best * (1 + clear) || variance.less(best, lower);
    if (best.count != 0 && !better) continue;
    best = lower;
    best_edge = i + 1;
    near_best = near;
  }
  return histogram.edge(best_edge);
}

}  // namespace masu
