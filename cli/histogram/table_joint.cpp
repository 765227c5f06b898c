// SPDX-License-Identifier: Apache-2.0
// --joint on a terminal: a map of shades for two columns, else the counts of each column by itself.
#include "cli/histogram/bars.h"

#include <fmt/format.h>
#include <algorithm>
#include <string>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_joint_lines = 24;
constexpr std::uint64_t most_bars = 16;
constexpr std::uint64_t narrowest = 10;
constexpr std::uint64_t widest_cell = 4;

// Column 0 from left to right, column 1 upwards.
void write_map(const HistogramResult& result, const TableOptions& options, const Sink& sink) {
  const JointHistogram& joint = *result.joint;
  const std::vector<double> xs = joint.edges(0);
  const std::vector<double> ys = joint.edges(1);
  const auto x_label = [&](double edge) { return edge_label(edge, joint.dtype(), result.column_edge_dtypes[0]); };
  const auto y_label = [&](double edge) { return edge_label(edge, joint.dtype(), result.column_edge_dtypes[1]); };

  const std::uint64_t bins_a_line = bins_a_place(joint.size(1), most_joint_lines);
  const std::uint64_t lines = bins_a_place(joint.size(1), bins_a_line);
  std::vector<std::string> labels;
  std::size_t margin = 0;
  for (std::uint64_t line = 0; line < lines; ++line) {
    labels.push_back(y_label(ys[line * bins_a_line]));
    margin = std::max(margin, labels.back().size());
  }
  labels.push_back(y_label(ys.back()));
  margin = std::max(margin, labels.back().size());

  const std::uint64_t places = options.width > margin + 3 + narrowest ? options.width - margin - 3 : narrowest;
  const std::uint64_t bins_a_column = bins_a_place(joint.size(0), places);
  const std::uint64_t across = bins_a_place(joint.size(0), bins_a_column);
  const std::uint64_t cell_width = std::clamp<std::uint64_t>(places / across, 1, widest_cell);

  std::vector<std::uint64_t> cells(across * lines);
  for (std::uint64_t i = 0; i < joint.counts().size(); ++i) {
    cells[i % joint.size(1) / bins_a_line * across + i / joint.size(1) / bins_a_column] += joint.counts()[i];
  }
  const std::uint64_t most = *std::max_element(cells.begin(), cells.end());

  const char* wall = options.utf8 ? "│" : "|";
  sink(fmt::format("{:>{}}\n", labels.back(), margin));
  for (std::uint64_t line = lines; line-- > 0;) {
    // Every fourth line and the last one say where they begin; more would be hard to read.
    const bool told = line == 0 || (line % 4 == 0 && lines - line > 1);
    std::string text = fmt::format("{:>{}} {}", told ? labels[line] : "", margin, wall);
    for (std::uint64_t x = 0; x < across; ++x) {
      const std::string mark = shade(height(cells[line * across + x], most, options.log_counts), options.utf8, false);
      for (std::uint64_t i = 0; i < cell_width; ++i) text += mark;
    }
    sink(text + wall + "\n");
  }
  const std::string lo = x_label(xs.front());
  const std::string hi = x_label(xs.back());
  const std::uint64_t width = across * cell_width;
  const std::uint64_t gap = width > lo.size() + hi.size() ? width - lo.size() - hi.size() : 1;
  sink(fmt::format("{:{}}{}{:{}}{}\n", "", margin + 2, lo, "", gap, hi));
  std::string legend =
      fmt::format("across: {}, up: {}; darkest: {} points", result.column_name(0), result.column_name(1), most);
  if (bins_a_column > 1 || bins_a_line > 1) legend += fmt::format(", {} x {} bins a place", bins_a_column, bins_a_line);
  sink(legend + (options.log_counts ? ", logarithmic\n" : "\n"));
}

// The counts of one column, whatever the others are.
void write_margin(const HistogramResult& result, unsigned d, const TableOptions& options, const Sink& sink) {
  const JointHistogram& joint = *result.joint;
  std::uint64_t behind = 1;  // cells of the later columns
  for (unsigned i = d + 1; i < joint.dimensions(); ++i) behind *= joint.size(i);
  std::vector<std::uint64_t> counts(joint.size(d));
  for (std::uint64_t i = 0; i < joint.counts().size(); ++i) counts[i / behind % joint.size(d)] += joint.counts()[i];

  const std::vector<double> edges = joint.edges(d);
  const auto label = [&](double edge) { return edge_label(edge, joint.dtype(), result.column_edge_dtypes[d]); };
  const std::uint64_t bins_a_bar = bins_a_place(joint.size(d), most_bars);
  std::vector<Bar> bars;
  for (std::uint64_t first = 0; first < counts.size(); first += bins_a_bar) {
    const std::uint64_t end = std::min<std::uint64_t>(first + bins_a_bar, counts.size());
    Bar bar{label(edges[first]) + (options.utf8 ? " … " : " .. ") + label(edges[end]), 0, {}};
    for (std::uint64_t i = first; i < end; ++i) bar.count += counts[i];
    bars.push_back(std::move(bar));
  }
  sink(fmt::format("\n{}{}\n", result.column_name(d),
                   bins_a_bar > 1 ? fmt::format(", {} bins in each row", bins_a_bar) : ""));
  write_bars(bars, {}, options, sink);
}

}  // namespace

void write_joint_table(const HistogramResult& result, const TableOptions& options, const Sink& sink) {
  const JointHistogram& joint = *result.joint;
  std::string bins;
  for (unsigned d = 0; d < joint.dimensions(); ++d) {
    bins += (d > 0 ? " x " : "") + fmt::to_string(joint.size(d));
  }
  sink(fmt::format("{}: {} {}, {} bins\n", result.source.name, result.source.format, to_string(joint.dtype()), bins));
  sink(fmt::format("n {}, outside {}, nan {}\n\n", joint.n(), joint.outside(), joint.nan()));
  if (joint.dimensions() == 2) {
    write_map(result, options, sink);
    return;
  }
  for (unsigned d = 0; d < joint.dimensions(); ++d) write_margin(result, d, options, sink);
}

}  // namespace masu::cli
