// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"

#include <fmt/format.h>
#include <masu/io.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace masu::plot {
namespace {

constexpr unsigned least_size = 100;
constexpr unsigned most_size = 20'000;
constexpr double most_pixels_a_side = 32'000;  // Cairo's images have 32,767
constexpr double most_pixels = 0x1p28;
constexpr std::size_t most_legend_rows = 4;
constexpr std::size_t most_note_lines = 3;

// In sizes of the font.
constexpr double margin = 0.9;
constexpr double title_size = 1.25;
constexpr double small = 0.85;  // numbers on axes, legend, notes
constexpr double tick_length = 0.4;
constexpr double line_height = 1.5;
constexpr double swatch = 1.6;

constexpr double thin = 0.8;

}  // namespace

void refuse(const std::string& rule) {
  throw Error(ErrorCode::invalid_argument, "plot: " + rule);
}

void check_size(const Frame& frame, Format format) {
  if (std::min(frame.width, frame.height) < least_size || std::max(frame.width, frame.height) > most_size) {
    refuse(fmt::format("width and height must be {} to {}, got {} x {}", least_size, most_size, frame.width,
                       frame.height));
  }
  if (!(frame.pixel_ratio >= 0.1 && frame.pixel_ratio <= 100))
    refuse(fmt::format("pixel_ratio must be 0.1 to 100, got {}", frame.pixel_ratio));
  const double width = frame.width * frame.pixel_ratio;
  const double height = frame.height * frame.pixel_ratio;
  if (format == Format::png && (std::max(width, height) > most_pixels_a_side || width * height > most_pixels)) {
    refuse(fmt::format("a PNG must have at most {:.0f} pixels a side and {:.0f} in all, got {:.0f} x {:.0f}",
                       most_pixels_a_side, most_pixels, width, height));
  }
}

double font_size(double width, double height) {
  // Less than in proportion: a larger page has room for more, not only for larger letters.
  return std::max(8.5, 12.5 * std::pow(std::sqrt(width * height) / 632, 0.7));
}

Page::Page(const Frame& frame, Format format, const PageParts& parts)
    : frame_(frame),
      parts_(parts),
      font_((check_size(frame, format), font_size(frame.width, frame.height))),
      canvas_(format, frame.width, frame.height, frame.pixel_ratio, frame.dark) {
  for (std::string& note : parts_.notes) note = drawable(note);
  for (LegendEntry& entry : parts_.legend) entry.name = drawable(entry.name);
}

std::string Page::fitted(const std::string& text, double width, double size, bool bold) {
  if (canvas_.text_width({text, ""}, size, bold) <= width) return text;
  std::string shorter = text;
  while (!shorter.empty()) {
    do {
      const bool inside = (static_cast<unsigned char>(shorter.back()) & 0xC0U) == 0x80;
      shorter.pop_back();
      if (!inside) break;
    } while (!shorter.empty());
    if (canvas_.text_width({shorter + "…", ""}, size, bold) <= width) return shorter + "…";
  }
  return "";
}

double Page::entry_width(const LegendEntry& entry) {
  return canvas_.text_width({entry.name, ""}, font_ * small) + font_ * (swatch + 0.5 + 1.4);
}

std::vector<std::vector<LegendEntry>> Page::legend_rows(double width) {
  std::vector<std::vector<LegendEntry>> rows;
  double used = 0;
  for (LegendEntry entry : parts_.legend) {
    entry.name = fitted(entry.name, width - font_ * (swatch + 2), font_ * small);
    const double needs = entry_width(entry);
    if (rows.empty() || used + needs > width + font_ * 1.4) {
      if (rows.size() == most_legend_rows) {
        rows.back().back().name = "…";  // there are more
        break;
      }
      rows.emplace_back();
      used = 0;
    }
    used += needs;
    rows.back().push_back(std::move(entry));
  }
  return rows;
}

std::vector<std::string> Page::note_lines(double width) {
  std::vector<std::string> lines;
  for (const std::string& note : parts_.notes) {
    const std::string joined = lines.empty() ? note : lines.back() + "   ·   " + note;
    if (!lines.empty() && canvas_.text_width({joined, ""}, font_ * small) <= width) {
      lines.back() = joined;
    } else if (lines.size() < most_note_lines) {
      lines.push_back(fitted(note, width, font_ * small));
    }
  }
  return lines;
}

double Page::widest(const Axis& axis) {
  double width = 0;
  for (const Tick& tick : axis.ticks) width = std::max(width, canvas_.text_width(tick.label, font_ * small));
  return width;
}

// As many names as have room side by side (level) or above each other.
void Page::name_to_fit(Axis& axis, Numbers numbers, double length, bool level) {
  const double apart = font_ * (!level ? 3.2 : numbers == Numbers::whole ? 2.5 : 5.5);
  auto most = static_cast<unsigned>(std::clamp(length / apart, 2.0, 12.0));
  for (; most >= 2; --most) {
    axis.name(most, numbers);
    bool fits = true;
    for (std::size_t i = 1; i < axis.ticks.size() && fits; ++i) {
      const Tick& a = axis.ticks[i - 1];
      const Tick& b = axis.ticks[i];
      const double room = std::abs(axis.at(b.value) - axis.at(a.value)) * length;
      const double needs =
          level ? (canvas_.text_width(a.label, font_ * small) + canvas_.text_width(b.label, font_ * small)) / 2 +
                      font_ * 0.7
                : font_ * 1.2;
      fits = room >= needs;
    }
    if (fits) return;
  }
  if (axis.ticks.size() > 1) axis.ticks.erase(axis.ticks.begin() + 1, axis.ticks.end());
}

void Page::lay_out(Axis x, Axis y, Numbers x_numbers, Numbers y_numbers, Axis* bar, bool y_down) {
  y_down_ = y_down;
  const double edge = font_ * margin;
  const double line = font_ * small * line_height;
  const double width = frame_.width;
  const double height = frame_.height;
  const std::string title = drawable(frame_.title);
  const std::string x_label = drawable(frame_.x_label);
  const std::string y_label = drawable(frame_.y_label);

  // From the outside in. Where little is left for the data, what can be done without goes first.
  std::vector<std::vector<LegendEntry>> legend = legend_rows(width - font_ * 6);
  std::vector<std::string> notes = note_lines(width - 2 * edge);
  const double names_height = font_ * (tick_length + small * line_height) + (x_label.empty() ? 0 : font_ * line_height);
  const auto left_over = [&] {
    return height - 2 * edge - (title.empty() ? 0 : font_ * title_size * line_height) -
           line * static_cast<double>(legend.size() + notes.size()) - names_height;
  };
  while (!notes.empty() && left_over() < height * 0.4) notes.pop_back();
  while (!legend.empty() && left_over() < height * 0.3) {
    legend.pop_back();
    if (!legend.empty()) legend.back().back().name = "…";  // there are more
  }
  parts_.notes = notes;

  double top = edge;
  if (!title.empty()) top += font_ * title_size * line_height;
  top += line * static_cast<double>(legend.size());
  // The line over the axes says what its numbers are to be multiplied by.
  y.name(4, y_numbers);
  const auto has_factor = [](const Axis& axis) { return !axis.factor.text.empty() || !axis.offset.empty(); };
  double above = font_ * 0.4;
  if (has_factor(y) || parts_.colour_bar) above = line;
  area_.y = top + above;
  double bottom = height - edge - line * static_cast<double>(notes.size());
  if (!notes.empty()) bottom -= font_ * 0.3;
  area_.height = std::max(10.0, bottom - names_height - area_.y);
  x_names_ = area_.bottom() + font_ * (tick_length + small * 1.15);

  name_to_fit(y, y_numbers, area_.height, false);
  area_.x = edge + (y_label.empty() ? 0 : font_ * line_height) + widest(y) + font_ * (tick_length + 0.35);
  double right = edge + font_ * 0.6;
  if (bar != nullptr) {
    name_to_fit(*bar, Numbers::counts, area_.height, false);
    right = edge + widest(*bar) + font_ * (tick_length + 0.35 + 2.2);
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    area_.width = std::max(10.0, width - right - area_.x);
    name_to_fit(x, x_numbers, area_.width, true);
    if (x.ticks.empty()) break;
    // The last number's half may need a wider margin.
    const Tick& last = x.ticks.back();
    const double needs = canvas_.text_width(last.label, font_ * small) / 2 - (1 - x.at(last.value)) * area_.width;
    if (needs <= right - font_ * 0.3) break;
    right = needs + font_ * 0.4;
  }
  x_ = std::move(x);
  y_ = std::move(y);

  if (!title.empty()) {
    const double size = font_ * title_size;
    canvas_.text({area_.x, edge + size * 0.95}, {fitted(title, width - edge - area_.x, size, true), ""},
                 {size, ink, Anchor::start, true});
  }
  double legend_top = top - line * static_cast<double>(legend.size());
  for (const std::vector<LegendEntry>& row : legend) {
    double place = area_.x;
    for (const LegendEntry& entry : row) {
      const Rect box{place, legend_top + line * 0.22, font_ * swatch, line * 0.55};
      canvas_.fill(box, entry.look.colour, entry.fill);
      const Point outline[] = {{box.x, box.y}, {box.right(), box.y}};
      canvas_.line(outline, {entry.look.colour, font_ * 0.14, 1, entry.look.dash * font_ / 12});
      canvas_.text({box.right() + font_ * 0.5, legend_top + line * 0.72}, {entry.name, ""}, {font_ * small, ink});
      place += entry_width(entry);
    }
    legend_top += line;
  }
  for (std::size_t i = 0; i < notes.size(); ++i) {
    const double place = height - edge - line * (static_cast<double>(notes.size() - i) - 0.8);
    canvas_.text({edge, place}, {notes[i], ""}, {font_ * small, faded_ink});
  }
  if (!x_label.empty()) {
    canvas_.text({area_.x + area_.width / 2, x_names_ + font_ * line_height}, {fitted(x_label, area_.width, font_), ""},
                 {font_, ink, Anchor::middle});
  }
  if (!y_label.empty()) {
    canvas_.text({edge + font_ * 0.8, area_.y + area_.height / 2}, {fitted(y_label, area_.height, font_), ""},
                 {font_, ink, Anchor::middle, false, true});
  }
}

double Page::y_place(double value) const noexcept {
  const double at = y_.at(value) * area_.height;
  return y_down_ ? area_.y + at : area_.bottom() - at;
}

void Page::grid() {
  for (const Tick& tick : y_.ticks) {
    const double place = y_place(tick.value);
    canvas_.rule({area_.x, place}, {area_.right(), place}, {grid_colour, thin});
  }
  for (const Tick& tick : x_.ticks) {
    const double place = area_.x + x_.at(tick.value) * area_.width;
    canvas_.rule({place, area_.y}, {place, area_.bottom()}, {grid_colour, thin});
  }
}

void Page::axes(bool boxed) {
  const Stroke stroke{axis_colour, thin};
  const double length = font_ * tick_length;
  const double numbers = font_ * small;
  canvas_.rule({area_.x, area_.bottom()}, {area_.right(), area_.bottom()}, stroke);
  canvas_.rule({area_.x, area_.y}, {area_.x, area_.bottom()}, stroke);
  if (boxed) {
    canvas_.rule({area_.x, area_.y}, {area_.right(), area_.y}, stroke);
    canvas_.rule({area_.right(), area_.y}, {area_.right(), area_.bottom()}, stroke);
  }
  const auto x_tick = [&](double value, double part) {
    const double place = area_.x + x_.at(value) * area_.width;
    canvas_.rule({place, area_.bottom()}, {place, area_.bottom() + length * part}, stroke);
    return place;
  };
  const auto y_tick = [&](double value, double part) {
    const double place = y_place(value);
    canvas_.rule({area_.x - length * part, place}, {area_.x, place}, stroke);
    return place;
  };
  for (const double value : x_.minor) x_tick(value, 0.55);
  for (const double value : y_.minor) y_tick(value, 0.55);
  for (const Tick& tick : x_.ticks)
    canvas_.text({x_tick(tick.value, 1), x_names_}, tick.label, {numbers, ink, Anchor::middle});
  for (const Tick& tick : y_.ticks) {
    canvas_.text({area_.x - length - font_ * 0.25, y_tick(tick.value, 1) + numbers * 0.36}, tick.label,
                 {numbers, ink, Anchor::end});
  }
  const auto factor = [&](const Axis& axis, Point at, Anchor anchor) {
    Label label = axis.factor;
    if (!axis.offset.empty()) {
      if (label.text.empty()) label.text = axis.offset;
      else label = {axis.offset + "  " + label.text, label.power};
    }
    if (!label.text.empty()) canvas_.text(at, label, {numbers, ink, anchor});
  };
  factor(x_, {area_.right(), x_names_ + font_ * line_height}, Anchor::end);
  factor(y_, {area_.x, area_.y - font_ * 0.35}, Anchor::middle);
}

std::uint32_t Page::paper() const {
  const Colour colour = frame_.dark ? on_dark({255, 255, 255}) : Colour{255, 255, 255};
  return colour.red * 0x10101U;
}

void Page::colour_bar(const Axis& bar, const std::string& label) {
  const Rect none{area_.right() + font_ * 0.9, area_.bottom() - font_ * 0.9, font_ * 1.1, font_ * 0.9};
  const Rect box{none.x, area_.y, none.width, area_.height - font_ * 1.5};
  constexpr std::uint64_t shades = 256;
  std::vector<std::uint32_t> colours(shades);
  for (std::uint64_t i = 0; i < shades; ++i)
    colours[i] = shade(1 - (static_cast<double>(i) + 0.5) / static_cast<double>(shades));
  canvas_.image(box, 1, shades, colours);
  const Stroke stroke{axis_colour, thin};
  for (const Rect& each : {box, none}) {
    const Point outline[] = {{each.x, each.y},
                             {each.right(), each.y},
                             {each.right(), each.bottom()},
                             {each.x, each.bottom()},
                             {each.x, each.y}};
    canvas_.line(outline, stroke);
  }
  const double numbers = font_ * small;
  const auto name = [&](double place, const Label& text) {
    canvas_.rule({box.right(), place}, {box.right() + font_ * tick_length, place}, stroke);
    canvas_.text({box.right() + font_ * (tick_length + 0.25), place + numbers * 0.36}, text, {numbers, ink});
  };
  for (const Tick& tick : bar.ticks) name(box.bottom() - bar.at(tick.value) * box.height, tick.label);
  name(none.y + none.height / 2, {"0", ""});
  canvas_.text({frame_.width - font_ * margin, area_.y - font_ * 0.7}, {label, ""}, {numbers, ink, Anchor::end});
}

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
  refuse(fmt::format("a file must end in .svg, .png or .pdf, got '{}'", path));
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
