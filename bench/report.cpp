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

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') result += "&amp;";
    else if (c == '<') result += "&lt;";
    else result += c;
  }
  return result;
}

// What does not change along a chart's bars stands once, in a group's headline.
std::string group_of(const Row& row) {
  const std::string threads =
      row.threads == 0 ? "" : fmt::format(", {} thread{}", row.threads, row.threads == 1 ? "" : "s");
  return fmt::format("{}, {}, {}B{}", row.device, row.what.name, size_text(row.bytes), threads);
}

}  // namespace

std::string table(std::span<const Row> rows) {
  std::vector<std::vector<std::string>> lines = {{"DEVICE", "CASE", "DISTRIBUTION", "SIZE", "STRATEGY", "THREADS",
                                                  "WHAT", "MEDIAN us", "LEAST us", "GB/s", "CEILING", "RATIO"}};
  for (const Row& row : rows) {
    lines.push_back({row.device, std::string(row.what.name), row.distribution, size_text(row.bytes), row.strategy,
                     row.threads == 0 ? "-" : fmt::to_string(row.threads), row.kind,
                     fmt::format("{:.1f}", row.seconds.median() * 1e6), fmt::format("{:.1f}", row.seconds.min() * 1e6),
                     fmt::format("{:.1f}", row.gb_per_s()),
                     row.ceiling > 0 ? fmt::format("{:.1f}", row.ceiling_gb_per_s()) : "-",
                     row.ceiling > 0 ? fmt::format("{:.3f}", row.ratio()) : "-"});
  }
  constexpr std::size_t first_number = 7;
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

std::string chart(std::span<const DeviceInfo> devices, std::span<const Row> rows) {
  constexpr int left = 190;
  constexpr int full = 460;  // pixels of a ratio of 1
  constexpr int step = 22;
  std::string body;
  int y = 54;
  double most = 1;
  std::string group;
  for (const Row& row : rows) {
    if (row.kind != "kernel" || row.ceiling <= 0) continue;
    most = std::max(most, row.ratio());
    if (group_of(row) != group) {
      group = group_of(row);
      y += 14;
      body += fmt::format("<text x=\"10\" y=\"{}\" font-weight=\"bold\">{}</text>\n", y, escaped(group));
      y += 8;
    }
    const double width = row.ratio() * full;
    body += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n"
        "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"#2a6f97\"/>\n"
        "<text x=\"{:.1f}\" y=\"{}\">{:.3f} · {:.0f} GB/s</text>\n",
        left - 8, y + 15, escaped(row.distribution + " " + row.strategy), left, y + 2, width, step - 6,
        left + width + 6, y + 15, row.ratio(), row.gb_per_s());
    y += step;
  }
  const int width = left + static_cast<int>(most * full) + 150;
  std::string names;
  for (const DeviceInfo& info : devices) names += (names.empty() ? "" : "; ") + info.id + ": " + info.name;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"10\" y=\"22\" font-size=\"16\">Counting speed as a part of the device's reading speed</text>\n"
      "<text x=\"10\" y=\"42\" fill=\"#555555\">{2}</text>\n"
      "<line x1=\"{3}\" y1=\"50\" x2=\"{3}\" y2=\"{4}\" stroke=\"#999999\" stroke-dasharray=\"4 3\"/>\n{5}</svg>\n",
      width, y + 16, escaped(names), left + full, y + 6, body);
}

}  // namespace masu::bench
