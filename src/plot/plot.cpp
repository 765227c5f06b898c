// SPDX-License-Identifier: Apache-2.0
#include <masu/plot.h>

#include <masu/io.h>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>

namespace masu::plot {
namespace {

template <class Chart>
void write(const Chart& chart, const std::string& path) {
  const std::string bytes = draw(chart, format_from_path(path));
  io::OutputFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace

Format format_from_path(std::string_view path) {
  static constexpr std::array<std::pair<std::string_view, Format>, 3> endings = {
      {{".svg", Format::svg}, {".png", Format::png}, {".pdf", Format::pdf}}};
  for (const auto& [ending, format] : endings) {
    if (path.size() < ending.size()) continue;
    const std::string_view found = path.substr(path.size() - ending.size());
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    if (std::equal(found.begin(), found.end(), ending.begin(), same)) return format;
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("plot: a file must end in .svg, .png or .pdf, got '{}'", path));
}

void save(const HistogramChart& chart, const std::string& path) {
  write(chart, path);
}
void save(const HeatMap& chart, const std::string& path) {
  write(chart, path);
}
void save(const BarChart& chart, const std::string& path) {
  write(chart, path);
}

}  // namespace masu::plot
