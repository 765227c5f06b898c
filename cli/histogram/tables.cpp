// SPDX-License-Identifier: Apache-2.0
// Charts on a terminal, for people.
#include "cli/histogram/histogram_job.h"
#include "text.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::cli {

namespace {

struct Bar {
  std::string label;
  std::uint64_t count = 0;
  std::vector<std::string> more;  // further columns, as many in every bar
};

constexpr int percent_digits = 4;
constexpr std::uint64_t narrowest_bar = 10;

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

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, columns_of_text(text)), ' ') + text;
}

// An edge in these digits, or in --digits.
std::string edge_label(double edge, Dtype data, Dtype edge_dtype) {
  const bool whole = !is_float(data) && edge == std::floor(edge);
  return whole ? io::format_number(edge, edge_dtype) : table_number(edge, chart_digits);
}

// How high a count stands against the highest one, from 0 to 1.
double height(std::uint64_t count, std::uint64_t most, bool log_counts) {
  if (count == 0) return 0;
  const auto part = static_cast<double>(count);
  const auto whole = static_cast<double>(most);
  return log_counts ? std::log1p(part) / std::log1p(whole) : part / whole;
}

// One of a row of characters of growing darkness or height; a blank for 0 only.
std::string shade(double part, bool utf8, bool height_of_a_bar) {
  static constexpr std::array<const char*, 9> heights = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<const char*, 6> darks = {" ", "·", "░", "▒", "▓", "█"};
  static constexpr std::string_view plain = " .:-=+*#%@";
  const std::size_t levels = (!utf8 ? plain.size() : height_of_a_bar ? heights.size() : darks.size()) - 1;
  std::size_t level = static_cast<std::size_t>(std::llround(part * static_cast<double>(levels)));
  if (part > 0) level = std::max<std::size_t>(level, 1);
  if (!utf8) return std::string(1, plain[level]);
  return height_of_a_bar ? heights[level] : darks[level];
}

// How many bins share a place where there are `places` at most.
std::uint64_t bins_a_place(std::uint64_t bins, std::uint64_t places) {
  return (bins + places - 1) / places;
}

// "photo.png: png u8, 640 x 480 pixels", without a line's end.
std::string headline(const HistogramResult& result) {
  const io::SourceInfo& source = result.source;
  std::string text = fmt::format("{}: {} {}", source.name, source.format, type_name(source));
  if (!source.channels.empty() && source.shape.size() >= 2) {
    text += fmt::format(", {} x {} pixels", source.shape[1], source.shape[0]);
  }
  if (source.largest != 0) text += fmt::format(", values 0 to {}", source.largest);
  return text;
}

// A bar or line of channel or group `index` in its colour: one of the eight that every terminal has.
std::string coloured(std::string text, const HistogramResult& result, std::size_t index, const WriteOptions& options) {
  static constexpr std::array<std::pair<std::string_view, int>, 6> channels = {
      {{"red", 31}, {"green", 32}, {"blue", 34}, {"cyan", 36}, {"magenta", 35}, {"yellow", 33}}};
  if (!options.colours || text.empty()) return text;
  int code = 0;
  if (!result.groups.empty()) code = channels[(index + 2) % channels.size()].second;
  for (const auto& [name, its] : channels)
    if (result.groups.empty() && index < result.names.size() && result.names[index] == name) code = its;
  return code == 0 ? text : fmt::format("\x1b[{}m{}\x1b[m", code, text);
}

// Lines of labels, counts and bars; a line of `titles` for `more` above them.
void write_bars(std::span<const Bar> bars, const std::vector<std::string>& titles, const WriteOptions& options,
                const Sink& sink, const std::function<std::string(std::string)>& paint = {}) {
  std::size_t label_width = 0;
  std::uint64_t most = 0;
  std::vector<std::size_t> widths;
  for (const std::string& title : titles) widths.push_back(title.size());
  for (const Bar& each : bars) {
    label_width = std::max(label_width, columns_of_text(each.label));
    most = std::max(most, each.count);
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], each.more[i].size());
  }
  const std::size_t count_width = std::max<std::size_t>(titles.empty() ? 0 : 5, fmt::to_string(most).size());
  std::size_t used = label_width + count_width + 4;
  for (const std::size_t width : widths) used += width + 2;
  const std::uint64_t bar_width = options.width > used + narrowest_bar ? options.width - used : narrowest_bar;

  const auto line = [&](const std::string& label, const std::string& count, const std::vector<std::string>& more,
                        const std::string& drawn) {
    std::string text = padded(label, label_width) + "  " + padded(count, count_width);
    for (std::size_t i = 0; i < widths.size(); ++i) text += "  " + padded(more[i], widths[i]);
    text += "  " + (paint ? paint(drawn) : drawn);
    text.erase(text.find_last_not_of(' ') + 1);
    sink(text + "\n");
  };
  if (!titles.empty()) line("", "count", titles, "");
  for (const Bar& each : bars) {
    line(each.label, fmt::to_string(each.count), each.more,
         bar(height(each.count, most, options.log_counts), bar_width, options.utf8));
  }
}

// The bar chart of each channel.

constexpr std::uint64_t most_rows = 32;  // a chart is grouped to at most that many
constexpr std::uint64_t ungrouped = 40;  // and not grouped at all up to here

std::string label(const HistogramResult& result, const Histogram& histogram, std::uint64_t first, std::uint64_t end,
                  bool utf8) {
  const char* dash = utf8 ? " … " : " .. ";
  const double lo = histogram.edge(first);
  const auto edge = [&](double value) {
    if (result.source.names) return (*result.source.names)(static_cast<std::int64_t>(std::floor(value)));
    return edge_label(value, histogram.dtype(), result.edge_dtype);
  };
  if (!result.one_value) {
    const bool closed = end == histogram.size() && !result.half_open;
    return fmt::format("[{}, {}{}", edge(lo), edge(histogram.edge(end)), closed ? ']' : ')');
  }
  if (end - first == 1) return io::format_number(lo);
  return io::format_number(lo) + dash + io::format_number(histogram.edge(end - 1));
}

std::vector<Bar> group(const HistogramResult& result, const Histogram& histogram, std::uint64_t bins_a_row,
                       const WriteOptions& options) {
  const auto counts = histogram.counts();
  const auto counted = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  std::uint64_t cumulative = 0;
  std::vector<std::uint16_t> levels;
  if (options.equalize) levels = levels_of(histogram);
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
    if (options.percent) {
      const double percent = 100 * static_cast<double>(bar.count) / static_cast<double>(histogram.n());
      bar.more.push_back(table_number(percent, percent_digits));
    }
    if (options.equalize) bar.more.push_back(fmt::to_string(levels[end - 1]));
    bars.push_back(std::move(bar));
  }
  return bars;
}

// --rows on a terminal: each row is a line.

constexpr std::uint64_t most_rows_lines = 40;  // rows that are shown, of one channel each
constexpr std::uint64_t narrowest_row = 10;

std::vector<std::uint64_t> grouped(std::span<const std::uint64_t> counts, std::uint64_t bins_a_column) {
  std::vector<std::uint64_t> sums((counts.size() + bins_a_column - 1) / bins_a_column);
  for (std::size_t i = 0; i < counts.size(); ++i) sums[i / bins_a_column] += counts[i];
  return sums;
}

// The limits of the bins below the two ends of the lines.
std::string axis(double first, double last, Dtype data, Dtype edge_dtype, std::uint64_t margin, std::uint64_t width) {
  const std::string lo = edge_label(first, data, edge_dtype);
  const std::string hi = edge_label(last, data, edge_dtype);
  const std::uint64_t gap = width > lo.size() + hi.size() ? width - lo.size() - hi.size() : 1;
  return std::string(margin, ' ') + lo + std::string(gap, ' ') + hi + "\n";
}

void write_row_table(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
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
  result.each_block([&](const HistogramResult::Block& block) {
    all.below += block.below;
    all.above += block.above;
    all.nan += block.nan;
  });
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
    std::string drawn;
    for (const std::uint64_t count : lines[line]) {
      drawn += shade(height(count, most, options.log_counts), options.utf8, true);
    }
    drawn.erase(drawn.find_last_not_of(' ') + 1);
    text += (drawn.empty() ? "" : "  ") + coloured(drawn, result, line % channels, options);
    sink(text + "\n");
  }
  const Histogram& first = result.first();
  sink(axis(first.edge(0), first.edge(bins), first.dtype(), result.edge_dtype, margin, lines.front().size()));
  sink(fmt::format("the highest column: {} values{}\n", most, options.log_counts ? ", logarithmic" : ""));
  if (shown < rows) sink(fmt::format("{} more rows; --format csv, json or npy has all\n", rows - shown));
}

// --joint on a terminal: a map of shades for two columns, else the counts of each column by itself.

constexpr std::uint64_t most_joint_lines = 24;
constexpr std::uint64_t most_bars = 16;
constexpr std::uint64_t narrowest = 10;
constexpr std::uint64_t widest_cell = 4;

// Column 0 from left to right, column 1 upwards.
void write_map(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  const JointHistogram& joint = *result.joint;
  const std::vector<double> xs = joint.edges(0);
  const std::vector<double> ys = joint.edges(1);
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
    const bool labelled = line == 0 || (line % 4 == 0 && lines - line > 1);
    std::string text = fmt::format("{:>{}} {}", labelled ? labels[line] : "", margin, wall);
    for (std::uint64_t x = 0; x < across; ++x) {
      const std::string mark = shade(height(cells[line * across + x], most, options.log_counts), options.utf8, false);
      for (std::uint64_t i = 0; i < cell_width; ++i) text += mark;
    }
    sink(text + wall + "\n");
  }
  sink(axis(xs.front(), xs.back(), joint.dtype(), result.column_edge_dtypes[0], margin + 2, across * cell_width));
  std::string legend =
      fmt::format("across: {}, up: {}; darkest: {} points", result.column_name(0), result.column_name(1), most);
  if (bins_a_column > 1 || bins_a_line > 1) legend += fmt::format(", {} x {} bins a place", bins_a_column, bins_a_line);
  sink(legend + (options.log_counts ? ", logarithmic\n" : "\n"));
}

// The counts of one column, whatever the others are.
void write_margin(const HistogramResult& result, unsigned d, const WriteOptions& options, const Sink& sink) {
  const JointHistogram& joint = *result.joint;
  std::uint64_t stride = 1;  // cells of the later columns
  for (unsigned i = d + 1; i < joint.dimensions(); ++i) stride *= joint.size(i);
  std::vector<std::uint64_t> counts(joint.size(d));
  for (std::uint64_t i = 0; i < joint.counts().size(); ++i) counts[i / stride % joint.size(d)] += joint.counts()[i];

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

void write_joint_table(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  const JointHistogram& joint = *result.joint;
  std::string bins;
  for (unsigned d = 0; d < joint.dimensions(); ++d) {
    bins += (d > 0 ? " x " : "") + fmt::to_string(joint.size(d));
  }
  sink(fmt::format("{}: {} {}, {} bins\n", result.source.name, result.source.format, to_string(joint.dtype()), bins));
  sink(fmt::format("n {}, outside {}, nan {}\n\n", joint.n(), joint.outside(), joint.nan()));
  if (joint.dimensions() == 2) return write_map(result, options, sink);
  for (unsigned d = 0; d < joint.dimensions(); ++d) write_margin(result, d, options, sink);
}

void write_named_table(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  const NamedBars named = named_bars(result, options.limit);
  std::string head =
      fmt::format("{}: {} different text{}", result.source.name, named.distinct, named.distinct == 1 ? "" : "s");
  if (options.log_counts) head += ", bars by the logarithm of the counts";
  sink(fmt::format("{}\n\nn {}\n", head, result.n()));
  std::vector<Bar> bars;
  const auto add = [&](const std::string& label, std::uint64_t count) {
    Bar& bar = bars.emplace_back(Bar{label, count, {}});
    if (options.percent) bar.more.push_back(table_number(named.percent(count), percent_digits));
  };
  for (std::size_t i = 0; i < named.texts.size(); ++i) add(named.texts[i], named.counts[i]);
  if (options.on_terminal) std::ranges::for_each(bars, [](Bar& bar) { bar.label = visible(bar.label); });
  if (named.other != 0) add(named.others, named.other);
  write_bars(bars, options.percent ? std::vector<std::string>{"percent"} : std::vector<std::string>(), options, sink);
}

}  // namespace

void write_table(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  if (result.weighted) return write_weighted_table(result, options, sink);
  if (options.several && !options.first) sink("\n");
  if (result.joint) return write_joint_table(result, options, sink);
  if (result.rows) return write_row_table(result, options, sink);
  if (has_texts(result)) return write_named_table(result, options, sink);
  const std::uint64_t bins = result.channels.front().size();
  const std::uint64_t bins_a_row = bins <= ungrouped ? 1 : bins_a_place(bins, most_rows);
  std::string head = headline(result) + fmt::format(", {} bin{}", bins, bins == 1 ? "" : "s");
  if (bins_a_row > 1) head += fmt::format(", {} in each row", bins_a_row);
  if (options.log_counts) head += ", bars by the logarithm of the counts";
  sink(head + "\n");

  std::vector<std::string> titles;
  if (options.density) titles.emplace_back("density");
  if (options.cumulative) titles.emplace_back("cumulative");
  if (options.percent) titles.emplace_back("percent");
  if (options.equalize) titles.emplace_back("level");
  const std::size_t shown = result.groups.empty() ? result.channels.size() : result.summaries.size();
  for (std::size_t c = 0; c < shown; ++c) {
    const Histogram& histogram = result.channels[c];
    const std::string name = result.names.empty() ? "" : result.names[c] + ": ";
    if (result.source.names) {
      sink(fmt::format("\n{}n {}\n", name, histogram.n()));
    } else {
      sink(fmt::format("\n{}n {}, range {}, mean {}, below {}, above {}, nan {}{}\n", name, histogram.n(),
                       result.summaries[c].range(), result.summaries[c].mean(), histogram.below(), histogram.above(),
                       histogram.nan(), options.otsu ? ", otsu " + otsu_text(histogram) : ""));
    }
    write_bars(group(result, histogram, bins_a_row, options), titles, options, sink,
               [&](std::string drawn) { return coloured(std::move(drawn), result, c, options); });
  }
  if (shown < result.channels.size()) {
    sink(fmt::format("\n{} more groups; --format csv, json or npy has all\n", result.channels.size() - shown));
  }
}

}  // namespace masu::cli
