// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace masu::plot {
namespace {

constexpr std::size_t most_series = 64;
constexpr std::size_t most_named = 4;      // series whose n are listed one by one
constexpr double most_columns_a_unit = 2;  // finer steps than half a pixel are not seen

void check(const HistogramChart& chart) {
  if (chart.series.empty() || chart.series.size() > most_series)
    refuse(fmt::format("a chart has 1 to {} series, got {}", most_series, chart.series.size()));
  for (const Series& series : chart.series) {
    const BinAxis& bins = series.bins;
    if (bins.size == 0 || !bins.edge) refuse("a series must have bins");
    if (series.totals.empty() != chart.series.front().totals.empty())
      refuse("all series have counts, or all have totals");
    const std::size_t heights = series.totals.empty() ? series.counts.size() : series.totals.size();
    if (bins.size != heights || (!series.totals.empty() && !series.counts.empty()))
      refuse(fmt::format("a series of {} bins must have as many counts, got {}", bins.size, heights));
    if (!(bins.edge(0) <= bins.edge(bins.size)))
      refuse(fmt::format("edges must not decrease, got {} … {}", bins.edge(0), bins.edge(bins.size)));
  }
}

// One outline is filled as if it were solid; of many, only the lines are left.
double fill_of(const HistogramChart& chart) {
  const std::size_t series = chart.series.size();
  if (series > 1 && chart.quantity == Quantity::cumulative) return 0;  // one lies within the next
  return series == 1 ? 0.55 : series <= 4 ? 0.28 : series <= 8 ? 0.10 : 0;
}

std::string name_of(const Series& series, std::size_t index) {
  return series.name.empty() ? fmt::format("series {}", index + 1) : series.name;
}

std::vector<std::string> notes_of(const HistogramChart& chart, const std::vector<std::uint64_t>& totals,
                                  const std::vector<Steps>& found, bool logarithmic) {
  std::vector<std::string> notes;
  const bool several = chart.series.size() > 1;
  std::vector<std::uint64_t> n;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const Series& series = chart.series[i];
    n.push_back(totals[i] + series.below + series.above + series.nan);
  }
  const bool counts = chart.series.front().totals.empty();  // of totals the caller knows
  if (counts && std::all_of(n.begin(), n.end(), [&](std::uint64_t each) { return each == n.front(); }))
    notes.push_back(fmt::format("n = {}{}", grouped(n.front()), several ? " each" : ""));
  else if (counts && n.size() > most_named)
    notes.push_back(fmt::format("n = {} to {} each", grouped(*std::min_element(n.begin(), n.end())),
                                grouped(*std::max_element(n.begin(), n.end()))));
  else if (counts)
    for (std::size_t i = 0; i < n.size(); ++i)
      notes.push_back(fmt::format("n({}) = {}", name_of(chart.series[i], i), grouped(n[i])));
  std::uint64_t most_in_column = 1;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const Series& series = chart.series[i];
    const std::pair<std::uint64_t, const char*> outside[] = {
        {series.below, "below"},
        {series.above, "above"},
        {series.nan, "NaN"},
        {found[i].unplaced, logarithmic ? "in bins at 0 or less" : "in bins without end"}};
    std::string text;
    for (const auto& [count, where] : outside)
      if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), where);
    if (!text.empty()) notes.push_back(several ? name_of(series, i) + ": " + text : text);
    most_in_column = std::max(most_in_column, found[i].most_in_column);
  }
  if (most_in_column > 1)
    notes.push_back(fmt::format("each step: the highest of up to {} bins", grouped(most_in_column)));
  notes.insert(notes.end(), chart.notes.begin(), chart.notes.end());
  return notes;
}

Axis x_axis(const HistogramChart& chart, bool logarithmic) {
  double lo = 0;
  double hi = 0;
  bool any = false;
  for (const Series& series : chart.series) {
    const Placed place = placed(series.bins, logarithmic);
    if (place.first == place.end) continue;
    lo = any ? std::min(lo, place.lo) : place.lo;
    hi = any ? std::max(hi, place.hi) : place.hi;
    any = true;
  }
  Axis axis;
  std::tie(axis.lo, axis.hi) = widened(lo, hi, logarithmic);
  axis.logarithmic = logarithmic;
  return axis;
}

// Whether heights are whole numbers.
bool counted(const HistogramChart& chart) {
  return chart.series.front().totals.empty() &&
         (chart.quantity == Quantity::counts || chart.quantity == Quantity::cumulative);
}

Axis y_axis(const HistogramChart& chart, const std::vector<Steps>& found) {
  double most = 0;
  double least = 0;
  double lowest = 0;  // of totals below 0
  for (const Steps& each : found) {
    lowest = std::min(lowest, each.least);
    most = std::max(most, each.highest);
    if (each.lowest > 0 && (least == 0 || each.lowest < least)) least = each.lowest;
  }
  Axis axis;
  axis.logarithmic = chart.log_counts;
  constexpr double room = 0.05;  // above the highest
  if (!axis.logarithmic) {
    axis.lo = lowest * (1 + room);
    axis.hi = most == 0 && lowest == 0 ? 1 : most * (1 + room);
    return axis;
  }
  // A bar of the lowest height must be seen: the axis begins a little below it.
  if (most == 0) most = least = 1;
  const bool counts = counted(chart);
  axis.lo = counts && least < 2 ? 0.5 : std::max(std::pow(10, std::floor(std::log10(least / 1.5))), most * 1e-30);
  axis.hi = std::max(most * std::pow(most / axis.lo, room), axis.lo * 20);
  return axis;
}

double place_x(const Page& page, double at) {
  return page.area().x + std::clamp(at, 0.0, 1.0) * page.area().width;
}
double place_y(const Page& page, double height) {
  const double at = height <= page.y().lo ? 0 : std::clamp(page.y().at(height), 0.0, 1.0);
  return page.area().bottom() - at * page.area().height;
}

// From the axis over all steps and back to it.
std::vector<Point> outline_of(const Page& page, const Steps& found) {
  const double bottom = place_y(page, 0);
  std::vector<Point> outline;
  double right = -1;
  for (const Step& step : found.steps) {
    if (step.left != right) {  // a new piece
      if (!outline.empty()) outline.push_back({place_x(page, right), bottom});
      outline.push_back({place_x(page, step.left), bottom});
    }
    const double top = place_y(page, step.height);
    const std::size_t size = outline.size();
    if (size >= 2 && step.left == right && outline[size - 1].y == top && outline[size - 2].y == top) {
      outline.back().x = place_x(page, step.right);
    } else {
      outline.push_back({place_x(page, step.left), top});
      outline.push_back({place_x(page, step.right), top});
    }
    right = step.right;
  }
  if (!outline.empty()) outline.push_back({place_x(page, right), bottom});
  return outline;
}

// Lines that tell single bars apart.
void separate(Page& page, const std::vector<Step>& steps, double bin_width) {
  const Stroke stroke{{255, 255, 255}, std::min(1.0, bin_width / 8), 0.8};
  const double base = place_y(page, 0);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const double a = place_y(page, steps[i - 1].height);
    const double b = place_y(page, steps[i].height);
    const double end = std::max(a, b) < base ? std::max(a, b) : std::max(base, std::min(a, b));
    const double x = place_x(page, steps[i].left);
    if (end != base) page.canvas().rule({x, end}, {x, base}, stroke);
  }
}

void draw_series(Page& page, const std::vector<Steps>& found, const std::vector<Look>& looks, double fill,
                 bool cumulative) {
  std::vector<std::vector<Point>> outlines;
  for (const Steps& each : found) outlines.push_back(outline_of(page, each));
  const auto bin_width = [&](std::size_t i) { return page.area().width / static_cast<double>(found[i].steps.size()); };
  Canvas& canvas = page.canvas();
  if (fill > 0)
    for (std::size_t i = 0; i < outlines.size(); ++i) canvas.fill(outlines[i], looks[i].colour, fill);
  if (outlines.size() == 1 && bin_width(0) >= 4) separate(page, found.front().steps, bin_width(0));
  for (std::size_t i = 0; i < outlines.size(); ++i) {
    const double width = page.font() / 12 * (bin_width(i) < 1.5 ? 0.6 : 1.1);
    // A sum does not fall at its end.
    const std::size_t last = cumulative && !outlines[i].empty() ? 1 : 0;
    canvas.line(std::span(outlines[i]).first(outlines[i].size() - last),
                {looks[i].colour, width, 1, looks[i].dash * page.font() / 12});
  }
}

const char* label_of(Quantity quantity) {
  static constexpr const char* labels[] = {"count", "density", "cumulative count", "percent"};
  return labels[static_cast<std::size_t>(quantity)];
}

}  // namespace

std::string draw(const HistogramChart& chart, Format format) {
  const FloatingPointScope usual;
  check(chart);
  check_size(chart, format);
  const bool logarithmic = is_logarithmic(chart.series.front().bins);
  const Axis x = x_axis(chart, logarithmic);
  const auto columns = static_cast<std::uint64_t>(
      std::ceil(chart.width * std::min(format == Format::png ? chart.pixel_ratio : 4.0, most_columns_a_unit)));
  std::vector<Steps> found;
  std::vector<std::uint64_t> totals;
  PageParts parts;
  for (const Series& series : chart.series) {
    totals.push_back(std::accumulate(series.counts.begin(), series.counts.end(), std::uint64_t{0}));
    const std::uint64_t outside = chart.quantity == Quantity::percent ? series.below + series.above + series.nan : 0;
    found.push_back(steps(series, x, columns, chart.quantity, totals.back() + outside));
  }
  std::vector<Look> looks;
  std::uint64_t unnamed = 0;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    Look chosen = look(series.name, unnamed);
    if (chosen == look("", unnamed)) ++unnamed;
    if (series.colour) chosen.colour = *series.colour;
    looks.push_back(chosen);
    if (chart.series.size() > 1 || !series.name.empty())
      parts.legend.push_back({name_of(series, i), chosen, fill_of(chart)});
  }
  parts.notes = notes_of(chart, totals, found, logarithmic);
  Frame frame = chart;
  if (frame.y_label.empty()) frame.y_label = label_of(chart.quantity);

  Page page(frame, format, parts);
  const bool whole = chart.series.front().bins.whole && !logarithmic;
  page.lay_out(x, y_axis(chart, found), whole ? Numbers::whole : Numbers::values,
               counted(chart) ? Numbers::counts : Numbers::values);
  page.grid();
  page.canvas().clip(page.area());
  draw_series(page, found, looks, fill_of(chart), chart.quantity == Quantity::cumulative);
  page.canvas().unclip();
  if (page.y().lo < 0) {
    const double zero = place_y(page, 0);
    page.canvas().rule({page.area().x, zero}, {page.area().right(), zero}, {axis_colour, 0.8});
  }
  page.axes(false);
  return page.canvas().finish(chart.title);
}

namespace {

// In sizes of the font.
constexpr double bar_step = 1.75;
constexpr double bar_height = 1.25;
constexpr double group_gap = 0.9;
constexpr double group_title = 1.6;
constexpr double edge = 0.9;

// Limits of a page that is as high as its bars need.
constexpr double most_height = 15'000;
constexpr double most_height_pixels = 30'000;

void check(const BarChart& chart) {
  const auto finite = [](double value) {
    if (!(value >= 0 && std::isfinite(value))) refuse(fmt::format("bars must be finite and >= 0, got {}", value));
  };
  for (const BarChart::Group& group : chart.groups)
    for (const BarChart::Bar& bar : group.bars) finite(bar.value);
  if (chart.mark) finite(chart.mark->value);
}

// Lines above and below the bars, and the bars, in sizes of the font.
double head_of(const BarChart& chart) {
  return edge + (chart.title.empty() ? 0 : 1.9) + (chart.subtitle.empty() ? 0 : 1.4) +
         (chart.mark && !chart.mark->label.empty() ? 1.3 : 0.4);
}
double foot_of(const BarChart& chart) {
  return edge + 1.8 + (chart.x_label.empty() ? 0 : 1.5) + 1.3 * static_cast<double>(chart.notes.size());
}
double body_of(const BarChart& chart) {
  double sizes = 0;
  for (const BarChart::Group& group : chart.groups)
    sizes += (group.title.empty() ? 0 : group_title) + bar_step * static_cast<double>(group.bars.size()) + group_gap;
  return sizes;
}

}  // namespace

std::string draw(const BarChart& chart, Format format) {
  const FloatingPointScope usual;
  check(chart);
  const double sizes = head_of(chart) + body_of(chart) + foot_of(chart);
  Frame frame = chart;
  double font = 12.5;
  if (chart.height == 0) {
    // As many as there are are drawn: smaller where the page ends.
    font = std::min(font, most_height / sizes);
    frame.height = static_cast<unsigned>(std::max(std::ceil(sizes * font), 100.0));
    frame.pixel_ratio = std::min(frame.pixel_ratio, most_height_pixels / frame.height);
  } else {
    font = std::min(font_size(chart.width, chart.height), chart.height / sizes);
  }
  Page page(frame, format, {});
  Canvas& canvas = page.canvas();
  const double small = font * 0.9;
  const double width = frame.width;

  double names = 0;
  double texts = 0;
  Axis axis;
  axis.hi = chart.mark ? chart.mark->value : 0;
  bool whole = true;
  for (const BarChart::Group& group : chart.groups) {
    for (const BarChart::Bar& bar : group.bars) {
      names = std::max(names, canvas.text_width({drawable(bar.label), ""}, small));
      texts = std::max(texts, canvas.text_width({drawable(bar.text), ""}, small));
      axis.hi = std::max(axis.hi, bar.value);
      whole = whole && bar.value == std::floor(bar.value);
    }
  }
  if (axis.hi <= 0) axis.hi = 1;
  axis.hi *= 1.001;
  names = std::min(names, width * 0.4);
  texts = std::min(texts, width * 0.3);
  const double left = font * (edge + 0.6) + names;
  const Rect area{left, font * head_of(chart), std::max(10.0, width - left - texts - font * (edge + 0.8)),
                  font * body_of(chart)};
  axis.name(static_cast<unsigned>(std::clamp(area.width / font / 6, 2.0, 10.0)),
            whole ? Numbers::whole : Numbers::values);

  double line = font * edge;
  if (!chart.title.empty()) {
    line += font * 1.2;
    canvas.text({font * edge, line},
                {page.fitted(drawable(chart.title), width - 2 * font * edge, font * 1.25, true), ""},
                {font * 1.25, ink, Anchor::start, true});
    line += font * 0.5;
  }
  if (!chart.subtitle.empty())
    canvas.text({font * edge, line + font}, {page.fitted(drawable(chart.subtitle), width - 2 * font * edge, small), ""},
                {small, faded_ink});

  const auto place = [&](double value) { return area.x + axis.at(value) * area.width; };
  for (const Tick& tick : axis.ticks) {
    const double x = place(tick.value);
    canvas.rule({x, area.y}, {x, area.bottom()}, {grid_colour, 0.8});
    canvas.text({x, area.bottom() + font * 1.3}, tick.label, {small, ink, Anchor::middle});
  }
  canvas.rule({area.x, area.y}, {area.x, area.bottom()}, {axis_colour, 0.8});
  if (chart.mark) {
    const double x = place(chart.mark->value);
    canvas.rule({x, area.y}, {x, area.bottom()}, {axis_colour, 1.2, 1, font * 0.4});
    const std::string label = drawable(chart.mark->label);
    const double half = canvas.text_width({label, ""}, small) / 2;
    canvas.text({std::min(x, width - font * edge - half), area.y - font * 0.35}, {label, ""},
                {small, axis_colour, Anchor::middle});
  }
  double y = area.y;
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    const BarChart::Group& group = chart.groups[g];
    if (!group.title.empty()) {
      // The grid shall not cross it.
      const std::string title = page.fitted(drawable(group.title), width - 2 * font * edge, font, true);
      canvas.fill(Rect{font * edge, y + font * 0.2, canvas.text_width({title, ""}, font, true) + font * 0.5,
                       font * (group_title - 0.3)},
                  {255, 255, 255});
      canvas.text({font * edge, y + font * 1.15}, {title, ""}, {font, ink, Anchor::start, true});
      y += font * group_title;
    }
    for (const BarChart::Bar& bar : group.bars) {
      const double base = y + font * (bar_step / 2) + small * 0.36;
      canvas.text({area.x - font * 0.5, base}, {page.fitted(drawable(bar.label), names + 1, small), ""},
                  {small, ink, Anchor::end});
      const double top = y + font * (bar_step - bar_height) / 2;
      canvas.fill(Rect{area.x, top, place(bar.value) - area.x, font * bar_height}, look("", 0).colour, 0.85);
      const std::string text = page.fitted(drawable(bar.text), texts + 1, small);
      const double begin = place(bar.value) + font * 0.5;
      canvas.fill(Rect{begin - font * 0.2, top, canvas.text_width({text, ""}, small) + font * 0.4, font * bar_height},
                  {255, 255, 255}, text.empty() ? 0 : 0.85);
      canvas.text({begin, base}, {text, ""}, {small, ink});
      y += font * bar_step;
    }
    y += font * group_gap;
  }
  line = area.bottom() + font * 1.8;
  if (!chart.x_label.empty()) {
    canvas.text({area.x + area.width / 2, line + font}, {page.fitted(drawable(chart.x_label), area.width, font), ""},
                {font, ink, Anchor::middle});
    line += font * 1.5;
  }
  for (const std::string& note : chart.notes) {
    canvas.text({font * edge, line + font}, {page.fitted(drawable(note), width - 2 * font * edge, small), ""},
                {small, faded_ink});
    line += font * 1.3;
  }
  return canvas.finish(chart.title);
}

}  // namespace masu::plot
