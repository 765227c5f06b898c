// SPDX-License-Identifier: Apache-2.0
// --plot
#include "cli/histogram/histogram_plot.h"

#include <fmt/format.h>
#include <masu/plot.h>

namespace masu::cli {
namespace {

plot::Quantity quantity(const WriteOptions& options) {
  if (options.density) return plot::Quantity::density;
  return options.cumulative ? plot::Quantity::cumulative : plot::Quantity::counts;
}

plot::HistogramChart channels(const HistogramResult& result, const WriteOptions& options) {
  plot::HistogramChart chart;
  for (std::size_t c = 0; c < result.channels.size(); ++c) {
    chart.series.push_back(plot::series(result.channels[c], result.names.empty() ? "" : result.names[c]));
  }
  chart.quantity = quantity(options);
  chart.log_counts = options.log_counts;
  return chart;
}

// A joint histogram of one column.
plot::HistogramChart one_column(const HistogramResult& result, const WriteOptions& options) {
  plot::HistogramChart chart;
  plot::Series series;
  series.bins = plot::axis(result.joint->edges(0));
  series.counts = result.joint->counts();
  series.nan = result.joint->nan();
  chart.series.push_back(std::move(series));
  if (result.joint->outside() > 0) chart.notes.push_back(fmt::format("outside: {}", result.joint->outside()));
  chart.quantity = quantity(options);
  chart.log_counts = options.log_counts;
  return chart;
}

plot::HeatMap two_columns(const HistogramResult& result) {
  plot::HeatMap map = plot::heat_map(*result.joint);
  map.x_label = result.column_name(0);
  map.y_label = result.column_name(1);
  if (result.joint->outside() > 0) map.notes.push_back(fmt::format("outside: {}", result.joint->outside()));
  if (result.joint->nan() > 0) map.notes.push_back(fmt::format("NaN: {}", result.joint->nan()));
  return map;
}

plot::HeatMap rows(const HistogramResult& result) {
  plot::HeatMap map = plot::heat_map(*result.rows);
  if (result.rows->channels() > 1) map.y_label = "row and channel";
  return map;
}

template <class Chart>
void save(Chart chart, const HistogramResult& result, const std::string& path) {
  chart.title = result.source.name;
  plot::save(chart, path);
}

}  // namespace

void write_plot(const HistogramResult& result, const WriteOptions& options, const std::string& path) {
  if (result.joint && result.joint->dimensions() == 1) {
    save(one_column(result, options), result, path);
  } else if (result.joint || result.rows) {
    plot::HeatMap map = result.joint ? two_columns(result) : rows(result);
    map.log_counts = options.log_counts;
    save(std::move(map), result, path);
  } else {
    save(channels(result, options), result, path);
  }
}

}  // namespace masu::cli
