// SPDX-License-Identifier: Apache-2.0
#include "plot/svg_ids.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>

namespace masu::plot {
namespace {

// "surface17" as its letters; empty when it is no such name.
std::string_view numbered(std::string_view name) {
  for (const std::string_view kind : {"surface", "image", "pattern", "mask"}) {
    const std::string_view number = name.substr(std::min(kind.size(), name.size()));
    const bool digits = std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (name.starts_with(kind) && !number.empty() && digits) return kind;
  }
  return {};
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') result += "&amp;";
    else if (c == '<') result += "&lt;";
    else if (c == '>') result += "&gt;";
    else result += c;
  }
  return result;
}

}  // namespace

std::string stable_svg(std::string_view svg, std::string_view title) {
  std::map<std::string, std::string, std::less<>> names;
  std::string result;
  result.reserve(svg.size() + title.size() + 64);
  std::size_t copied = 0;
  if (const std::size_t root = svg.find("<svg"); root != svg.npos && !title.empty()) {
    copied = svg.find('>', root) + 1;
    result.append(svg.substr(0, copied)).append("\n<title>").append(escaped(title)).append("</title>");
  }
  // Names stand in quotes, alone or behind a "#" of a reference, or in "url(#…)".
  for (std::size_t begin = svg.find_first_of("\"#", copied); begin != svg.npos;
       begin = svg.find_first_of("\"#", begin + 1)) {
    const std::size_t end = svg.find_first_of("\"#)", begin + 1);
    if (end == svg.npos) break;
    const std::string_view name = svg.substr(begin + 1, end - begin - 1);
    const std::string_view kind = numbered(name);
    if (kind.empty()) continue;
    const auto [found, added] = names.try_emplace(std::string(name));
    if (added) found->second = fmt::format("{}-{}", kind, names.size());
    result.append(svg.substr(copied, begin + 1 - copied)).append(found->second);
    copied = end;
  }
  return result.append(svg.substr(copied));
}

}  // namespace masu::plot
