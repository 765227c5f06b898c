// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace masu::plot {
namespace {

// The palette of Okabe and Ito, without its yellow, which is too pale for lines on white.
constexpr std::array<Colour, 8> palette = {{{0x00, 0x72, 0xB2},
                                            {0xD5, 0x5E, 0x00},
                                            {0x00, 0x9E, 0x73},
                                            {0xCC, 0x79, 0xA7},
                                            {0xE6, 0x9F, 0x00},
                                            {0x56, 0xB4, 0xE9},
                                            {0x4D, 0x4D, 0x4D},
                                            {0x88, 0x22, 0x55}}};

constexpr std::array<std::pair<std::string_view, Colour>, 10> channels = {{{"red", {0xCC, 0x33, 0x11}},
                                                                           {"green", {0x00, 0x96, 0x5E}},
                                                                           {"blue", {0x00, 0x6A, 0xC4}},
                                                                           {"alpha", {0x9A, 0x55, 0xB4}},
                                                                           {"gray", {0x55, 0x55, 0x55}},
                                                                           {"grey", {0x55, 0x55, 0x55}},
                                                                           {"cyan", {0x1F, 0xA5, 0xD6}},
                                                                           {"magenta", {0xD6, 0x2E, 0x7F}},
                                                                           {"yellow", {0xC9, 0x9A, 0x00}},
                                                                           {"black", {0x26, 0x26, 0x26}}}};

// Lightness, chroma and hue (degrees) in Oklab, at equal steps.
struct Stop {
  double lightness;
  double chroma;
  double hue;
};
constexpr std::array<Stop, 6> stops = {{{0.24, 0.11, 310},
                                        {0.38, 0.135, 280},
                                        {0.52, 0.105, 235},
                                        {0.66, 0.115, 175},
                                        {0.80, 0.165, 132},
                                        {0.93, 0.180, 105}}};

std::uint32_t srgb(double linear) {
  const double x = std::clamp(linear, 0.0, 1.0);
  const double coded = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<std::uint32_t>(std::lround(coded * 255));
}

}  // namespace

Look look(std::string_view name, std::uint64_t index) {
  for (const auto& [channel, colour] : channels)
    if (channel == name) return {colour, 0};
  constexpr std::array<double, 3> dashes = {0, 5, 2};
  return {palette[index % palette.size()], dashes[index / palette.size() % dashes.size()]};
}

std::uint32_t heat(double part) {
  const double place = std::clamp(part, 0.0, 1.0) * (stops.size() - 1);
  const auto index = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  const double rest = place - static_cast<double>(index);
  const auto between = [&](double Stop::*what) {
    return stops[index].*what * (1 - rest) + stops[index + 1].*what * rest;
  };
  const double hue = between(&Stop::hue) * std::numbers::pi / 180;
  const double chroma = between(&Stop::chroma);
  const double lightness = between(&Stop::lightness);
  const double a = chroma * std::cos(hue);
  const double b = chroma * std::sin(hue);
  // Oklab to linear sRGB (B. Ottosson, 2020).
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) << 16U |
         srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) << 8U |
         srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
}

namespace {

constexpr double most_cells_a_unit = 3;  // of vector formats, whose maps are pictures too

void check(const HeatMap& map) {
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
  const FloatingPointScope usual;
  check(map);
  check_size(map, format);
  Axis x = axis_of(map.x);
  Axis y = axis_of(map.y);
  const std::uint64_t most = *std::max_element(map.counts.begin(), map.counts.end());
  Axis bar;
  bar.logarithmic = map.log_counts;
  bar.lo = 1;  // what has no counts has no colour
  bar.hi = std::max(static_cast<double>(most), 2.0);

  PageParts parts;
  parts.colour_bar = true;
  parts.notes = notes_of(map, format);
  Page page(map, format, parts);
  page.lay_out(x, y, map.x.whole ? Numbers::whole : Numbers::values, map.y.whole ? Numbers::whole : Numbers::values,
               &bar, map.y_down);

  if (bar.ticks.empty() || bar.at(bar.ticks.front().value) > 0.05) bar.ticks.insert(bar.ticks.begin(), {1, {"1", ""}});

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
  std::transform(counts.begin(), counts.end(), colours.begin(), [&](std::uint64_t count) {
    return count == 0 ? page.paper() : page.shade(bar.at(static_cast<double>(count)));
  });
  canvas.image(area, columns.size(), rows.size(), colours);
  page.axes(true);
  page.colour_bar(bar, "count");
  return canvas.finish(map.title);
}

}  // namespace masu::plot
