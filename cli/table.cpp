// SPDX-License-Identifier: Apache-2.0
#include "histogram_result.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_rows = 32;  // a chart is grouped to at most that many
constexpr std::uint64_t ungrouped = 40;  // and not grouped at all up to here
constexpr std::uint64_t narrowest_bar = 10;

struct Row {
  std::string label;
  std::uint64_t count = 0;
};

// Columns that a text of ours takes: every character is one wide.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string edge_label(const HistogramResult& result, double value) {
  // Six digits are enough to read a chart; the other formats have them all.
  const bool whole = !is_float(result.channels.front().dtype()) && value == std::floor(value);
  return whole ? io::format_number(value, result.edge_dtype) : fmt::format("{:.6g}", value);
}

std::string label(const HistogramResult& result, const Histogram& histogram, std::uint64_t first, std::uint64_t end,
                  bool utf8) {
  const char* dash = utf8 ? " … " : " .. ";
  const double lo = histogram.edge(first);
  if (!result.one_value) return edge_label(result, lo) + dash + edge_label(result, histogram.edge(end));
  if (end - first == 1) return io::format_number(lo);
  return io::format_number(lo) + dash + io::format_number(histogram.edge(end - 1));
}

std::vector<Row> group(const HistogramResult& result, const Histogram& histogram, std::uint64_t bins_a_row, bool utf8) {
  std::vector<Row> rows;
  for (std::uint64_t first = 0; first < histogram.size(); first += bins_a_row) {
    const std::uint64_t end = std::min(first + bins_a_row, histogram.size());
    Row row{label(result, histogram, first, end, utf8), 0};
    for (std::uint64_t i = first; i < end; ++i) row.count += histogram.counts()[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

// A bar of `part` of `width` columns, in eighths of a column where the locale has such characters.
std::string bar(double part, std::uint64_t width, bool utf8) {
  static constexpr std::array<const char*, 8> eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto steps = static_cast<std::uint64_t>(std::llround(part * static_cast<double>(width) * 8));
  std::string text;
  if (!utf8) {
    text.assign((steps + 4) / 8, '#');
    return text.empty() && part > 0 ? "." : text;
  }
  for (std::uint64_t i = 0; i < steps / 8; ++i) text += "█";
  text += eighths[steps % 8];
  return text.empty() && part > 0 ? "▏" : text;
}

void write_chart(const std::vector<Row>& rows, const TableOptions& options, const Sink& sink) {
  std::size_t label_width = 0;
  std::uint64_t most = 0;
  for (const Row& row : rows) {
    label_width = std::max(label_width, columns(row.label));
    most = std::max(most, row.count);
  }
  const std::size_t count_width = fmt::to_string(most).size();
  const std::size_t used = label_width + count_width + 4;
  const std::uint64_t bar_width = options.width > used + narrowest_bar ? options.width - used : narrowest_bar;
  for (const Row& row : rows) {
    const double part = most == 0 ? 0 : static_cast<double>(row.count) / static_cast<double>(most);
    std::string line = fmt::format("{:{}}{}  {:>{}}  {}", "", label_width - columns(row.label), row.label, row.count,
                                   count_width, bar(part, bar_width, options.utf8));
    line.erase(line.find_last_not_of(' ') + 1);
    sink(line + "\n");
  }
}

}  // namespace

void write_table(const HistogramResult& result, const TableOptions& options, const Sink& sink) {
  const io::SourceInfo& source = result.source;
  const std::uint64_t bins = result.channels.front().size();
  const std::uint64_t bins_a_row = bins <= ungrouped ? 1 : (bins + most_rows - 1) / most_rows;

  std::string head = fmt::format("{}: {} {}", source.name, source.format, to_string(source.dtype));
  if (source.format != "npy" && source.shape.size() >= 2) {
    head += fmt::format(", {} x {} pixels", source.shape[1], source.shape[0]);
  }
  head += fmt::format(", {} bin{}", bins, bins == 1 ? "" : "s");
  if (bins_a_row > 1) head += fmt::format(", {} in each row", bins_a_row);
  sink(head + "\n");

  for (std::size_t c = 0; c < result.channels.size(); ++c) {
    const Histogram& histogram = result.channels[c];
    const std::string name = result.names.empty() ? "" : result.names[c] + ": ";
    sink(fmt::format("\n{}n {}, range {}, mean {}, below {}, above {}, nan {}\n", name, histogram.n(),
                     result.summaries[c].range(), result.summaries[c].mean(), histogram.below(), histogram.above(),
                     histogram.nan()));
    write_chart(group(result, histogram, bins_a_row, options.utf8), options, sink);
  }
}

}  // namespace masu::cli
