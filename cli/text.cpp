// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include "elements/order.h"
#include "io/numbers.h"
#include "ranks.h"
#include "runtime/text.h"

#include <langinfo.h>
#include <masu/io.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace masu::cli {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n\t") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string json_number(double value, Dtype dtype) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return io::format_number(value, dtype);
}

std::uint64_t bits_of(const ArrayView& data, std::uint64_t i) {
  return dispatch(data.dtype, [&]<class T>(TypeTag<T>) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const T*>(data.data) + i, sizeof(T));
    return bits;
  });
}

std::uint64_t bits_of(const SumResult& found, std::uint64_t row) {
  if (found.dtype() == Dtype::i64) return static_cast<std::uint64_t>(found.signed_integer(row));
  if (found.dtype() == Dtype::u64) return found.unsigned_integer(row);
  return bits_of(found.value(row), found.dtype());
}

std::uint64_t bits_of(double value, Dtype dtype) {
  return bits_rounded_to(dtype, value);
}

double number_at(const ArrayView& data, std::uint64_t i) {
  return dispatch(data.dtype, [&]<class T>(TypeTag<T>) -> double {
    T value;
    std::memcpy(&value, static_cast<const char*>(data.data) + i * sizeof(T), sizeof(T));
    return to_f64(value);
  });
}

bool is_nan(const ArrayView& data, std::uint64_t i) {
  return is_float(data.dtype) && std::isnan(number_at(data, i));
}

namespace {
std::optional<int> table_digits;  // --digits
}

std::string element_text(const ArrayView& array, std::uint64_t index) {
  return dispatch(array.dtype, [&]<class T>(TypeTag<T>) {
    std::array<char, io::number_room> text{};
    return std::string(text.data(), io::put_number(text.data(), text.size(), static_cast<const T*>(array.data)[index]));
  });
}

std::string value_text(const ArrayView& array, std::uint64_t index, const io::ValueNames* names) {
  if (names == nullptr) return element_text(array, index);
  if (is_float(array.dtype)) return (*names)(static_cast<std::int64_t>(std::floor(number_at(array, index))));
  return (*names)(static_cast<std::int64_t>(bits_of(array, index)));
}

std::string_view type_name(const io::SourceInfo& info) {
  if (!info.names) return to_string(info.dtype);
  return info.names->kind() == io::ValueNames::Kind::texts ? "text" : "instant";
}

void set_table_digits(int digits) {
  table_digits = digits;
}

std::string table_number(double value, int usual, Dtype dtype) {
  const int digits = table_digits.value_or(usual);
  if (digits == 0 || !std::isfinite(value)) return io::format_number(value, dtype);
  std::string text = fmt::format("{:.{}g}", value, digits);
  const double shown = std::strtod(text.c_str(), nullptr);
  return shown == std::floor(shown) ? io::format_number(shown) : text;
}

std::string table_element(const ArrayView& array, std::uint64_t index) {
  if (!table_digits || !is_float(array.dtype)) return element_text(array, index);
  return table_number(number_at(array, index), 0, array.dtype);
}

std::string bare(std::string value) {
  std::erase(value, '"');
  return value;
}

std::string json_of_text(std::string text) {
  if (text == "nan") return "\"NaN\"";
  if (text == "inf") return "\"Infinity\"";
  if (text == "-inf") return "\"-Infinity\"";
  return text;
}

std::string json_element(const ArrayView& array, std::uint64_t index, const io::ValueNames* names) {
  if (names != nullptr) return json_string(value_text(array, index, names));
  return json_of_text(element_text(array, index));
}

bool is_terminal(int descriptor) {
  return ranks().has_terminal() && isatty(descriptor) == 1;
}

unsigned output_width() {
  constexpr unsigned widest = 1000;
  winsize size{};
  if (ranks().has_terminal() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::min<unsigned>(size.ws_col, widest);
  if (const char* text = std::getenv("COLUMNS")) {
    unsigned columns = 0;
    const char* end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, columns);
    if (error == std::errc::result_out_of_range && rest == end && *text != '-') return widest;
    if (rest == end && columns > 0) return std::min(columns, widest);
  }
  return 80;
}

bool block_characters() {
  const char* const term = std::getenv("TERM");
  const std::string_view name = term == nullptr ? "" : term;
  // Only the character type of the user's locale: numbers must keep their point.
  static const bool utf8 = std::setlocale(LC_CTYPE, "") != nullptr && std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  return utf8 && !(is_terminal(STDOUT_FILENO) && (name == "dumb" || name == "linux"));
}

bool colours() {
  const char* const term = std::getenv("TERM");
  const char* const none = std::getenv("NO_COLOR");
  return is_terminal(STDOUT_FILENO) && term != nullptr && *term != '\0' && std::string_view(term) != "dumb" &&
         (none == nullptr || *none == '\0');
}

std::string visible(std::string_view text, std::string_view kept) {
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
    const unsigned first = byte(i);
    std::size_t length = runtime::utf8_length(text, i);
    const bool control = (length == 1 && (first < ' ' || first == 0x7f)) || (first == 0xc2 && byte(i + 1) < 0xa0);
    if (length == 0 || (control && kept.find(text[i]) == std::string_view::npos)) {
      length = std::max<std::size_t>(length, 1);
      for (std::size_t k = 0; k < length; ++k) shown += fmt::format("\\x{:02x}", byte(i + k));
    } else {
      shown += text.substr(i, length);
    }
    i += length;
  }
  return shown;
}

namespace {

// The line of the terminal that all bars share.
struct BarLine {
  const Clock::time_point began = Clock::now();
  Clock::time_point drawn = began;
  std::atomic<bool> shown{false};
  void clear() {
    if (shown.exchange(false)) std::fputs("\r\033[K", stderr);
  }
};
BarLine& bar_line() {
  static BarLine line;
  return line;
}

}  // namespace

void print_text(std::string_view text) {
  bar_line().clear();
  io::OutputFile output("-");
  output.write(text);
  output.commit();
}

void note(std::string_view text, std::string_view kept) {
  bar_line().clear();
  std::fprintf(stderr, "%s\n", visible(text, kept).c_str());
}

Progress::Progress(const std::string& mode) : began_(Clock::now()) {
  if (mode != "auto" && mode != "always" && mode != "never") {
    usage_error("--progress takes auto, always or never, got '" + mode + "'");
  }
  (void)bar_line();
  at_once_ = mode == "always";
  enabled_ = at_once_ || (mode == "auto" && is_terminal(STDERR_FILENO));
}

Progress::~Progress() {
  finish();
}

void Progress::start(const std::string& what, std::optional<std::uint64_t> bytes) {
  what_ = what;
  total_ = bytes;
  done_ = 0;
  began_ = Clock::now();
}

void Progress::show(const std::string& what, std::uint64_t done, std::optional<std::uint64_t> bytes) {
  if (what != what_ || done < done_) start(what, bytes);
  total_ = bytes;
  done_ = done;
  if (!enabled_) return;
  const BarLine& line = bar_line();
  const auto now = Clock::now();
  const bool wait = line.shown ? now - line.drawn < std::chrono::milliseconds(100)
                               : !at_once_ && now - line.began < std::chrono::milliseconds(500);
  if (!wait) draw(now);
}

void Progress::draw(Clock::time_point now) const {
  bar_line().shown = true;
  bar_line().drawn = now;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double megabytes = static_cast<double>(total_.value_or(done_)) / 1e6;
  std::string line;
  if (total_ && *total_ > 0) {
    constexpr int width = 30;
    const double part = std::min(1.0, static_cast<double>(done_) / static_cast<double>(*total_));
    const int filled = static_cast<int>(part * width);
    line = fmt::format("{} [{:#<{}}{:.<{}}] {:.0f} % of {:.0f} MB", what_, "", filled, "", width - filled, part * 100,
                       megabytes);
    if (part > 0) line += fmt::format(", {:.0f} s left", std::ceil(seconds * (1 - part) / part));
  } else {
    line = fmt::format("{} {:.0f} MB, {:.0f} s", what_, megabytes, seconds);
  }
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  std::fflush(stderr);
}

void Progress::finish() {
  bar_line().clear();
}

std::string json_seconds(const Seconds& seconds) {
  return fmt::format(R"("seconds":{{"read":{},"transfer":{},"compute":{},"total":{}}})", json_number(seconds.read),
                     json_number(seconds.transfer), json_number(seconds.compute), json_number(seconds.total));
}

void note_times(const Seconds& seconds, std::uint64_t bytes) {
  const std::pair<const char*, double> rows[] = {{"reading", seconds.read},
                                                 {"transfer", seconds.transfer},
                                                 {"computing", seconds.compute},
                                                 {"total", seconds.total}};
  for (const auto& [what, took] : rows) {
    const double speed = static_cast<double>(bytes) / took / 1e9;
    note(fmt::format("{:<10} {:10.6f} s {} GB/s", what, took, took > 0 ? fmt::format("{:9.3f}", speed) : "        -"));
  }
}

}  // namespace masu::cli
