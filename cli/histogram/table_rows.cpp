// SPDX-License-Identifier: Apache-2.0
// --rows on a terminal: each row is a line.
#include "cli/histogram/bars.h"

#include <fmt/format.h>
#include <algorithm>
#include <string>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_rows_lines = 40;  // rows that are shown, of one channel each
constexpr std::uint64_t narrowest_row = 10;

std::vector<std::uint64_t> grouped(std::span<const std::uint64_t> counts, std::uint64_t bins_a_column) {
  std::vector<std::uint64_t> sums((counts.size() + bins_a_column - 1) / bins_a_column);
  for (std::size_t i = 0; i < counts.size(); ++i) sums[i / bins_a_column] += counts[i];
  return sums;
}

// The limits of the bins below the two ends of the lines.
std::string axis(const HistogramResult& result, std::uint64_t margin, std::uint64_t width) {
  const Histogram& bins = result.first();
  const std::string lo = edge_label(bins.edge(0), bins.dtype(), result.edge_dtype);
  const std::string hi = edge_label(bins.edge(bins.size()), bins.dtype(), result.edge_dtype);
  const std::uint64_t gap = width > lo.size() + hi.size() ? width - lo.size() - hi.size() : 1;
  return std::string(margin, ' ') + lo + std::string(gap, ' ') + hi + "\n";
}

}  // namespace

void write_row_table(const HistogramResult& result, const TableOptions& options, const Sink& sink) {
  const std::uint64_t bins = result.first().size();
  const unsigned channels = result.channel_count();
  const std::uint64_t rows = result.row_count();
  const std::uint64_t shown = std::min(rows, std::max<std::uint64_t>(1, most_rows_lines / channels));

  std::size_t name_width = 0;
  for (const std::string& name : result.names) name_width = std::max(name_width, name.size() + 1);
  const std::size_t row_width = fmt::to_string(shown - 1).size();
  const std::uint64_t margin = row_width + name_width + 2;
  const std::uint64_t places = options.width > margin + narrowest_row ? options.width - margin : narrowest_row;
  const std::uint64_t bins_a_column = bins_a_place(bins, places);

  std::string head =
      headline(result) + fmt::format(", {} row{}, {} bin{}", rows, rows == 1 ? "" : "s", bins, bins == 1 ? "" : "s");
  if (bins_a_column > 1) head += fmt::format(", {} in each column", bins_a_column);
  sink(head + "\n");

  HistogramResult::Block all;
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (unsigned c = 0; c < channels; ++c) {
      const HistogramResult::Block block = result.block(row, c);
      all.below += block.below;
      all.above += block.above;
      all.nan += block.nan;
    }
  }
  sink(fmt::format("n {}, below {}, above {}, nan {}\n\n", result.n(), all.below, all.above, all.nan));

  std::vector<std::vector<std::uint64_t>> lines;
  std::uint64_t most = 0;
  for (std::uint64_t line = 0; line < shown * channels; ++line) {
    const auto channel = static_cast<unsigned>(line % channels);
    lines.push_back(grouped(result.block(line / channels, channel).counts, bins_a_column));
    most = std::max(most, *std::max_element(lines.back().begin(), lines.back().end()));
  }
  for (std::size_t line = 0; line < lines.size(); ++line) {
    std::string text = fmt::format("{:>{}}", line / channels, row_width);
    if (!result.names.empty()) text += fmt::format(" {:<{}}", result.names[line % channels], name_width - 1);
    text += "  ";
    for (const std::uint64_t count : lines[line]) {
      text += shade(height(count, most, options.log_counts), options.utf8, true);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    sink(text + "\n");
  }
  sink(axis(result, margin, lines.front().size()));
  sink(fmt::format("the highest column: {} values{}\n", most, options.log_counts ? ", logarithmic" : ""));
  if (shown < rows) sink(fmt::format("{} more rows; --format csv, json or npy has all\n", rows - shown));
}

}  // namespace masu::cli
