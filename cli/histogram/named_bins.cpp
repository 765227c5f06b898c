// SPDX-License-Identifier: Apache-2.0
// Histograms of values that are no numbers: bars of the most frequent texts, or of dates.
#include "cli/histogram/histogram_job.h"

#include "program.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/sort.h>
#include <numeric>

namespace masu::cli {

bool has_texts(const HistogramResult& result) {
  return result.source.names && result.source.names->kind() == io::ValueNames::Kind::texts;
}

NamedBars named_bars(const HistogramResult& result, std::uint64_t limit) {
  const std::span<const std::uint64_t> counts = result.first().counts();
  std::vector<std::uint32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::vector<std::uint64_t> keys(counts.begin(), counts.end());
  SortOptions descending;
  descending.order = Order::descending;
  sort_by_key(Device::open("cpu"), MutableArrayView(keys), RecordsView(order.data(), sizeof order[0], order.size()),
              descending);
  NamedBars bars;
  bars.distinct = counts.size();
  bars.all = result.n();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i < limit) bars.texts.push_back((*result.source.names)(order[i]));
    if (i < limit) bars.counts.push_back(keys[i]);
    else bars.other += keys[i];
  }
  return bars;
}

std::string other_label(const NamedBars& bars) {
  return fmt::format("other ({} texts)", bars.distinct - bars.texts.size());
}

void write_named_csv(const HistogramResult& result, const WriteOptions& options, const Sink& sink, char separator) {
  const NamedBars bars = named_bars(result, options.limit);
  const std::string input = options.several ? csv_field(result.source.name) + separator : "";
  if (options.first) {
    sink(fmt::format("{}value{}count{}\n", options.several ? std::string("input") + separator : "", separator,
                     options.percent ? separator + std::string("percent") : ""));
  }
  for (std::size_t i = 0; i < bars.texts.size(); ++i) {
    const std::string share =
        options.percent ? separator + io::format_number(bars.percent(bars.counts[i])) : std::string();
    sink(fmt::format("{}{}{}{}{}\n", input, csv_field(bars.texts[i]), separator, bars.counts[i], share));
  }
}

void write_named_json(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  const NamedBars bars = named_bars(result, options.limit);
  TextSink to(sink);
  to.add("{");
  if (options.several) to.add(fmt::format(R"("input":{},)", json_string(result.source.name)));
  to.add(fmt::format(R"("n":{},"dtype":"text","device":{},"strategy":"{}","values":)", result.n(),
                     json_string(result.device), to_string(result.strategy())));
  to.list(bars.texts.size(), [&](std::uint64_t i) { to.add(json_string(bars.texts[i])); });
  to.add(R"(,"counts":)");
  to.list(bars.counts.size(), [&](std::uint64_t i) { to.add(fmt::to_string(bars.counts[i])); });
  if (options.percent) {
    to.add(R"(,"percent":)");
    to.list(bars.counts.size(), [&](std::uint64_t i) { to.add(io::format_number(bars.percent(bars.counts[i]))); });
  }
  to.add(fmt::format(R"(,"other":{},"distinct":{}{},{}}})", bars.other, bars.distinct,
                     json_report(result.texts.front().second, result.source.notes), json_seconds(result.seconds)));
  to.add("\n");
  to.flush();
}

plot::BarChart named_chart(const HistogramResult& result, const WriteOptions& options) {
  plot::BarChart chart;
  chart.x_label = "count";
  chart.groups.emplace_back();
  const auto add = [&](const std::string& label, std::uint64_t count) {
    chart.groups.front().bars.push_back({visible(label), static_cast<double>(count), fmt::to_string(count)});
  };
  chart.height = 0;
  if (!has_texts(result)) {
    const Histogram& histogram = result.first();
    for (std::uint64_t i = 0; i < histogram.size(); ++i) {
      add((*result.source.names)(static_cast<std::int64_t>(histogram.edge(i))), histogram.counts()[i]);
    }
    return chart;
  }
  const NamedBars bars = named_bars(result, options.limit);
  for (std::size_t i = 0; i < bars.texts.size(); ++i) add(bars.texts[i], bars.counts[i]);
  if (bars.other != 0) add(other_label(bars), bars.other);
  return chart;
}

}  // namespace masu::cli
