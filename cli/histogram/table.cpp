// SPDX-License-Identifier: Apache-2.0
// The bar chart of each channel.
#include "cli/histogram/bars.h"
#include "element_text.h"

#include <fmt/format.h>
#include <algorithm>
#include <numeric>
#include <string>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_rows = 32;  // a chart is grouped to at most that many
constexpr std::uint64_t ungrouped = 40;  // and not grouped at all up to here

std::string label(const HistogramResult& result, const Histogram& histogram, std::uint64_t first, std::uint64_t end,
                  bool utf8) {
  const char* dash = utf8 ? " … " : " .. ";
  const double lo = histogram.edge(first);
  const auto edge = [&](double value) { return edge_label(value, histogram.dtype(), result.edge_dtype); };
  if (!result.one_value) return edge(lo) + dash + edge(histogram.edge(end));
  if (end - first == 1) return io::format_number(lo);
  return io::format_number(lo) + dash + io::format_number(histogram.edge(end - 1));
}

std::vector<Bar> group(const HistogramResult& result, const Histogram& histogram, std::uint64_t bins_a_row,
                       const TableOptions& options) {
  const auto counts = histogram.counts();
  const auto counted = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  std::uint64_t cumulative = 0;
  std::vector<Bar> bars;
  for (std::uint64_t first = 0; first < histogram.size(); first += bins_a_row) {
    const std::uint64_t end = std::min(first + bins_a_row, histogram.size());
    Bar bar{label(result, histogram, first, end, options.utf8), 0, {}};
    for (std::uint64_t i = first; i < end; ++i) bar.count += counts[i];
    cumulative += bar.count;
    if (options.density) {
      const double width = histogram.edge(end) - histogram.edge(first);
      bar.more.push_back(table_number(static_cast<double>(bar.count) / counted / width, chart_digits));
    }
    if (options.cumulative) bar.more.push_back(fmt::to_string(cumulative));
    bars.push_back(std::move(bar));
  }
  return bars;
}

}  // namespace

void write_table(const HistogramResult& result, const TableOptions& options, const Sink& sink) {
  if (result.joint) {
    write_joint_table(result, options, sink);
    return;
  }
  if (result.rows) {
    write_row_table(result, options, sink);
    return;
  }
  const std::uint64_t bins = result.channels.front().size();
  const std::uint64_t bins_a_row = bins <= ungrouped ? 1 : bins_a_place(bins, most_rows);
  std::string head = headline(result) + fmt::format(", {} bin{}", bins, bins == 1 ? "" : "s");
  if (bins_a_row > 1) head += fmt::format(", {} in each row", bins_a_row);
  if (options.log_counts) head += ", bars by the logarithm of the counts";
  sink(head + "\n");

  std::vector<std::string> titles;
  if (options.density) titles.emplace_back("density");
  if (options.cumulative) titles.emplace_back("cumulative");
  for (std::size_t c = 0; c < result.channels.size(); ++c) {
    const Histogram& histogram = result.channels[c];
    const std::string name = result.names.empty() ? "" : result.names[c] + ": ";
    sink(fmt::format("\n{}n {}, range {}, mean {}, below {}, above {}, nan {}\n", name, histogram.n(),
                     result.summaries[c].range(), result.summaries[c].mean(), histogram.below(), histogram.above(),
                     histogram.nan()));
    write_bars(group(result, histogram, bins_a_row, options), titles, options, sink);
  }
}

}  // namespace masu::cli
