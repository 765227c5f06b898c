// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_result.h"

#include <numeric>
#include <string>

namespace masu::cli {

std::uint64_t HistogramResult::Block::n() const {
  return std::accumulate(counts.begin(), counts.end(), below + above + nan);
}

unsigned HistogramResult::channel_count() const {
  return rows ? rows->channels() : static_cast<unsigned>(channels.size());
}

HistogramResult::Block HistogramResult::block(std::uint64_t row, unsigned channel) const {
  if (rows) {
    return {rows->counts(row, channel), rows->below(row, channel), rows->above(row, channel), rows->nan(row, channel)};
  }
  const Histogram& histogram = channels[channel];
  return {histogram.counts(), histogram.below(), histogram.above(), histogram.nan()};
}

std::vector<double> HistogramResult::density(std::uint64_t row, unsigned channel) const {
  return rows ? rows->histogram(row, channel).density() : channels[channel].density();
}

std::string HistogramResult::column_name(unsigned d) const {
  const std::string name = d < names.size() ? names[d] : std::to_string(d);
  const bool number = name.find_first_not_of("0123456789") == std::string::npos;
  return number ? "column " + name : name;
}

std::uint64_t HistogramResult::n() const {
  if (joint) return joint->n();
  std::uint64_t sum = 0;
  for (std::uint64_t row = 0; row < row_count(); ++row) {
    for (unsigned channel = 0; channel < channel_count(); ++channel) sum += block(row, channel).n();
  }
  return sum;
}

std::uint64_t HistogramResult::outsiders() const {
  if (joint) return joint->outside() + joint->nan();
  std::uint64_t sum = 0;
  for (std::uint64_t row = 0; row < row_count(); ++row) {
    for (unsigned channel = 0; channel < channel_count(); ++channel) {
      const Block counted = block(row, channel);
      sum += counted.below + counted.above + counted.nan;
    }
  }
  return sum;
}

Strategy HistogramResult::strategy() const {
  return joint ? joint->strategy() : rows ? rows->strategy() : channels.front().strategy();
}

}  // namespace masu::cli
