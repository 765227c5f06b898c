// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"
#include "runtime/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
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

Canvas::Canvas(Format format, double width, double height, double pixel_ratio, bool dark)
    : resolution_(format == Format::png ? pixel_ratio : vector_steps), c_(cairo()), format_(format), dark_(dark) {
  double scale = 1;
  if (format == Format::svg) {
    surface_ = c_.cairo_svg_surface_create_for_stream(append, &bytes_, width, height);
    c_.cairo_svg_surface_set_document_unit(surface_, CAIRO_SVG_UNIT_PX);
  } else if (format == Format::pdf) {
    scale = points_a_unit;
    surface_ = c_.cairo_pdf_surface_create_for_stream(append, &bytes_, width * scale, height * scale);
    // An empty date is left out, so that the same chart is the same file.
    c_.cairo_pdf_surface_set_metadata(surface_, CAIRO_PDF_METADATA_CREATE_DATE, "");
  } else {
    scale = pixel_ratio;
    surface_ = c_.cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::lround(width * scale)),
                                             static_cast<int>(std::lround(height * scale)));
  }
  context_ = c_.cairo_create(surface_);
  c_.cairo_scale(context_, scale, scale);
  c_.cairo_set_line_join(context_, CAIRO_LINE_JOIN_MITER);
  // Unhinted glyphs have the same widths in every format.
  cairo_font_options_t* options = c_.cairo_font_options_create();
  c_.cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  c_.cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  c_.cairo_set_font_options(context_, options);
  c_.cairo_font_options_destroy(options);
  fill(Rect{0, 0, width, height}, {255, 255, 255});
}

Canvas::~Canvas() {
  c_.cairo_destroy(context_);
  c_.cairo_surface_destroy(surface_);
}

void Canvas::use(Colour given, double alpha) const {
  const Colour colour = shown(given);
  c_.cairo_set_source_rgba(context_, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0, alpha);
}

void Canvas::path(std::span<const Point> points) const {
  for (std::size_t i = 0; i < points.size(); ++i)
    (i == 0 ? c_.cairo_move_to : c_.cairo_line_to)(context_, points[i].x, points[i].y);
}

void Canvas::font(double size, bool bold) const {
  c_.cairo_select_font_face(context_, font_name, CAIRO_FONT_SLANT_NORMAL,
                            bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  c_.cairo_set_font_size(context_, size);
}

double Canvas::advance(const std::string& text, double size, bool bold) const {
  if (text.empty()) return 0;
  font(size, bold);
  cairo_text_extents_t extents;
  c_.cairo_text_extents(context_, text.c_str(), &extents);
  return extents.x_advance;
}

// Another font has other widths, so the place of a text is that of its anchor.
void Canvas::write(Point at, const Label& label, const TextStyle& style) {
  if (label.text.empty() && label.power.empty()) return;
  const Colour colour = shown(style.colour);
  std::string more;
  if (style.anchor != Anchor::start)
    more = style.anchor == Anchor::middle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
  if (style.bold) more += " font-weight=\"bold\"";
  if (style.upwards) more += fmt::format(" transform=\"rotate(-90 {:.2f} {:.2f})\"", at.x, at.y);
  texts_ += fmt::format(R"(<text x="{:.2f}" y="{:.2f}" font-size="{:.2f}" fill="#{:02x}{:02x}{:02x}"{}>{})", at.x, at.y,
                        style.size, colour.red, colour.green, colour.blue, more, escaped(label.text));
  if (!label.power.empty()) {
    texts_ += fmt::format(R"(<tspan dy="{:.2f}" font-size="{:.2f}">{}</tspan>)", -style.size * raised,
                          style.size * power_size, escaped(label.power));
  }
  texts_ += "</text>\n";
}

void Canvas::show(Point at, const std::string& text, double size, bool bold) const {
  if (text.empty()) return;
  font(size, bold);
  c_.cairo_move_to(context_, at.x, at.y);
  c_.cairo_show_text(context_, text.c_str());
}

double Canvas::text_width(const Label& label, double size, bool bold) {
  return advance(label.text, size, bold) + advance(label.power, size * power_size, bold);
}

void Canvas::text(Point at, const Label& label, const TextStyle& style) {
  if (format_ == Format::svg) {
    write(at, label, style);
    return;
  }
  const double width = text_width(label, style.size, style.bold);
  const double back = style.anchor == Anchor::start ? 0 : style.anchor == Anchor::middle ? width / 2 : width;
  c_.cairo_save(context_);
  c_.cairo_translate(context_, at.x, at.y);
  if (style.upwards) c_.cairo_rotate(context_, -std::numbers::pi / 2);
  use(style.colour, 1);
  show({-back, 0}, label.text, style.size, style.bold);
  show({advance(label.text, style.size, style.bold) - back, -style.size * raised}, label.power, style.size * power_size,
       style.bold);
  c_.cairo_restore(context_);
}

void Canvas::fill(std::span<const Point> polygon, Colour colour, double alpha) {
  path(polygon);
  c_.cairo_close_path(context_);
  use(colour, alpha);
  c_.cairo_fill(context_);
}

void Canvas::fill(const Rect& rect, Colour colour, double alpha) {
  c_.cairo_rectangle(context_, rect.x, rect.y, rect.width, rect.height);
  use(colour, alpha);
  c_.cairo_fill(context_);
}

void Canvas::line(std::span<const Point> points, const Stroke& stroke) {
  const double gap = stroke.dash * 0.7;
  const double dashes[] = {stroke.dash, gap};
  c_.cairo_set_dash(context_, dashes, stroke.dash > 0 ? 2 : 0, 0);
  c_.cairo_set_line_width(context_, stroke.width);
  path(points);
  use(stroke.colour, stroke.alpha);
  c_.cairo_stroke(context_);
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
  const std::unique_ptr<cairo_surface_t, decltype(c_.cairo_surface_destroy)> image(
      c_.cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(columns), static_cast<int>(rows)),
      c_.cairo_surface_destroy);
  check(c_.cairo_surface_status(image.get()));
  c_.cairo_surface_flush(image.get());
  unsigned char* data = c_.cairo_image_surface_get_data(image.get());
  const auto stride = static_cast<std::size_t>(c_.cairo_image_surface_get_stride(image.get()));
  for (std::uint64_t row = 0; row < rows; ++row)
    std::memcpy(data + row * stride, colours.data() + row * columns, columns * sizeof(std::uint32_t));
  c_.cairo_surface_mark_dirty(image.get());
  c_.cairo_save(context_);
  c_.cairo_translate(context_, rect.x, rect.y);
  c_.cairo_scale(context_, rect.width / static_cast<double>(columns), rect.height / static_cast<double>(rows));
  c_.cairo_set_source_surface(context_, image.get(), 0, 0);
  c_.cairo_pattern_set_filter(c_.cairo_get_source(context_), CAIRO_FILTER_NEAREST);
  c_.cairo_paint(context_);
  c_.cairo_restore(context_);
}

void Canvas::clip(const Rect& rect) {
  c_.cairo_save(context_);
  c_.cairo_rectangle(context_, rect.x, rect.y, rect.width, rect.height);
  c_.cairo_clip(context_);
}

void Canvas::unclip() {
  c_.cairo_restore(context_);
}

std::string Canvas::finish(std::string_view title) {
  check(c_.cairo_status(context_));
  if (format_ == Format::png) check(c_.cairo_surface_write_to_png_stream(surface_, append, &bytes_));
  c_.cairo_surface_finish(surface_);
  check(c_.cairo_surface_status(surface_));
  if (format_ != Format::svg) return std::move(bytes_);
  std::string svg = stable_svg(bytes_, drawable(title));
  const std::string texts = fmt::format(
      "<g font-family=\"{}, Verdana, Arial, sans-serif\" xml:space=\"preserve\">\n{}</g>\n", font_name, texts_);
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
