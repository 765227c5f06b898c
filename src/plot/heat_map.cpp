// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"
#include "plot/ticks.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace masu::plot {
namespace {

constexpr double most_cells_a_unit = 3;  // of vector formats, whose maps are pictures too
constexpr std::uint32_t white = 0xFFFFFF;

void check(const HeatMap& map) {
  const auto refuse = [](const std::string& rule) { throw Error(ErrorCode::invalid_argument, "plot: " + rule); };
  for (const BinAxis* axis : {&map.x, &map.y}) {
    if (axis->size == 0 || !axis->edge) refuse("a heat map must have bins along x and y");
    if (!(axis->edge(0) <= axis->edge(axis->size))) refuse("edges must not decrease");
  }
  if (map.counts.size() / map.x.size != map.y.size || map.counts.size() % map.x.size != 0)
    refuse(fmt::format("a heat map of {} x {} bins must have as many counts, got {}", map.x.size, map.y.size,
                       map.counts.size()));
}

Axis axis_of(const BinAxis& bins) {
  Axis axis;
  axis.logarithmic = is_logarithmic(bins);
  const Placed place = placed(bins, axis.logarithmic);
  std::tie(axis.lo, axis.hi) = widened(place.lo, place.hi, axis.logarithmic);
  return axis;
}

// The highest count of each pixel, columns * rows of them from the top left.
std::vector<std::uint64_t> pixels(const HeatMap& map, const std::vector<Span>& columns, const std::vector<Span>& rows) {
  std::vector<std::uint64_t> most(columns.size() * rows.size());
  const auto highest = [&](const Span& outer, std::uint64_t stride, const Span& inner) {
    std::uint64_t found = 0;
    for (std::uint64_t o = outer.first; o < outer.end; ++o)
      for (std::uint64_t i = inner.first; i < inner.end; ++i) found = std::max(found, map.counts[o * stride + i]);
    return found;
  };
  const auto same = [](const Span& a, const Span& b) { return a.first == b.first && a.end == b.end; };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::uint64_t* target = &most[row * columns.size()];
    if (row > 0 && same(rows[row], rows[row - 1])) {  // a cell is often many pixels
      std::copy_n(target - columns.size(), columns.size(), target);
      continue;
    }
    for (std::size_t column = 0; column < columns.size(); ++column) {
      if (column > 0 && same(columns[column], columns[column - 1])) target[column] = target[column - 1];
      else if (map.x_major) target[column] = highest(columns[column], map.y.size, rows[row]);
      else target[column] = highest(rows[row], map.x.size, columns[column]);
    }
  }
  return most;
}

double resolution_of(const HeatMap& map, Format format) {
  return format == Format::png ? map.pixel_ratio : most_cells_a_unit;
}

std::vector<std::string> notes_of(const HeatMap& map, Format format) {
  const std::uint64_t placed = std::accumulate(map.counts.begin(), map.counts.end(), std::uint64_t{0});
  std::vector<std::string> notes = {fmt::format("n = {}", grouped(placed + map.outside + map.nan))};
  if (map.outside > 0) notes.push_back(grouped(map.outside) + " outside");
  if (map.nan > 0) notes.push_back(grouped(map.nan) + " NaN");
  notes.push_back(fmt::format("{} × {} bins", grouped(map.x.size), grouped(map.y.size)));
  const double resolution = resolution_of(map, format);
  if (static_cast<double>(map.x.size) > map.width * resolution ||
      static_cast<double>(map.y.size) > map.height * resolution)
    notes.emplace_back("each pixel: the highest of its bins");
  notes.insert(notes.end(), map.notes.begin(), map.notes.end());
  return notes;
}

}  // namespace

std::string draw(const HeatMap& map, Format format) {
  check(map);
  check_size(map, format);
  Axis x = axis_of(map.x);
  Axis y = axis_of(map.y);
  const std::uint64_t most = *std::max_element(map.counts.begin(), map.counts.end());
  Axis bar;
  bar.logarithmic = map.log_counts;
  bar.lo = map.log_counts ? 1 : 0;
  bar.hi = std::max(static_cast<double>(most), map.log_counts ? 2.0 : 1.0);

  PageParts parts;
  parts.colour_bar = true;
  parts.notes = notes_of(map, format);
  Page page(map, format, parts);
  page.lay_out(x, y, Numbers::values, map.y_down ? Numbers::counts : Numbers::values, &bar, map.y_down);

  const Rect& area = page.area();
  Canvas& canvas = page.canvas();
  const double resolution = resolution_of(map, format);
  const auto columns_along = [&](double length) {
    return static_cast<std::uint64_t>(std::max(1.0, std::round(length * resolution)));
  };
  const std::vector<Span> columns =
      bins_in_columns(map.x, placed(map.x, x.logarithmic), page.x(), columns_along(area.width));
  std::vector<Span> rows = bins_in_columns(map.y, placed(map.y, y.logarithmic), page.y(), columns_along(area.height));
  if (!map.y_down) std::reverse(rows.begin(), rows.end());
  const std::vector<std::uint64_t> counts = pixels(map, columns, rows);
  std::vector<std::uint32_t> colours(counts.size());
  std::transform(counts.begin(), counts.end(), colours.begin(),
                 [&](std::uint64_t count) { return count == 0 ? white : heat(bar.at(static_cast<double>(count))); });
  canvas.image(area, columns.size(), rows.size(), colours);
  page.axes(true);
  page.colour_bar(bar, "count");
  return canvas.finish(map.title);
}

}  // namespace masu::plot
