// SPDX-License-Identifier: Apache-2.0
// Histograms of values that are no numbers: bars of the most frequent texts, and bins of whole minutes to years.
#include "cli/histogram/histogram_job.h"

#include "io/instants.h"
#include "program.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/sort.h>
#include <numeric>

namespace masu::cli {
namespace {

constexpr std::int64_t most_calendar_bins = std::int64_t{1} << 24;
constexpr std::int64_t most_bins_wanted = 60;  // of those that are picked for the data

// A step of the calendar: so many microseconds, or months.
struct CalendarStep {
  std::int64_t us = 0;
  std::int64_t months = 0;
};

constexpr CalendarStep picked_steps[] = {{io::second_us, 0},
                                         {io::minute_us, 0},
                                         {5 * io::minute_us, 0},
                                         {15 * io::minute_us, 0},
                                         {io::hour_us, 0},
                                         {6 * io::hour_us, 0},
                                         {io::day_us, 0},
                                         {7 * io::day_us, 0},
                                         {0, 1},
                                         {0, 3},
                                         {0, 12},
                                         {0, 120},
                                         {0, 1200}};

CalendarStep step_of(std::string_view unit) {
  if (unit == "minute") return {io::minute_us, 0};
  if (unit == "hour") return {io::hour_us, 0};
  if (unit == "day") return {io::day_us, 0};
  return {0, unit == "month" ? 1 : 12};
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Which step an instant lies in, and where a step begins. Weeks begin on Mondays: 1970-01-05 was one.
constexpr std::int64_t first_monday_us = 4 * io::day_us;
std::int64_t step_number(const CalendarStep& step, std::int64_t us) {
  if (step.months == 0) return floor_quotient(us - (step.us == 7 * io::day_us ? first_monday_us : 0), step.us);
  const io::Date date = io::date_of_days(floor_quotient(us, io::day_us));
  return floor_quotient(date.year * 12 + date.month - 1, step.months);
}
std::int64_t step_begin(const CalendarStep& step, std::int64_t number) {
  if (step.months == 0) return number * step.us + (step.us == 7 * io::day_us ? first_monday_us : 0);
  const std::int64_t month = number * step.months;
  return io::days_of(
             {floor_quotient(month, 12), static_cast<unsigned>(month - floor_quotient(month, 12) * 12 + 1), 1}) *
         io::day_us;
}

}  // namespace

bool is_calendar_unit(std::string_view word) {
  return word == "minute" || word == "hour" || word == "day" || word == "month" || word == "year";
}

std::vector<double> calendar_edges(std::int64_t first, std::int64_t last, const std::string& unit,
                                   const std::string& name) {
  CalendarStep step = unit.empty() ? picked_steps[0] : step_of(unit);
  const auto bins = [&] { return step_number(step, last) - step_number(step, first) + 1; };
  for (const CalendarStep& each : picked_steps) {
    if (!unit.empty() || bins() <= most_bins_wanted) break;
    step = each;
  }
  if (bins() > most_calendar_bins) {
    data_error("{}: {} bins of a {} lie between its instants, at most {} are counted", name, bins(), unit,
               most_calendar_bins);
  }
  std::vector<double> edges;
  const std::int64_t begin = step_number(step, first);
  // The last edge is after the last instant, so it does not matter that the last bin holds it.
  for (std::int64_t i = 0; i <= bins(); ++i) edges.push_back(static_cast<double>(step_begin(step, begin + i)));
  return edges;
}

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
