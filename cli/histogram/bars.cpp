// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/bars.h"

#include "element_text.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>

namespace masu::cli {
namespace {

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
  return std::string(width - std::min(width, columns(text)), ' ') + text;
}

}  // namespace

std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string edge_label(double edge, Dtype data, Dtype edge_dtype) {
  const bool whole = !is_float(data) && edge == std::floor(edge);
  return whole ? io::format_number(edge, edge_dtype) : table_number(edge, chart_digits);
}

double height(std::uint64_t count, std::uint64_t most, bool log_counts) {
  if (count == 0) return 0;
  const auto part = static_cast<double>(count);
  const auto whole = static_cast<double>(most);
  return log_counts ? std::log1p(part) / std::log1p(whole) : part / whole;
}

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

std::uint64_t bins_a_place(std::uint64_t bins, std::uint64_t places) {
  return (bins + places - 1) / places;
}

std::string headline(const HistogramResult& result) {
  const io::SourceInfo& source = result.source;
  std::string text = fmt::format("{}: {} {}", source.name, source.format, to_string(source.dtype));
  if (source.format != "npy" && source.shape.size() >= 2) {
    text += fmt::format(", {} x {} pixels", source.shape[1], source.shape[0]);
  }
  return text;
}

void write_bars(std::span<const Bar> bars, const std::vector<std::string>& titles, const TableOptions& options,
                const Sink& sink) {
  std::size_t label_width = 0;
  std::uint64_t most = 0;
  std::vector<std::size_t> widths;
  for (const std::string& title : titles) widths.push_back(title.size());
  for (const Bar& each : bars) {
    label_width = std::max(label_width, columns(each.label));
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
    text += "  " + drawn;
    text.erase(text.find_last_not_of(' ') + 1);
    sink(text + "\n");
  };
  if (!titles.empty()) line("", "count", titles, "");
  for (const Bar& each : bars) {
    line(each.label, fmt::to_string(each.count), each.more,
         bar(height(each.count, most, options.log_counts), bar_width, options.utf8));
  }
}

}  // namespace masu::cli
