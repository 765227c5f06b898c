// SPDX-License-Identifier: Apache-2.0
// masu histogram --plot: which chart shows a result, and what it is called.
#include "cli/histogram/histogram_job.h"
#include "options.h"
#include "program.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/plot.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_named_bins = 200;  // of dates in a plot, each with its name
constexpr std::size_t most_drawn = 8;           // groups or inputs over one axis: as many as there are colours

// A path without its folders; what stands in a file of many arrays stays.
std::string without_folders(const std::string& path) {
  const std::size_t slash = path.rfind('/', path.find(":/"));
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

plot::Format picture_format(const PictureOptions& asked) {
  return plot::format_from_path(asked.to_stdout() ? "." + asked.path.substr(0, asked.path.size() - 2) : asked.path);
}

plot::Quantity quantity_of(const WriteOptions& options) {
  if (options.density) return plot::Quantity::density;
  if (options.percent) return plot::Quantity::percent;
  return options.cumulative ? plot::Quantity::cumulative : plot::Quantity::counts;
}

plot::BinAxis bins_of(const HistogramResult& result, const Histogram& histogram) {
  const double shift = result.one_value ? 0.5 : 0;  // a bar stands over its number
  return {histogram.size(), [&histogram, shift](std::uint64_t i) { return histogram.edge(i) - shift; },
          result.one_value ? plot::Scale::linear : plot::Scale::automatic, result.one_value};
}

// The channels or groups of all results, or those that have the most values.
plot::HistogramChart channels_chart(std::span<const HistogramResult> results, const WriteOptions& options) {
  plot::HistogramChart chart;
  bool same_bins = true;
  std::vector<std::pair<std::uint64_t, std::size_t>> sizes;
  for (const HistogramResult& result : results) {
    if (result.channels.empty()) data_error("{}: has no group to draw", result.source.name);
    if (results.size() > 1 && result.source.names) usage_error("--plot draws several inputs of numbers only");
    const Histogram& first = results.front().channels.front();
    for (std::size_t c = 0; c < result.channels.size(); ++c) {
      const Histogram& histogram = result.channels[c];
      std::string name = result.names.empty() ? "" : result.names[c];
      if (results.size() > 1)
        name = fmt::format("{}{}{}", without_folders(result.source.name), name.empty() ? "" : ": ", name);
      plot::Series series = plot::series(histogram, name);
      series.bins = bins_of(result, histogram);
      same_bins = same_bins && histogram.size() == first.size() && histogram.edge(0) == first.edge(0) &&
                  histogram.edge(histogram.size()) == first.edge(first.size());
      sizes.emplace_back(histogram.n(), sizes.size());
      chart.series.push_back(std::move(series));
    }
  }
  if (!same_bins) chart.notes.emplace_back("bins differ: --range gives all inputs the same");
  if ((results.size() > 1 || !results.front().groups.empty()) && sizes.size() > most_drawn) {
    std::ranges::sort(sizes, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<plot::Series> kept;
    std::ranges::sort(sizes.begin(), sizes.begin() + most_drawn, {}, &std::pair<std::uint64_t, std::size_t>::second);
    for (std::size_t i = 0; i < most_drawn; ++i) kept.push_back(std::move(chart.series[sizes[i].second]));
    chart.series = std::move(kept);
    chart.notes.push_back(fmt::format("and {} smaller ones, not drawn", sizes.size() - most_drawn));
  }
  chart.quantity = quantity_of(options);
  return chart;
}

// A joint histogram of one column, or the totals of weights.
plot::HistogramChart one_column(const HistogramResult& result, const WriteOptions& options,
                                const std::vector<double>& totals, const std::string& weights) {
  plot::HistogramChart chart;
  plot::Series series;
  if (result.weighted) {
    series.bins = plot::axis(result.weighted->edges(0));
    series.totals = totals;
    chart.notes.push_back(fmt::format("n = {}", result.n()));
    const auto infinite = std::ranges::count_if(totals, [](double total) { return !std::isfinite(total); });
    if (infinite > 0) chart.notes.push_back(fmt::format("{} totals that are not finite are not drawn", infinite));
    chart.y_label = (options.density ? "density of " : "sum of ") + weights;
  } else {
    series.bins = plot::axis(result.joint->edges(0));
    series.counts = result.joint->counts();
    series.nan = result.joint->nan();
    if (result.joint->outside() > 0) chart.notes.push_back(fmt::format("outside: {}", result.joint->outside()));
    chart.quantity = options.percent ? plot::Quantity::counts : quantity_of(options);
  }
  chart.series.push_back(std::move(series));
  return chart;
}

plot::HeatMap map_chart(const HistogramResult& result) {
  plot::HeatMap map = result.joint ? plot::heat_map(*result.joint) : plot::heat_map(*result.rows);
  if (result.joint) {
    map.x_label = result.column_name(0);
    map.y_label = result.column_name(1);
  } else if (result.rows->channels() > 1) {
    map.y_label = "row and channel";
  }
  return map;
}

}  // namespace

bool PictureOptions::to_stdout() const {
  return path == "svg:-" || path == "png:-" || path == "pdf:-";
}

void check_picture(const PictureOptions& asked, std::size_t inputs, bool weighted_map) {
  if (asked.path.empty()) {
    if (!asked.title.empty() || !asked.size.empty() || asked.dark)
      usage_error("--title, --size and --dark need --plot");
    return;
  }
  if (asked.path == "-") usage_error("--plot to standard output names a format: svg:-, png:- or pdf:-");
  const plot::Format format = picture_format(asked);
  if (asked.to_stdout() && format != plot::Format::svg && is_terminal(STDOUT_FILENO))
    usage_error("--plot {} does not go to a terminal; name a file", asked.path);
  if (weighted_map) usage_error("--plot draws weights of one column without --rows");
  if (inputs > most_drawn) usage_error("--plot draws at most {} inputs, got {}", most_drawn, inputs);
  if (asked.size.empty()) return;
  const std::vector<std::string> sides = split(asked.size, 'x');
  if (sides.size() != 2) usage_error("--size takes WIDTHxHEIGHT, as 800x500, got '{}'", asked.size);
  for (const std::string& side : sides) (void)whole_number("--size", side, 100, 20'000);
}

void write_picture(std::span<const HistogramResult> results, const WriteOptions& options, const PictureOptions& asked) {
  const HistogramResult& result = results.front();
  const auto save = [&](auto chart) {
    if (chart.x_label.empty()) chart.x_label = asked.column.empty() ? "value" : asked.column;
    const std::string file = without_folders(result.source.name);
    chart.title = results.size() > 1 ? chart.x_label : file + (asked.column.empty() ? "" : ": " + asked.column);
    if (!result.group_names.empty()) chart.title += " by " + fmt::format("{}", fmt::join(result.group_names, ", "));
    if (!asked.title.empty()) chart.title = asked.title;
    if (!asked.size.empty()) {
      const std::vector<std::string> sides = split(asked.size, 'x');
      chart.width = static_cast<unsigned>(whole_number("--size", sides[0], 100, 20'000));
      chart.height = static_cast<unsigned>(whole_number("--size", sides[1], 100, 20'000));
      chart.pixel_ratio = 1;
    }
    chart.dark = asked.dark;
    if constexpr (requires { chart.log_counts; }) chart.log_counts = options.log_counts;
    const std::string bytes = plot::draw(chart, picture_format(asked));
    io::OutputFile file_of_picture(asked.to_stdout() ? "-" : asked.path);
    file_of_picture.write(bytes);
    file_of_picture.commit();
  };
  if (result.weighted || (result.joint && result.joint->dimensions() == 1)) {
    std::vector<double> totals;
    if (result.weighted && options.density) totals = result.weighted->density();
    else if (result.weighted) totals.assign(result.weighted->totals().begin(), result.weighted->totals().end());
    const std::string weights = asked.weights.empty() ? without_folders(result.weights) : asked.weights;
    save(one_column(result, options, totals, weights));
  } else if (result.joint || result.rows) {
    save(map_chart(result));
  } else if (results.size() == 1 &&
             (has_texts(result) || (result.source.names && result.first().size() <= most_named_bins))) {
    save(named_chart(result, options));
  } else {
    save(channels_chart(results, options));
  }
}

}  // namespace masu::cli
