// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace masu::plot {
namespace {

// In sizes of the font.
constexpr double bar_step = 1.75;
constexpr double bar_height = 1.25;
constexpr double group_gap = 0.9;
constexpr double group_title = 1.6;
constexpr double edge = 0.9;

// Of a page as high as its bars need.
constexpr double most_height = 15'000;
constexpr double most_height_pixels = 30'000;

void check(const BarChart& chart) {
  const auto finite = [](double value) {
    if (!(value >= 0 && std::isfinite(value)))
      throw Error(ErrorCode::invalid_argument, fmt::format("plot: bars must be finite and >= 0, got {}", value));
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
  for (const BarChart::Group& group : chart.groups) {
    for (const BarChart::Bar& bar : group.bars) {
      names = std::max(names, canvas.text_width({drawable(bar.label), ""}, small));
      texts = std::max(texts, canvas.text_width({drawable(bar.text), ""}, small));
      axis.hi = std::max(axis.hi, bar.value);
    }
  }
  if (axis.hi <= 0) axis.hi = 1;
  axis.hi *= 1.001;
  names = std::min(names, width * 0.4);
  texts = std::min(texts, width * 0.3);
  const double left = font * (edge + 0.6) + names;
  const Rect area{left, font * head_of(chart), std::max(10.0, width - left - texts - font * (edge + 0.8)),
                  font * body_of(chart)};
  axis.name(static_cast<unsigned>(std::clamp(area.width / font / 6, 2.0, 10.0)), Numbers::values);

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
