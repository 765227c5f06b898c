// SPDX-License-Identifier: Apache-2.0
// Pictures of masu histogram: which chart shows a result, and what it is called; and the image that --equalize or
// --otsu makes of an image, where each sample becomes the level of its bin.
#include "cli/histogram/histogram_job.h"
#include "elements/stored_float.h"
#include "options.h"
#include "program.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/plot.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_named_bins = 200;  // of dates in a plot, each with its name
constexpr std::size_t most_drawn = 8;           // groups or inputs over one axis: as many as there are colours

// A path without its folders; what stands in a file of many arrays stays.
std::string without_folders(const std::string& path) {
  const std::size_t slash = path.rfind('/', path.find(":/"));
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

plot::Format picture_format(const PictureOptions& asked) {
  return plot::format_from_path(asked.to_stdout() ? "." + asked.path.substr(0, asked.path.size() - 2) : asked.path);
}

plot::Quantity quantity_of(const WriteOptions& options) {
  if (options.density) return plot::Quantity::density;
  if (options.percent) return plot::Quantity::percent;
  return options.cumulative ? plot::Quantity::cumulative : plot::Quantity::counts;
}

plot::BinAxis bins_of(const HistogramResult& result, const Histogram& histogram) {
  const double shift = result.one_value ? 0.5 : 0;  // a bar stands over its number
  return {histogram.size(), [&histogram, shift](std::uint64_t i) { return histogram.edge(i) - shift; },
          result.one_value ? plot::Scale::linear : plot::Scale::automatic, result.one_value};
}

// The channels or groups of all results, or those that have the most values.
plot::HistogramChart channels_chart(std::span<const HistogramResult> results, const WriteOptions& options) {
  plot::HistogramChart chart;
  bool same_bins = true;
  std::vector<std::pair<std::uint64_t, std::size_t>> sizes;
  for (const HistogramResult& result : results) {
    if (result.channels.empty()) data_error("{}: has no group to draw", result.source.name);
    if (results.size() > 1 && result.source.names) usage_error("--plot draws several inputs of numbers only");
    const Histogram& first = results.front().channels.front();
    for (std::size_t c = 0; c < result.channels.size(); ++c) {
      const Histogram& histogram = result.channels[c];
      std::string name = result.names.empty() ? "" : result.names[c];
      if (results.size() > 1)
        name = fmt::format("{}{}{}", without_folders(result.source.name), name.empty() ? "" : ": ", name);
      plot::Series series = plot::series(histogram, name);
      series.bins = bins_of(result, histogram);
      same_bins = same_bins && histogram.size() == first.size() && histogram.edge(0) == first.edge(0) &&
                  histogram.edge(histogram.size()) == first.edge(first.size());
      sizes.emplace_back(histogram.n(), sizes.size());
      chart.series.push_back(std::move(series));
    }
  }
  if (!same_bins) chart.notes.emplace_back("bins differ: --range gives all inputs the same");
  if ((results.size() > 1 || !results.front().groups.empty()) && sizes.size() > most_drawn) {
    std::ranges::sort(sizes, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<plot::Series> kept;
    std::ranges::sort(sizes.begin(), sizes.begin() + most_drawn, {}, &std::pair<std::uint64_t, std::size_t>::second);
    for (std::size_t i = 0; i < most_drawn; ++i) kept.push_back(std::move(chart.series[sizes[i].second]));
    chart.series = std::move(kept);
    chart.notes.push_back(fmt::format("and {} smaller ones, not drawn", sizes.size() - most_drawn));
  }
  chart.quantity = quantity_of(options);
  return chart;
}

// A joint histogram of one column, or the totals of weights.
plot::HistogramChart one_column(const HistogramResult& result, const WriteOptions& options,
                                const std::vector<double>& totals, const std::string& weights) {
  plot::HistogramChart chart;
  plot::Series series;
  if (result.weighted) {
    series.bins = plot::axis(result.weighted->edges(0));
    series.totals = totals;
    chart.notes.push_back(fmt::format("n = {}", result.n()));
    const auto infinite = std::ranges::count_if(totals, [](double total) { return !std::isfinite(total); });
    if (infinite > 0) chart.notes.push_back(fmt::format("{} totals that are not finite are not drawn", infinite));
    chart.y_label = (options.density ? "density of " : "sum of ") + weights;
  } else {
    series.bins = plot::axis(result.joint->edges(0));
    series.counts = result.joint->counts();
    series.nan = result.joint->nan();
    if (result.joint->outside() > 0) chart.notes.push_back(fmt::format("outside: {}", result.joint->outside()));
    chart.quantity = options.percent ? plot::Quantity::counts : quantity_of(options);
  }
  chart.series.push_back(std::move(series));
  return chart;
}

plot::HeatMap map_chart(const HistogramResult& result) {
  plot::HeatMap map = result.joint ? plot::heat_map(*result.joint) : plot::heat_map(*result.rows);
  if (result.joint) {
    map.x_label = result.column_name(0);
    map.y_label = result.column_name(1);
  } else if (result.rows->channels() > 1) {
    map.y_label = "row and channel";
  }
  return map;
}

// Counts of texts, or of bins of instants, by where they begin.
plot::BarChart named_chart(const HistogramResult& result, const WriteOptions& options) {
  plot::BarChart chart;
  chart.x_label = "count";
  chart.groups.emplace_back();
  const auto add = [&](const std::string& label, std::uint64_t count) {
    chart.groups.front().bars.push_back({visible(label), static_cast<double>(count), fmt::to_string(count)});
  };
  chart.height = 0;
  if (!has_texts(result)) {
    const Histogram& histogram = result.first();
    for (std::uint64_t i = 0; i < histogram.size(); ++i) {
      add((*result.source.names)(static_cast<std::int64_t>(histogram.edge(i))), histogram.counts()[i]);
    }
    return chart;
  }
  const NamedBars bars = named_bars(result, options.limit);
  for (std::size_t i = 0; i < bars.texts.size(); ++i) add(bars.texts[i], bars.counts[i]);
  if (bars.other != 0) add(bars.others, bars.other);
  return chart;
}

}  // namespace

bool PictureOptions::to_stdout() const {
  return path == "svg:-" || path == "png:-" || path == "pdf:-";
}

void check_picture(const PictureOptions& asked, std::size_t inputs, bool weighted_map) {
  if (asked.path.empty()) {
    if (!asked.title.empty() || !asked.size.empty() || asked.dark)
      usage_error("--title, --size and --dark need --plot");
    return;
  }
  if (asked.path == "-") usage_error("--plot to standard output names a format: svg:-, png:- or pdf:-");
  const plot::Format format = picture_format(asked);
  if (asked.to_stdout() && format != plot::Format::svg && is_terminal(STDOUT_FILENO))
    usage_error("--plot {} does not go to a terminal; name a file", asked.path);
  if (weighted_map) usage_error("--plot draws weights of one column without --rows");
  if (inputs > most_drawn) usage_error("--plot draws at most {} inputs, got {}", most_drawn, inputs);
  if (asked.size.empty()) return;
  const std::vector<std::string> sides = split(asked.size, 'x');
  if (sides.size() != 2) usage_error("--size takes WIDTHxHEIGHT, as 800x500, got '{}'", asked.size);
  for (const std::string& side : sides) (void)whole_number("--size", side, 100, 20'000);
}

void write_picture(std::span<const HistogramResult> results, const WriteOptions& options, const PictureOptions& asked) {
  const HistogramResult& result = results.front();
  const auto save = [&](auto chart) {
    if (chart.x_label.empty()) chart.x_label = asked.column.empty() ? "value" : asked.column;
    const std::string file = without_folders(result.source.name);
    chart.title = results.size() > 1 ? chart.x_label : file + (asked.column.empty() ? "" : ": " + asked.column);
    if (!result.group_names.empty()) chart.title += " by " + fmt::format("{}", fmt::join(result.group_names, ", "));
    if (!asked.title.empty()) chart.title = asked.title;
    if (!asked.size.empty()) {
      const std::vector<std::string> sides = split(asked.size, 'x');
      chart.width = static_cast<unsigned>(whole_number("--size", sides[0], 100, 20'000));
      chart.height = static_cast<unsigned>(whole_number("--size", sides[1], 100, 20'000));
      chart.pixel_ratio = 1;
    }
    chart.dark = asked.dark;
    if constexpr (requires { chart.log_counts; }) chart.log_counts = options.log_counts;
    const std::string bytes = plot::draw(chart, picture_format(asked));
    io::OutputFile file_of_picture(asked.to_stdout() ? "-" : asked.path);
    file_of_picture.write(bytes);
    file_of_picture.commit();
  };
  if (result.weighted || (result.joint && result.joint->dimensions() == 1)) {
    std::vector<double> totals;
    if (result.weighted && options.density) totals = result.weighted->density();
    else if (result.weighted) totals.assign(result.weighted->totals().begin(), result.weighted->totals().end());
    const std::string weights = asked.weights.empty() ? without_folders(result.weights) : asked.weights;
    save(one_column(result, options, totals, weights));
  } else if (result.joint || result.rows) {
    save(map_chart(result));
  } else if (results.size() == 1 &&
             (has_texts(result) || (result.source.names && result.first().size() <= most_named_bins))) {
    save(named_chart(result, options));
  } else {
    save(channels_chart(results, options));
  }
}

namespace {

constexpr std::uint8_t brightest = 255;
constexpr std::uint64_t bins_of_pictures = 65536;  // so that each level can be met

template <class T>
double as_double(T value) {
  if constexpr (is_stored<T>) return to_double(value);
  else return static_cast<double>(value);
}

// What a value becomes: NaN, and what lies below all bins, 0.
class Levels {
 public:
  Levels(const Histogram& histogram, const HistogramJob& job, const std::string& name)
      : edges_(histogram.edges()), half_open_(job.options.right_open) {
    if (job.picture == MappedPicture::equalized) {
      const std::vector<std::uint16_t> levels = levels_of(histogram);
      levels_.assign(levels.begin(), levels.end());
      return;
    }
    if (otsu_text(histogram) == "null") data_error("{}: --otsu parts two bins with counts, and has fewer", name);
    const double threshold = otsu_threshold(histogram);
    for (std::uint64_t i = 0; i < histogram.size(); ++i) levels_.push_back(edges_[i] >= threshold ? brightest : 0);
  }
  [[nodiscard]] std::uint8_t operator()(double value) const {
    if (!(value >= edges_.front())) return 0;
    if (value > edges_.back() || (half_open_ && value == edges_.back())) return brightest;
    const auto after = std::upper_bound(edges_.begin(), edges_.end(), value) - edges_.begin();
    return levels_[std::min<std::size_t>(static_cast<std::size_t>(after), levels_.size()) - 1];
  }

 private:
  std::vector<double> edges_;
  std::vector<std::uint8_t> levels_;
  bool half_open_;
};

}  // namespace

std::vector<BinsRequest> requests_of(const HistogramJob& job, const io::SourceInfo& info) {
  std::vector<BinsRequest> requests = job.bins;
  BinsRequest& first = requests.front();
  const bool asked = first.bins || first.rule || first.integers || !first.edges.empty() || first.width || first.nice;
  const bool by_value = size_of(info.dtype) == 1 || (info.dtype == Dtype::u16 && !info.channels.empty());
  if (job.picture != MappedPicture::none && !asked && (!by_value || first.range || first.log))
    first.bins = bins_of_pictures;
  return requests;
}

io::Picture mapped_picture(const HistogramJob& job, const HistogramInput& input, std::span<const Histogram> counted,
                           const std::function<ArrayView()>& next) {
  const io::SourceInfo& info = input.info;
  const std::vector<std::uint64_t>& shape = info.shape;
  const unsigned channels = input.channels;
  if (channels != 1 && channels != 3) usage_error("a picture has 1 or 3 channels, {} has {}", info.name, channels);
  const bool fits = shape.size() == 2 ? channels == 1 : shape.size() == 3 && shape[2] == channels;
  if (!fits || info.fortran_order || shape[0] * shape[1] == 0) {
    usage_error(
        "a picture needs an image, or an array of (height, width), or (height, width, 3) with --channels 3; "
        "{} is none",
        info.name);
  }
  if (size_of(info.dtype) == 8 && info.dtype != Dtype::f64) {
    usage_error("a picture needs floats, or integers of at most 32 bits; {} has {}", info.name, to_string(info.dtype));
  }
  io::Picture picture{shape[1], shape[0], channels, {}};
  std::vector<Levels> levels;
  std::vector<std::vector<std::uint8_t>> tables;  // of all values, where these are few
  for (const Histogram& histogram : counted) {
    const Levels& level = levels.emplace_back(histogram, job, info.name);
    std::vector<std::uint8_t>& table = tables.emplace_back();
    if (info.dtype != Dtype::u8 && info.dtype != Dtype::u16) continue;
    for (unsigned value = 0; value < 1U << (8 * size_of(info.dtype)); ++value) table.push_back(level(value));
  }
  picture.samples.reserve(info.count.value_or(0));
  for (ArrayView piece = next(); piece.count != 0; piece = next()) {
    dispatch(piece.dtype, [&]<class T>(TypeTag<T>) {
      const T* const values = static_cast<const T*>(piece.data);
      for (std::uint64_t i = 0; i < piece.count; ++i) {
        const std::size_t channel = picture.samples.size() % channels;
        if constexpr (std::is_unsigned_v<T> && sizeof(T) <= 2) picture.samples.push_back(tables[channel][values[i]]);
        else picture.samples.push_back(levels[channel](as_double(values[i])));
      }
    });
  }
  return picture;
}

}  // namespace masu::cli
