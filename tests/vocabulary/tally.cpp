// SPDX-License-Identifier: Apache-2.0
#include "tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace masu::vocabulary {

void Tally::count(const DeviceInfo& device, std::string_view family, Verdict verdict, std::size_t cases) {
  auto& [heading, rows] = devices_[device.id];
  if (heading.empty()) heading = fmt::format("{}: {} ({})", to_string(device.kind), device.name, device.driver);
  auto row = std::ranges::find(rows, family, &Row::family);
  if (row == rows.end()) row = rows.insert(rows.end(), Row{std::string(family)});
  row->cases[static_cast<std::size_t>(verdict)] += cases;
}

std::string Tally::text() const {
  std::string text;
  for (const auto& [id, device] : devices_) {
    fmt::format_to(
        std::back_inserter(text),
        "\n### {}\n\n| family | passed | known fault | lacking | failed |\n| --- | --: | --: | --: | --: |\n",
        device.first);
    Row total{"all"};
    const auto line = [&](const Row& row) {
      fmt::format_to(std::back_inserter(text), "| {} | {} |\n", row.family, fmt::join(row.cases, " | "));
    };
    for (const Row& row : device.second) {
      line(row);
      for (std::size_t i = 0; i < std::size(row.cases); ++i) total.cases[i] += row.cases[i];
    }
    line(total);
  }
  return text;
}

Tally& tally() {
  static Tally all;
  return all;
}

}  // namespace masu::vocabulary
