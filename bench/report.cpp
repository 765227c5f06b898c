// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace masu::bench {
namespace {

std::string size_text(std::uint64_t bytes) {
  constexpr std::pair<unsigned, const char*> units[] = {{30, "Gi"}, {20, "Mi"}, {10, "Ki"}};
  for (const auto& [shift, unit] : units) {
    const std::uint64_t one = std::uint64_t{1} << shift;
    if (bytes >= one && bytes % one == 0) return fmt::format("{}{}", bytes / one, unit);
  }
  return fmt::to_string(bytes);
}

// What does not change along a chart's bars stands once, in a group's headline.
std::string group_of(const Row& row, bool ladder) {
  const std::string threads =
      row.threads == 0 ? "" : fmt::format(", {} thread{}", row.threads, row.threads == 1 ? "" : "s");
  return fmt::format("{}, {}, {}{}", row.device, row.case_name, ladder ? row.distribution : size_text(row.bytes) + "B",
                     threads);
}

// "lanes", or "auto: lanes".
std::string strategy_of(const Row& row) {
  return row.asked.empty() || row.asked == row.strategy ? row.strategy : row.asked + ": " + row.strategy;
}

}  // namespace

std::string table(std::span<const Row> rows) {
  std::vector<std::vector<std::string>> lines = {{"DEVICE", "CASE", "DISTRIBUTION", "SIZE", "COUNT", "STRATEGY",
                                                  "THREADS", "WHAT", "MEDIAN us", "LEAST us", "M/s", "GB/s", "CEILING",
                                                  "RATIO"}};
  for (const Row& row : rows) {
    lines.push_back({row.device, row.case_name, row.distribution, size_text(row.bytes), size_text(row.count),
                     strategy_of(row), row.threads == 0 ? "-" : fmt::to_string(row.threads), row.kind,
                     fmt::format("{:.1f}", row.seconds.median() * 1e6), fmt::format("{:.1f}", row.seconds.min() * 1e6),
                     fmt::format("{:.0f}", row.elements_per_s() / 1e6), fmt::format("{:.1f}", row.gb_per_s()),
                     row.ceiling > 0 ? fmt::format("{:.1f}", row.ceiling_gb_per_s()) : "-",
                     row.ceiling > 0 ? fmt::format("{:.3f}", row.ratio()) : "-"});
  }
  constexpr std::size_t first_number = 8;
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
      out +=
          i < first_number ? fmt::format("{:<{}}  ", line[i], widths[i]) : fmt::format("{:>{}}  ", line[i], widths[i]);
    }
    text += out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

plot::BarChart chart(const Suite& suite, std::span<const DeviceInfo> devices, std::span<const Row> rows) {
  // Several strategies are compared with each other for each distribution; one, over all distributions.
  std::vector<const Row*> shown;
  for (const Row& row : rows)
    if (row.kind == "kernel" && row.ceiling > 0) shown.push_back(&row);
  const bool ladder = std::adjacent_find(shown.begin(), shown.end(), [](const Row* a, const Row* b) {
                        return group_of(*a, true) == group_of(*b, true) && strategy_of(*a) != strategy_of(*b);
                      }) != shown.end();
  plot::BarChart chart;
  chart.title = suite.title;
  for (const DeviceInfo& info : devices)
    chart.subtitle += (chart.subtitle.empty() ? "" : "; ") + info.id + ": " + info.name;
  chart.x_label = fmt::format("ratio to the {} ceiling", suite.ceiling);
  chart.mark = plot::BarChart::Mark{1, fmt::format("{} ceiling", suite.ceiling)};
  chart.height = 0;  // as the bars need
  for (const Row* row : shown) {
    const std::string group = group_of(*row, ladder);
    if (chart.groups.empty() || chart.groups.back().title != group) chart.groups.push_back({group, {}});
    chart.groups.back().bars.push_back({ladder ? fmt::format("{}, {}B", strategy_of(*row), size_text(row->bytes))
                                               : row->distribution + " " + row->strategy,
                                        row->ratio(),
                                        fmt::format("{:.3f} · {:.0f} GB/s", row->ratio(), row->gb_per_s())});
  }
  return chart;
}

}  // namespace masu::bench
