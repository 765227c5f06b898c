// SPDX-License-Identifier: Apache-2.0
// Charts as they are seen: PNGs are read back through masu::io, and looked at pixel by pixel.
#include "expect_error.h"
#include "plot/page.h"
#include "temporary_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <masu/io.h>
#include <masu/plot.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

namespace masu::plot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Series of(std::vector<double> edges, const std::vector<std::uint64_t>& counts, std::string name = {}) {
  Series series;
  series.name = std::move(name);
  series.bins = axis(std::move(edges));
  series.counts = counts;
  return series;
}

std::vector<double> even(std::size_t bins, double lo, double hi) {
  std::vector<double> edges;
  for (std::size_t i = 0; i <= bins; ++i)
    edges.push_back(lo + (hi - lo) * static_cast<double>(i) / static_cast<double>(bins));
  return edges;
}

struct Picture {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::vector<std::uint8_t> rgb;
  [[nodiscard]] Colour at(std::uint64_t x, std::uint64_t y) const {
    const std::uint8_t* p = &rgb[(y * width + x) * 3];
    return {p[0], p[1], p[2]};
  }
};

template <class Chart>
Picture picture(Chart chart) {
  chart.pixel_ratio = 1;
  const test::TemporaryDirectory folder;
  const std::string path = (folder.path() / "chart.png").string();
  save(chart, path);
  const auto source = io::open(path);
  Picture found{source->info().shape[1], source->info().shape[0], {}};
  EXPECT_EQ(source->info().shape[2], 3U);
  const std::vector<std::byte> bytes = io::read_all(*source);
  found.rgb.resize(bytes.size());
  std::transform(bytes.begin(), bytes.end(), found.rgb.begin(),
                 [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  return found;
}

// The bars of a single series: much more blue than red.
bool is_bar(Colour c) {
  return c.blue > c.red + 40;
}

// How many pixels of column x belong to bars.
std::uint64_t bar_height(const Picture& picture, std::uint64_t x) {
  std::uint64_t found = 0;
  for (std::uint64_t y = 0; y < picture.height; ++y) found += is_bar(picture.at(x, y)) ? 1 : 0;
  return found;
}

// The columns from the first to the last bar.
std::pair<std::uint64_t, std::uint64_t> bars_reach(const Picture& picture) {
  std::uint64_t first = picture.width;
  std::uint64_t last = 0;
  for (std::uint64_t x = 0; x < picture.width; ++x) {
    if (bar_height(picture, x) < 3) continue;
    first = std::min(first, x);
    last = x;
  }
  return {first, last};
}

TEST(Plot, HeightsAreInProportionToCounts) {
  const std::vector<std::uint64_t> counts = {40, 10, 25, 100, 5, 70};
  HistogramChart chart;
  chart.series = {of(even(6, 0, 6), counts)};
  const Picture seen = picture(chart);
  EXPECT_EQ(seen.width, 800U);
  EXPECT_EQ(seen.height, 500U);
  const auto reach = bars_reach(seen);
  const double bin = static_cast<double>(reach.second + 1 - reach.first) / 6;
  const auto height = [&](std::size_t i) {
    return static_cast<double>(
        bar_height(seen, reach.first + static_cast<std::uint64_t>((static_cast<double>(i) + 0.4) * bin)));
  };
  EXPECT_GT(height(3), 300);
  for (std::size_t i = 0; i < counts.size(); ++i)
    EXPECT_NEAR(height(i) / height(3), static_cast<double>(counts[i]) / 100, 0.01) << i;
}

TEST(Plot, WidthsAreInProportionToBins) {
  const std::vector<std::uint64_t> counts = {10, 0, 10, 0, 10};
  HistogramChart chart;
  chart.series = {of({-10, 0, 5, 35, 55, 90}, counts)};
  const Picture seen = picture(chart);
  const auto [first, last] = bars_reach(seen);
  const double unit = static_cast<double>(last + 1 - first) / 100;
  for (const auto& [x, filled] :
       {std::pair{-5, true}, {2, false}, {10, true}, {30, true}, {38, false}, {52, false}, {58, true}})
    EXPECT_EQ(bar_height(seen, first + static_cast<std::uint64_t>((x + 10) * unit)) > 100, filled) << x;
}

TEST(Plot, LogarithmicCountsAndEdges) {
  const std::vector<std::uint64_t> counts = {1, 10, 100, 1000};
  HistogramChart chart;
  chart.series = {of({1, 10, 100, 1000, 10000}, counts)};
  chart.log_counts = true;
  const Picture seen = picture(chart);
  const auto [first, last] = bars_reach(seen);
  const double bin = static_cast<double>(last + 1 - first) / 4;
  std::vector<double> heights;
  for (int i = 0; i < 4; ++i)
    heights.push_back(static_cast<double>(bar_height(seen, first + static_cast<std::uint64_t>((i + 0.35) * bin))));
  EXPECT_GT(heights[0], 5);
  EXPECT_NEAR(heights[2] - heights[1], heights[1] - heights[0], 2.1);
  EXPECT_NEAR(heights[3] - heights[2], heights[1] - heights[0], 2.1);
}

TEST(Plot, EmptyBinsHaveNoHeight) {
  for (const bool log_counts : {false, true}) {
    const std::vector<std::uint64_t> counts = {0, 0, 0};
    HistogramChart chart;
    chart.series = {of(even(3, 0, 1), counts)};
    chart.log_counts = log_counts;
    const Picture seen = picture(chart);
    for (std::uint64_t x = 0; x < seen.width; ++x) ASSERT_LE(bar_height(seen, x), 2U) << x;
  }
}

TEST(Plot, ChannelsHaveTheirColours) {
  std::vector<std::vector<std::uint64_t>> counts(4);
  HistogramChart chart;
  const std::vector<std::string> names = {"red", "green", "blue", "alpha"};
  for (std::size_t c = 0; c < 4; ++c) {
    for (std::size_t i = 0; i < 40; ++i) counts[c].push_back(i / 10 == c ? 50 + i : 1);
    chart.series.push_back(of(even(40, 0, 40), counts[c], names[c]));
  }
  const Picture seen = picture(chart);
  for (std::size_t c = 0; c < 4; ++c) {
    const Colour wanted = look(names[c], 0).colour;
    std::uint64_t found = 0;
    for (std::uint64_t y = 0; y < seen.height; ++y)
      for (std::uint64_t x = 0; x < seen.width; ++x) {
        const Colour here = seen.at(x, y);
        found +=
            std::abs(here.red - wanted.red) + std::abs(here.green - wanted.green) + std::abs(here.blue - wanted.blue) <
            24;
      }
    EXPECT_GT(found, 50U) << names[c];
  }
}

TEST(Plot, HeatMapsPutCellsWhereTheyBelong) {
  // Along x 0 … 2, along y 0 … 3; one cell has counts.
  for (const bool x_major : {false, true}) {
    for (const bool y_down : {false, true}) {
      std::vector<std::uint64_t> counts(6);
      counts[x_major ? 1 * 3 + 0 : 0 * 2 + 1] = 9;  // x 1, y 0
      HeatMap map;
      map.x = axis({0, 1, 2});
      map.y = axis({0, 1, 2, 3});
      map.counts = counts;
      map.x_major = x_major;
      map.y_down = y_down;
      const Picture seen = picture(map);
      const std::uint32_t top = heat(1);
      const Colour full{static_cast<std::uint8_t>(top >> 16U), static_cast<std::uint8_t>(top >> 8U & 255U),
                        static_cast<std::uint8_t>(top & 255U)};
      EXPECT_EQ(seen.at(550, y_down ? 80 : 400), full);
      EXPECT_EQ(seen.at(550, y_down ? 400 : 80), (Colour{255, 255, 255}));
      EXPECT_EQ(seen.at(200, y_down ? 80 : 400), (Colour{255, 255, 255}));
    }
  }
}

TEST(Plot, ADarkPageTurnsGraysRound) {
  const std::vector<std::uint64_t> counts = {3, 0};
  HistogramChart chart;
  chart.series = {of({0, 1, 2}, counts)};
  chart.dark = true;
  const Colour page = on_dark({255, 255, 255});
  EXPECT_LT(page.red, 0x30);
  EXPECT_EQ(picture(chart).at(2, 2), page);
  EXPECT_GT(on_dark(ink).red, 0xC0);
  EXPECT_GT(on_dark({0, 0x72, 0xB2}).blue, 0xB2);
  HeatMap map;
  map.x = axis({0, 1, 2});
  map.y = axis({0, 1});
  map.counts = counts;
  map.dark = true;
  const Picture seen = picture(map);
  EXPECT_EQ(seen.at(550, 200), page);
  EXPECT_NE(seen.at(200, 200), page);
}

TEST(Plot, ScalesOfCountsShowZeroAndTheLowest) {
  const std::vector<std::uint64_t> counts = {0, 1, 2, 3};
  HeatMap map = heat_map(std::span<const std::uint64_t>(counts), {0, 1, 2});
  const std::string svg = draw(map, Format::svg);
  for (const char* label : {">0</text>", ">1</text>", ">2</text>", ">3</text>"}) EXPECT_THAT(svg, HasSubstr(label));
  EXPECT_THAT(svg, Not(HasSubstr(">0.5</text>")));
}

TEST(Plot, WholeNumbersStandUnderTheirBars) {
  const std::vector<std::uint64_t> counts = {4, 2, 1};
  HistogramChart chart;
  chart.series = {of({6.5, 7.5, 8.5, 9.5}, counts)};
  chart.series.front().bins.whole = true;
  const std::string svg = draw(chart, Format::svg);
  for (const char* label : {">7</text>", ">8</text>", ">9</text>"}) EXPECT_THAT(svg, HasSubstr(label));
  for (const char* label : {">6.5</text>", ">7.5</text>", ">10</text>"}) EXPECT_THAT(svg, Not(HasSubstr(label)));
  chart.series.front().bins = {1, [](std::uint64_t i) { return static_cast<double>(i) - 0.5; }, Scale::linear, true};
  chart.series.front().counts = std::span(counts).first(1);
  EXPECT_THAT(draw(chart, Format::svg), HasSubstr(">0</text>"));
}

TEST(Plot, TotalsMayBeBelowZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& totals : {std::vector<double>{2, -3, 0},
                                            {-1, -2, -3},
                                            {0, 0, 0},
                                            {nan, 1e300, -1e300},
                                            {std::numeric_limits<double>::infinity(), 5e-324, 1}}) {
    HistogramChart chart;
    chart.series = {of({0, 1, 2, 3}, {})};
    chart.series.front().totals = totals;
    for (const Format format : {Format::svg, Format::png, Format::pdf}) EXPECT_GT(draw(chart, format).size(), 1000U);
    EXPECT_THAT(draw(chart, Format::svg), Not(HasSubstr("n =")));
  }
  const std::vector<double> totals = {2, -2};
  HistogramChart chart;
  chart.series = {of({0, 1, 2}, {})};
  chart.series.front().totals = totals;
  const Picture seen = picture(chart);
  const Colour white{255, 255, 255};
  EXPECT_NE(seen.at(250, 150), white);  // above 0 at the left …
  EXPECT_EQ(seen.at(262, 350), white);
  EXPECT_NE(seen.at(612, 350), white);  // … below it at the right
  EXPECT_EQ(seen.at(612, 150), white);
  const std::vector<std::uint64_t> counts = {1, 2};
  chart.series.front().counts = counts;
  MASU_EXPECT_ERROR(draw(chart, Format::svg), invalid_argument, "as many counts");
  chart.series.front().counts = {};
  chart.series.push_back(of({0, 1, 2}, counts));
  MASU_EXPECT_ERROR(draw(chart, Format::svg), invalid_argument, "all have totals");
}

TEST(Plot, PercentIsOfAllValues) {
  const std::vector<std::uint64_t> counts = {30, 10};
  HistogramChart chart;
  chart.series = {of({0, 1, 2}, counts)};
  chart.series.front().above = 60;
  chart.quantity = Quantity::percent;
  const std::string svg = draw(chart, Format::svg);
  EXPECT_THAT(svg, HasSubstr(">percent</text>"));
  EXPECT_THAT(svg, HasSubstr(">30</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">40</text>")));
}

TEST(Plot, HeatGrowsBrighter) {
  const auto brightness = [](std::uint32_t rgb) {
    return 0.2126 * std::pow((rgb >> 16U) / 255.0, 2.2) + 0.7152 * std::pow((rgb >> 8U & 255U) / 255.0, 2.2) +
           0.0722 * std::pow((rgb & 255U) / 255.0, 2.2);
  };
  std::set<std::uint32_t> different;
  for (int i = 0; i < 256; ++i) {
    different.insert(heat(i / 255.0));
    if (i >= 4) {
      EXPECT_GT(brightness(heat(i / 255.0)), brightness(heat((i - 4) / 255.0))) << i;
    }
  }
  EXPECT_GT(different.size(), 240U);
}

TEST(Plot, BarsAreInProportionAndAsHighAsNeeded) {
  BarChart chart;
  chart.title = "Bars";
  chart.groups = {{"", {{"a", 1, "one"}, {"b", 0.5, "half"}, {"c", 0, "none"}}}};
  chart.height = 0;
  const Picture seen = picture(chart);
  EXPECT_GT(seen.height, 99U);
  std::set<std::uint64_t> lengths;
  for (std::uint64_t y = 0; y < seen.height; ++y) {
    std::uint64_t length = 0;
    for (std::uint64_t x = 0; x < seen.width; ++x) length += is_bar(seen.at(x, y)) ? 1 : 0;
    if (length > 50) lengths.insert(length);
  }
  ASSERT_FALSE(lengths.empty());
  EXPECT_NEAR(static_cast<double>(*lengths.begin()) * 2, static_cast<double>(*lengths.rbegin()), 4);
}

TEST(Plot, AThousandBarsFit) {
  BarChart chart;
  chart.groups = {{"many", std::vector<BarChart::Bar>(2000, {"bar", 1, "text"})}};
  chart.height = 0;
  EXPECT_TRUE(draw(chart, Format::png).starts_with("\x89PNG"));
  EXPECT_TRUE(draw(chart, Format::svg).ends_with("</svg>\n"));
}

TEST(Plot, TheSameChartIsTheSameFile) {
  const std::vector<std::uint64_t> counts = {1, 2, 3, 4};
  HistogramChart chart;
  chart.title = "a < b & \"c\"";
  chart.series = {of(even(4, 0, 1), counts, "one"), of(even(4, 0, 1), counts, "two")};
  HeatMap map = heat_map(std::span<const std::uint64_t>(counts), {0, 1, 2});
  for (const Format format : {Format::svg, Format::png, Format::pdf}) {
    const std::string first = draw(chart, format);
    const std::string first_map = draw(map, format);
    EXPECT_EQ(draw(chart, format), first);
    EXPECT_EQ(draw(map, format), first_map);
    std::vector<std::string> others(3);
    std::vector<std::thread> threads;
    for (std::string& other : others) threads.emplace_back([&] { other = draw(chart, format); });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& other : others) EXPECT_EQ(other, first);
  }
}

TEST(Plot, FormatsAreWhatTheySay) {
  const std::vector<std::uint64_t> counts = {1, 2};
  HistogramChart chart;
  chart.title = "a < b & \"c\"";
  chart.series = {of({0, 1, 2}, counts)};
  const std::string pdf = draw(chart, Format::pdf);
  EXPECT_TRUE(pdf.starts_with("%PDF-"));
  EXPECT_THAT(pdf, HasSubstr("%%EOF"));
  EXPECT_THAT(pdf, Not(HasSubstr("CreationDate")));
  EXPECT_TRUE(draw(chart, Format::png).starts_with("\x89PNG\r\n"));
  const std::string svg = draw(chart, Format::svg);
  EXPECT_THAT(svg, HasSubstr("<title>a &lt; b &amp; \"c\"</title>"));
  EXPECT_THAT(svg, HasSubstr("width=\"800px\" height=\"500px\""));
  EXPECT_THAT(svg, HasSubstr("font-weight=\"bold\">a &lt; b &amp; \"c\"</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("glyph")));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(format_from_path("a/b.SVG"), Format::svg);
  EXPECT_EQ(format_from_path(".pdf"), Format::pdf);
}

TEST(Plot, OddChartsAreDrawn) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::uint64_t> one = {7};
  const std::vector<std::uint64_t> huge = {1'000'000'000'000, 0, std::numeric_limits<std::uint64_t>::max() / 4};
  const std::vector<std::vector<double>> edges = {{0, 1, 2, 3},
                                                  {-1e308, -1, 1, 1e308},
                                                  {1e-300, 2e-300, 3e-300, 4e-300},
                                                  {1e9, 1e9 + .25, 1e9 + .5, 1e9 + 1},
                                                  {5, 5, 5, 5},
                                                  {0, 0, 1, 1},
                                                  {-infinity, 0, 1, infinity},
                                                  {-infinity, -infinity, infinity, infinity},
                                                  {1e-200, 1, 10, 1e200},
                                                  {-3, -2, -1, -1},
                                                  {1e16, 1e16, 1e16 + 2, 1e16 + 4},
                                                  {5e-324, 5e-324, 1e-323, 1.5e-323}};
  for (const std::vector<double>& each : edges) {
    for (const Scale scale : {Scale::automatic, Scale::linear, Scale::logarithmic}) {
      for (const Quantity quantity : {Quantity::counts, Quantity::density, Quantity::cumulative}) {
        HistogramChart chart;
        chart.series = {of(each, huge)};
        chart.series[0].bins.scale = scale;
        chart.series[0].nan = std::numeric_limits<std::uint64_t>::max() / 2;
        chart.quantity = quantity;
        chart.log_counts = scale == Scale::linear;
        chart.width = chart.height = 150;
        EXPECT_GT(draw(chart, Format::svg).size(), 1000U) << each[0];
      }
    }
    HeatMap map;
    map.x = axis(each);
    map.y = axis({0, 1});
    map.counts = huge;
    map.log_counts = true;
    map.width = map.height = 100;
    EXPECT_GT(draw(map, Format::svg).size(), 1000U) << each[0];
  }
  HistogramChart chart;
  for (int i = 0; i < 64; ++i) chart.series.push_back(of({0, 1}, one, std::string(i, 'x')));
  chart.title = std::string(5000, 'W') + "\xFF\xC3\n";
  chart.x_label = chart.y_label = chart.title;
  chart.notes = {chart.title, chart.title};
  for (const unsigned size : {100U, 300U, 2000U}) {
    chart.width = size;
    chart.height = size / 2 < 100 ? 100 : size / 2;
    EXPECT_GT(draw(chart, Format::svg).size(), 1000U);
  }
}

TEST(Plot, ManyBinsMakeASmallFile) {
  const std::uint64_t bins = std::uint64_t{1} << 22U;
  std::vector<std::uint64_t> counts(bins);
  for (std::uint64_t i = 0; i < bins; ++i) counts[i] = i * 2654435761 % 1000;
  HistogramChart chart;
  chart.series.resize(1);
  chart.series[0].bins = {bins, [](std::uint64_t i) { return static_cast<double>(i); }, Scale::linear};
  chart.series[0].counts = counts;
  EXPECT_LT(draw(chart, Format::svg).size(), 300'000U);
}

TEST(Plot, WrongUse) {
  const std::vector<std::uint64_t> counts = {1, 2};
  HistogramChart chart;
  MASU_EXPECT_ERROR(draw(chart, Format::svg), invalid_argument, "1 to 64 series, got 0");
  chart.series = {of({0, 1}, counts)};
  MASU_EXPECT_ERROR(draw(chart, Format::svg), invalid_argument, "1 bins must have as many counts, got 2");
  chart.series = {of({1, 1, 0}, counts)};
  MASU_EXPECT_ERROR(draw(chart, Format::svg), invalid_argument, "must not decrease");
  chart.series = {of({}, {})};
  MASU_EXPECT_ERROR(draw(chart, Format::svg), invalid_argument, "must have bins");
  chart.series = {of({0, 1, 2}, counts)};
  MASU_EXPECT_ERROR(save(chart, "chart.jpg"), invalid_argument, ".svg, .png or .pdf, got 'chart.jpg'");
  MASU_EXPECT_ERROR(save(chart, "png"), invalid_argument, "'png'");
  MASU_EXPECT_ERROR(save(chart, "/nowhere/at/all/chart.svg"), io, "/nowhere/at/all/chart.svg");
  chart.width = 99;
  MASU_EXPECT_ERROR(draw(chart, Format::svg), invalid_argument, "100 to 20000, got 99 x 500");
  chart.width = chart.height = 20'000;
  MASU_EXPECT_ERROR(draw(chart, Format::png), invalid_argument, "a PNG must have at most");
  chart.pixel_ratio = std::numeric_limits<double>::quiet_NaN();
  MASU_EXPECT_ERROR(draw(chart, Format::png), invalid_argument, "pixel_ratio");
  HeatMap map = heat_map(std::span<const std::uint64_t>(counts), {0, 1, 2});
  map.y.size = 2;
  MASU_EXPECT_ERROR(draw(map, Format::svg), invalid_argument, "2 x 2 bins must have as many counts, got 2");
  BarChart bars;
  bars.groups = {{"", {{"", -1, ""}}}};
  MASU_EXPECT_ERROR(draw(bars, Format::svg), invalid_argument, "got -1");
}

TEST(Plot, AMissingLibraryIsNamed) {
  EXPECT_TRUE(CairoLibrary("libcairo.so.2").library.missing().empty());
  EXPECT_THAT(CairoLibrary("libcairo-of-nobody.so.2").library.missing(), HasSubstr("Debian: libcairo2"));
  EXPECT_THAT(CairoLibrary("libc.so.6").library.missing(), HasSubstr("has no function"));
}

TEST(Plot, TextIsMadeDrawable) {
  EXPECT_EQ(drawable("plain µ … 漢"), "plain µ … 漢");
  EXPECT_EQ(drawable("a\tb\n"), "a b ");
  EXPECT_EQ(drawable("\xFF"), "\uFFFD");
  EXPECT_EQ(drawable("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(drawable("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(drawable("x\xE2\x82"), "x\uFFFD\uFFFD");
  EXPECT_EQ(drawable(std::string_view("\0", 1)), " ");
}

}  // namespace
}  // namespace masu::plot
