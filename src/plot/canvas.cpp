// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"
#include "runtime/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <new>
#include <numbers>

namespace masu::plot {

namespace {

// "surface17" as its letters; empty when it is no such name.
std::string_view numbered(std::string_view name) {
  for (const std::string_view kind : {"surface", "image", "pattern", "mask"}) {
    const std::string_view number = name.substr(std::min(kind.size(), name.size()));
    const bool digits = std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (name.starts_with(kind) && !number.empty() && digits) return kind;
  }
  return {};
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') result += "&amp;";
    else if (c == '<') result += "&lt;";
    else if (c == '>') result += "&gt;";
    else result += c;
  }
  return result;
}

// Cairo numbers the surfaces of an SVG as it has made them in this process. Numbers them from 1 instead, so that the
// same drawing is the same text, and gives the document a title, which readers of screens speak.
std::string stable_svg(std::string_view svg, std::string_view title) {
  std::map<std::string, std::string, std::less<>> names;
  std::string result;
  result.reserve(svg.size() + title.size() + 64);
  std::size_t copied = 0;
  if (const std::size_t root = svg.find("<svg"); root != svg.npos && !title.empty()) {
    copied = svg.find('>', root) + 1;
    result.append(svg.substr(0, copied)).append("\n<title>").append(escaped(title)).append("</title>");
  }
  // Names stand in quotes, alone or after the "#" of a reference, or in "url(#…)".
  for (std::size_t begin = svg.find_first_of("\"#", copied); begin != svg.npos;
       begin = svg.find_first_of("\"#", begin + 1)) {
    const std::size_t end = svg.find_first_of("\"#)", begin + 1);
    if (end == svg.npos) break;
    const std::string_view name = svg.substr(begin + 1, end - begin - 1);
    const std::string_view kind = numbered(name);
    if (kind.empty()) continue;
    const auto [found, added] = names.try_emplace(std::string(name));
    if (added) found->second = fmt::format("{}-{}", kind, names.size());
    result.append(svg.substr(copied, begin + 1 - copied)).append(found->second);
    copied = end;
  }
  return result.append(svg.substr(copied));
}

constexpr const char* font_name = "DejaVu Sans";
constexpr double raised = 0.42;         // of the font's size: where a power stands
constexpr double power_size = 0.72;     // of the font's size
constexpr double vector_steps = 4;      // steps a unit that a vector format is drawn with
constexpr double points_a_unit = 0.75;  // of a PDF: 1/72 inch

const CairoLibrary& cairo() {
  static const CairoLibrary cairo("libcairo.so.2");
  cairo.library.require("plot");
  return cairo;
}

void check(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  const ErrorCode code = status == CAIRO_STATUS_NO_MEMORY ? ErrorCode::out_of_memory : ErrorCode::unsupported;
  throw Error(code, fmt::format("plot: Cairo: {}", cairo().cairo_status_to_string(status)));
}

// Called by Cairo, which no exception may cross.
cairo_status_t append(void* target, const unsigned char* data, unsigned length) noexcept {
  try {
    static_cast<std::string*>(target)->append(reinterpret_cast<const char*>(data), length);
  } catch (const std::bad_alloc&) {
    return CAIRO_STATUS_NO_MEMORY;
  }
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

struct Canvas::State {
  const CairoLibrary& c = cairo();
  Format format;
  bool dark;
  std::string texts;  // elements of an SVG
  std::string bytes;
  cairo_surface_t* surface = nullptr;
  cairo_t* context = nullptr;

  State(Format wanted, double width, double height, double pixel_ratio, bool on_dark_page)
      : format(wanted), dark(on_dark_page) {
    double scale = 1;
    if (format == Format::svg) {
      surface = c.cairo_svg_surface_create_for_stream(append, &bytes, width, height);
      c.cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
    } else if (format == Format::pdf) {
      scale = points_a_unit;
      surface = c.cairo_pdf_surface_create_for_stream(append, &bytes, width * scale, height * scale);
      // An empty date is left out, so that the same chart is the same file.
      c.cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "");
    } else {
      scale = pixel_ratio;
      surface = c.cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::lround(width * scale)),
                                             static_cast<int>(std::lround(height * scale)));
    }
    context = c.cairo_create(surface);
    c.cairo_scale(context, scale, scale);
    c.cairo_set_line_join(context, CAIRO_LINE_JOIN_MITER);
    // Unhinted glyphs have the same widths in every format.
    cairo_font_options_t* options = c.cairo_font_options_create();
    c.cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    c.cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    c.cairo_set_font_options(context, options);
    c.cairo_font_options_destroy(options);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    c.cairo_destroy(context);
    c.cairo_surface_destroy(surface);
  }

  [[nodiscard]] Colour shown(Colour colour) const { return dark ? on_dark(colour) : colour; }
  void colour(Colour given, double alpha) const {
    const Colour colour = shown(given);
    c.cairo_set_source_rgba(context, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0, alpha);
  }
  void path(std::span<const Point> points) const {
    for (std::size_t i = 0; i < points.size(); ++i)
      (i == 0 ? c.cairo_move_to : c.cairo_line_to)(context, points[i].x, points[i].y);
  }
  void font(double size, bool bold) const {
    c.cairo_select_font_face(context, font_name, CAIRO_FONT_SLANT_NORMAL,
                             bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    c.cairo_set_font_size(context, size);
  }
  [[nodiscard]] double advance(const std::string& text, double size, bool bold) const {
    if (text.empty()) return 0;
    font(size, bold);
    cairo_text_extents_t extents;
    c.cairo_text_extents(context, text.c_str(), &extents);
    return extents.x_advance;
  }
  // Another font has other widths, so the place of a text is that of its anchor.
  void write(Point at, const Label& label, const TextStyle& style) {
    if (label.text.empty() && label.power.empty()) return;
    const Colour colour = shown(style.colour);
    std::string more;
    if (style.anchor != Anchor::start)
      more = style.anchor == Anchor::middle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
    if (style.bold) more += " font-weight=\"bold\"";
    if (style.upwards) more += fmt::format(" transform=\"rotate(-90 {:.2f} {:.2f})\"", at.x, at.y);
    texts += fmt::format(R"(<text x="{:.2f}" y="{:.2f}" font-size="{:.2f}" fill="#{:02x}{:02x}{:02x}"{}>{})", at.x,
                         at.y, style.size, colour.red, colour.green, colour.blue, more, escaped(label.text));
    if (!label.power.empty()) {
      texts += fmt::format(R"(<tspan dy="{:.2f}" font-size="{:.2f}">{}</tspan>)", -style.size * raised,
                           style.size * power_size, escaped(label.power));
    }
    texts += "</text>\n";
  }
  void show(Point at, const std::string& text, double size, bool bold) const {
    if (text.empty()) return;
    font(size, bold);
    c.cairo_move_to(context, at.x, at.y);
    c.cairo_show_text(context, text.c_str());
  }
};

Canvas::Canvas(Format format, double width, double height, double pixel_ratio, bool dark)
    : state_(std::make_unique<State>(format, width, height, pixel_ratio, dark)),
      resolution_(format == Format::png ? pixel_ratio : vector_steps) {
  check(state_->c.cairo_status(state_->context));
  fill(Rect{0, 0, width, height}, {255, 255, 255});
}
Canvas::~Canvas() = default;

double Canvas::text_width(const Label& label, double size, bool bold) {
  return state_->advance(label.text, size, bold) + state_->advance(label.power, size * power_size, bold);
}

void Canvas::text(Point at, const Label& label, const TextStyle& style) {
  State& s = *state_;
  if (s.format == Format::svg) {
    s.write(at, label, style);
    return;
  }
  const double width = text_width(label, style.size, style.bold);
  const double back = style.anchor == Anchor::start ? 0 : style.anchor == Anchor::middle ? width / 2 : width;
  s.c.cairo_save(s.context);
  s.c.cairo_translate(s.context, at.x, at.y);
  if (style.upwards) s.c.cairo_rotate(s.context, -std::numbers::pi / 2);
  s.colour(style.colour, 1);
  s.show({-back, 0}, label.text, style.size, style.bold);
  s.show({s.advance(label.text, style.size, style.bold) - back, -style.size * raised}, label.power,
         style.size * power_size, style.bold);
  s.c.cairo_restore(s.context);
}

void Canvas::fill(std::span<const Point> polygon, Colour colour, double alpha) {
  const State& s = *state_;
  s.path(polygon);
  s.c.cairo_close_path(s.context);
  s.colour(colour, alpha);
  s.c.cairo_fill(s.context);
}

void Canvas::fill(const Rect& rect, Colour colour, double alpha) {
  const State& s = *state_;
  s.c.cairo_rectangle(s.context, rect.x, rect.y, rect.width, rect.height);
  s.colour(colour, alpha);
  s.c.cairo_fill(s.context);
}

void Canvas::line(std::span<const Point> points, const Stroke& stroke) {
  const State& s = *state_;
  const double gap = stroke.dash * 0.7;
  const double dashes[] = {stroke.dash, gap};
  s.c.cairo_set_dash(s.context, dashes, stroke.dash > 0 ? 2 : 0, 0);
  s.c.cairo_set_line_width(s.context, stroke.width);
  s.path(points);
  s.colour(stroke.colour, stroke.alpha);
  s.c.cairo_stroke(s.context);
}

double Canvas::snapped(double place, double width) const noexcept {
  const double pixels = std::max(1.0, std::round(width * resolution_));
  const double half = std::fmod(pixels, 2) == 1 ? 0.5 : 0;
  return (std::round(place * resolution_ - half) + half) / resolution_;
}

void Canvas::rule(Point a, Point b, const Stroke& stroke) {
  if (a.x == b.x) a.x = b.x = snapped(a.x, stroke.width);
  if (a.y == b.y) a.y = b.y = snapped(a.y, stroke.width);
  const Point points[] = {a, b};
  line(points, stroke);
}

void Canvas::image(const Rect& rect, std::uint64_t columns, std::uint64_t rows,
                   std::span<const std::uint32_t> colours) {
  const State& s = *state_;
  const std::unique_ptr<cairo_surface_t, decltype(s.c.cairo_surface_destroy)> image(
      s.c.cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(columns), static_cast<int>(rows)),
      s.c.cairo_surface_destroy);
  check(s.c.cairo_surface_status(image.get()));
  s.c.cairo_surface_flush(image.get());
  unsigned char* data = s.c.cairo_image_surface_get_data(image.get());
  const auto stride = static_cast<std::size_t>(s.c.cairo_image_surface_get_stride(image.get()));
  for (std::uint64_t row = 0; row < rows; ++row)
    std::memcpy(data + row * stride, colours.data() + row * columns, columns * sizeof(std::uint32_t));
  s.c.cairo_surface_mark_dirty(image.get());
  s.c.cairo_save(s.context);
  s.c.cairo_translate(s.context, rect.x, rect.y);
  s.c.cairo_scale(s.context, rect.width / static_cast<double>(columns), rect.height / static_cast<double>(rows));
  s.c.cairo_set_source_surface(s.context, image.get(), 0, 0);
  s.c.cairo_pattern_set_filter(s.c.cairo_get_source(s.context), CAIRO_FILTER_NEAREST);
  s.c.cairo_paint(s.context);
  s.c.cairo_restore(s.context);
}

void Canvas::clip(const Rect& rect) {
  const State& s = *state_;
  s.c.cairo_save(s.context);
  s.c.cairo_rectangle(s.context, rect.x, rect.y, rect.width, rect.height);
  s.c.cairo_clip(s.context);
}

void Canvas::unclip() {
  state_->c.cairo_restore(state_->context);
}

std::string Canvas::finish(std::string_view title) {
  State& s = *state_;
  check(s.c.cairo_status(s.context));
  if (s.format == Format::png) check(s.c.cairo_surface_write_to_png_stream(s.surface, append, &s.bytes));
  s.c.cairo_surface_finish(s.surface);
  check(s.c.cairo_surface_status(s.surface));
  if (s.format != Format::svg) return std::move(s.bytes);
  std::string svg = stable_svg(s.bytes, drawable(title));
  const std::string texts = fmt::format(
      "<g font-family=\"{}, Verdana, Arial, sans-serif\" xml:space=\"preserve\">\n{}</g>\n", font_name, s.texts);
  return svg.insert(svg.rfind("</svg>"), texts);
}

Colour on_dark(Colour colour) {
  constexpr int page = 0x1C;    // what is white
  constexpr int bright = 0xF4;  // what is black
  const auto part = [&](std::uint8_t from) {
    if (colour.red == colour.green && colour.green == colour.blue)
      return static_cast<std::uint8_t>(bright - from * (bright - page) / 255);
    return static_cast<std::uint8_t>(from + (255 - from) * 3 / 10);
  };
  return {part(colour.red), part(colour.green), part(colour.blue)};
}

std::string drawable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = runtime::utf8_length(text, i);
    if (length == 0) result += "\uFFFD";
    else if (length == 1 && (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7F)) result += ' ';
    else result += text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

}  // namespace masu::plot
