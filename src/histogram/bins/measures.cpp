// SPDX-License-Identifier: Apache-2.0
// What follows from a histogram: density, cumulative counts, equalisation.
#include "histogram/bins/bin_estimator_state.h"
#include "histogram/bins/bin_rule.h"

#include <masu/histogram.h>

#include <fmt/format.h>

#include <numeric>

namespace masu {

std::vector<double> Histogram::density() const {
  const std::uint64_t total = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  // NumPy subtracts the edges in their own type.
  const Dtype edge_type = rule_->f32_edges ? Dtype::f32 : rule_->f16_edges ? Dtype::f16 : Dtype::f64;
  std::vector<double> result(counts_.size());
  double lower = rule_->edge(0);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double upper = rule_->edge(i + 1);
    const double width = rounded_to(edge_type, upper - lower);
    result[i] = static_cast<double>(counts_[i]) / width / static_cast<double>(total);
    lower = upper;
  }
  return result;
}

std::vector<std::uint64_t> Histogram::cumulative() const {
  std::vector<std::uint64_t> result(counts_.size());
  std::partial_sum(counts_.begin(), counts_.end(), result.begin());
  return result;
}

std::vector<std::uint16_t> equalization_map(const Histogram& histogram, std::uint32_t levels) {
  constexpr std::uint32_t most_levels = 65536;
  __extension__ using Wide = unsigned __int128;
  if (levels < 2 || levels > most_levels) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("equalization_map: levels must be 2 to {}, got {}", most_levels, levels));
  }
  const std::vector<std::uint64_t> cumulative = histogram.cumulative();
  const std::uint64_t total = cumulative.back();
  if (total == 0) throw Error(ErrorCode::invalid_argument, "equalization_map: bins must hold something, got no counts");
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

}  // namespace masu
