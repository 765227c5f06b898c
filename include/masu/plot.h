// SPDX-License-Identifier: Apache-2.0
/// @file
/// Plots as SVG, PNG and PDF: histograms, heat maps and bars. Target `masu::plot`.
///
/// **Rule.** One drawing code for the three formats. The same chart gives the same bytes, on machines with the same
/// Cairo and fonts. Where several bins share a column of pixels, the highest of them is drawn, and a note says so.
/// **Limits.** 100 to 20,000 wide and high; a PNG at most 32,000 pixels a side and 2^28 in all. A chart refers to its
/// counts, which must not change until it is drawn. **Memory.** 4 bytes a pixel; no copy of counts.
/// **Exceptions.** Error with invalid_argument, unsupported (Cairo, libcairo.so.2, is opened when the first plot is
/// drawn, and was not found), out_of_memory or, by `save`, io.
///
/// Example:
/// @code
/// masu::plot::HistogramChart chart;
/// chart.title = "photo.png";
/// chart.series = {masu::plot::series(red, "red"), masu::plot::series(green, "green")};
/// masu::plot::save(chart, "photo.svg");
/// @endcode
#pragma once

#include <masu/histogram.h>
#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>
#include <masu/version.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::plot {

enum class Format { svg, png, pdf };
/// The format that the ending of a path selects. Throws invalid_argument, listing the three endings.
MASU_EXPORT Format format_from_path(std::string_view path);

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

/// What every chart has.
struct Frame {
  std::string title;
  std::string x_label;
  std::string y_label;             ///< empty: what the chart shows, "count" for a histogram
  std::vector<std::string> notes;  ///< small lines below the axes, in addition to the chart's own
  unsigned width = 800;            ///< in pixels of an SVG: 1/96 inch
  unsigned height = 500;
  double pixel_ratio = 2;  ///< pixels of a PNG to one of these, in each direction
  bool dark = false;       ///< a dark page: grays turn round, colours are lighter
};

/// `automatic` is logarithmic where all edges are positive and of equal ratio, over a factor of 10 or more.
enum class Scale { automatic, linear, logarithmic };

/// Bins along an axis: `size` of them, between edge(0) … edge(size), which do not decrease.
struct BinAxis {
  std::uint64_t size = 0;
  std::function<double(std::uint64_t)> edge;
  Scale scale = Scale::automatic;
  bool whole = false;  ///< bins lie around whole numbers, edges half way between: only these are named on the axis
};
/// The axis of given edges.
inline BinAxis axis(std::vector<double> edges) {
  const auto kept = std::make_shared<const std::vector<double>>(std::move(edges));
  return {kept->size() < 2 ? 0 : kept->size() - 1, [kept](std::uint64_t i) { return (*kept)[i]; }};
}

/// One histogram of a chart.
struct Series {
  std::string name;  ///< in the legend; red, green, blue, alpha, gray and the like have colours of their own
  std::optional<Colour> colour;  ///< none: by its name, else the next of a palette for all eyes
  BinAxis bins;
  std::span<const std::uint64_t> counts;  ///< bins.size of them
  std::uint64_t below = 0;                ///< these three are shown in a note
  std::uint64_t above = 0;
  std::uint64_t nan = 0;
  std::span<const double> totals{};  ///< instead of counts: heights, such as sums of weights; may be below 0
};
/// A histogram as a series. Refers to it.
inline Series series(const Histogram& histogram, std::string name = {}) {
  return {std::move(name),
          std::nullopt,
          {histogram.size(), [&histogram](std::uint64_t i) { return histogram.edge(i); }},
          histogram.counts(),
          histogram.below(),
          histogram.above(),
          histogram.nan()};
}
Series series(Histogram&& histogram, std::string name = {}) = delete;

/// The height of a bin: its count, counts / sum(counts) / width, the sum of the counts up to it, or 100 * counts / n.
/// n counts outsiders and NaNs too. A series of totals has these as its heights.
enum class Quantity { counts, density, cumulative, percent };

/// One or several histograms over one axis, as filled steps. Bins are as wide as they are.
struct HistogramChart : Frame {
  std::vector<Series> series;  ///< 1 to 64; the first one's scale is the axis's
  Quantity quantity = Quantity::counts;
  bool log_counts = false;  ///< heights on a logarithmic axis; empty bins have none
};

/// Counts of joint bins as colours, with a colour bar from 1. Joint bins without counts stay white, which it shows too.
struct HeatMap : Frame {
  BinAxis x;
  BinAxis y;
  std::span<const std::uint64_t> counts;  ///< x.size * y.size of them
  bool x_major = false;  ///< counts[ix * y.size + iy], as numpy.histogram2d has them; else counts[iy * x.size + ix]
  bool y_down = false;   ///< y grows downwards, as rows do
  std::uint64_t outside = 0;  ///< these two are shown in a note
  std::uint64_t nan = 0;
  bool log_counts = false;
};
/// A joint histogram of two columns: column 0 along x, column 1 along y. Refers to it; `dimensions()` must be 2.
inline HeatMap heat_map(const JointHistogram& histogram) {
  HeatMap map;
  if (histogram.dimensions() == 2) {
    map.x = axis(histogram.edges(0));
    map.y = axis(histogram.edges(1));
  }
  map.counts = histogram.counts();
  map.x_major = true;
  map.outside = histogram.outside();
  map.nan = histogram.nan();
  return map;
}
HeatMap heat_map(JointHistogram&& histogram) = delete;
/// Rows from top to bottom, their bins along x: `counts` are rows * bins of them.
inline HeatMap heat_map(std::span<const std::uint64_t> counts, std::vector<double> edges) {
  HeatMap map;
  map.x = axis(std::move(edges));
  const std::uint64_t rows = map.x.size == 0 ? 0 : counts.size() / map.x.size;
  map.y = {rows, [](std::uint64_t i) { return static_cast<double>(i) - 0.5; }, Scale::linear, true};
  map.counts = counts;
  map.y_down = true;
  map.y_label = "row";
  return map;
}
/// The histograms of all rows (and channels, one after the other). Refers to them.
inline HeatMap heat_map(const RowHistograms& rows) {
  HeatMap map = heat_map(rows.counts(), rows.edges());
  for (std::uint64_t row = 0; row < rows.rows(); ++row) {
    for (unsigned channel = 0; channel < rows.channels(); ++channel) {
      map.outside += rows.below(row, channel) + rows.above(row, channel);
      map.nan += rows.nan(row, channel);
    }
  }
  return map;
}
HeatMap heat_map(RowHistograms&& rows) = delete;

/// Groups of horizontal bars; x_label names what they measure. A height of 0 is as high as the bars need.
struct BarChart : Frame {
  struct Bar {
    std::string label;  ///< at its left
    double value = 0;
    std::string text;  ///< at its end
  };
  struct Group {
    std::string title;
    std::vector<Bar> bars;
  };
  struct Mark {
    double value = 0;
    std::string label;
  };
  std::string subtitle;
  std::vector<Group> groups;
  std::optional<Mark> mark;  ///< a line across all groups, as a limit to compare with
};

/// The chart as the bytes of a file.
MASU_EXPORT std::string draw(const HistogramChart& chart, Format format);
MASU_EXPORT std::string draw(const HeatMap& chart, Format format);
MASU_EXPORT std::string draw(const BarChart& chart, Format format);

/// Writes a file, whole or not at all, in the format that its ending selects.
MASU_EXPORT void save(const HistogramChart& chart, const std::string& path);
MASU_EXPORT void save(const HeatMap& chart, const std::string& path);
MASU_EXPORT void save(const BarChart& chart, const std::string& path);

}  // namespace masu::plot
