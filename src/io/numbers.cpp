// SPDX-License-Identifier: Apache-2.0
// Numbers as text: sizes with units, and the shortest decimal form.
#include "io/numbers.h"

#include "io/reader.h"
#include "runtime/half.h"

#include <masu/floating_point.h>
#include <masu/io.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace masu::io {

namespace {

template <class T>
std::size_t shortest(char* target, std::size_t room, T value) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    // Whole numbers have no exponent, but beyond 2^53, where no float tells one from the next, they always have: so a
    // text of floats is read as floats again.
    constexpr auto largest = static_cast<T>(0x1p53);
    const bool whole = std::trunc(value) == value && std::fabs(value) <= largest;
    const bool large = std::isfinite(value) && std::fabs(value) > largest;
    if (whole || large) {
      const auto form = whole ? std::chars_format::fixed : std::chars_format::scientific;
      return static_cast<std::size_t>(std::to_chars(target, target + room, value, form).ptr - target);
    }
  }
  return static_cast<std::size_t>(std::to_chars(target, target + room, value).ptr - target);
}

std::size_t put_double(char* target, std::size_t room, double value) noexcept {
  // A NaN has no sign to speak of.
  return shortest(target, room, std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
}

// The double of the shortest decimal that rounds to the same f16.
double short_half(Half half) noexcept {
  const double exact = runtime::to_double(half);
  if (!std::isfinite(exact)) return exact;
  for (int digits = 0; digits < 5; ++digits) {
    std::array<char, 32> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), exact, std::chars_format::scientific, digits);
    double value = 0;
    std::from_chars(text.data(), end.ptr, value);
    if (runtime::to_half(value) == half) return value;
  }
  return exact;
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
  const FloatingPointScope usual;
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 9> units = {{{"", 1},
                                                                                {"Ki", std::uint64_t{1} << 10},
                                                                                {"Mi", std::uint64_t{1} << 20},
                                                                                {"Gi", std::uint64_t{1} << 30},
                                                                                {"Ti", std::uint64_t{1} << 40},
                                                                                {"k", 1000},
                                                                                {"M", 1000000},
                                                                                {"G", 1000000000},
                                                                                {"T", 1000000000000}}};
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [unit, factor] : units) {
    if (error != std::errc() || rest != unit) continue;
    if (const auto product = checked_product(value, factor)) return *product;
    break;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("size: must be a whole number below 2^63, with k M G T or Ki Mi Gi Ti behind it, got '{}'",
                          printable(text)));
}

std::size_t put_number(char* target, std::size_t room, Half value) noexcept {
  return put_double(target, room, short_half(value));
}
std::size_t put_number(char* target, std::size_t room, float value) noexcept {
  if (std::isnan(value)) return put_double(target, room, static_cast<double>(value));
  return shortest(target, room, value);
}
std::size_t put_number(char* target, std::size_t room, double value) noexcept {
  return put_double(target, room, value);
}

std::string format_number(double value, Dtype dtype) {
  const FloatingPointScope usual;
  std::array<char, number_room> text{};
  std::size_t length = 0;
  if (dtype == Dtype::f16) length = put_number(text.data(), text.size(), runtime::to_half(value));
  else if (dtype == Dtype::f32) length = put_number(text.data(), text.size(), static_cast<float>(value));
  else if (dtype != Dtype::f64 && std::trunc(value) == value && std::fabs(value) < 0x1p63)
    length = shortest(text.data(), text.size(), static_cast<std::int64_t>(value));
  else if (dtype != Dtype::f64 && std::trunc(value) == value && value > 0 && value < 0x1p64)
    length = shortest(text.data(), text.size(), static_cast<std::uint64_t>(value));
  else length = put_number(text.data(), text.size(), value);
  return {text.data(), length};
}

namespace {

// digits * 10^exponent, without zeros at either end of the digits.
struct Decimal {
  std::string digits;
  std::int64_t exponent = 0;
};

// Of a text that from_chars reads as a finite float, or would if it were in range.
Decimal decimal_of(std::string_view text) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  if (text.starts_with('-')) text.remove_prefix(1);
  Decimal result;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    if (point) --result.exponent;
    if (text[i] != '0' || !result.digits.empty()) result.digits += text[i];
  }
  if (i < text.size()) {
    std::string_view rest = text.substr(i + 1);
    if (rest.starts_with('+')) rest.remove_prefix(1);
    std::int64_t exponent = 0;
    const bool beyond =
        std::from_chars(rest.data(), rest.data() + rest.size(), exponent).ec == std::errc::result_out_of_range;
    if (beyond) exponent = rest.starts_with('-') ? -huge : huge;
    result.exponent += std::clamp(exponent, -huge, huge);
  }
  const std::size_t end = result.digits.find_last_not_of('0') + 1;
  result.exponent += static_cast<std::int64_t>(result.digits.size() - end);
  result.digits.resize(end);
  return result;
}

std::optional<std::uint64_t> whole_magnitude(const Decimal& decimal) {
  if (decimal.digits.empty()) return 0;
  if (decimal.exponent < 0 || decimal.exponent > 20) return std::nullopt;
  const std::string all = decimal.digits + std::string(static_cast<std::size_t>(decimal.exponent), '0');
  std::uint64_t value = 0;
  if (std::from_chars(all.data(), all.data() + all.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

std::string_view without_plus(std::string_view text) noexcept {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

template <class T>
Fit parse_float(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return Fit::no_number;
  if (error == std::errc::result_out_of_range) {
    const Decimal decimal = decimal_of(text);
    if (!decimal.digits.empty() && decimal.exponent + static_cast<std::int64_t>(decimal.digits.size()) > 0)
      return Fit::misfit;
    value = text.starts_with('-') ? -T{0} : T{0};
  } else if (error != std::errc()) {
    return Fit::no_number;
  } else if (std::isnan(value)) {
    value = std::numeric_limits<T>::quiet_NaN();
  }
  return Fit::number;
}

template <class T>
Fit parse_integer(std::string_view text, T& value) {
  const char* const stop = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), stop, value);
  if (end == stop && error == std::errc()) return Fit::number;
  double wide = 0;
  if (parse_float(text, wide) == Fit::no_number) return Fit::no_number;
  if (!std::isfinite(wide)) return Fit::misfit;
  const std::optional<std::uint64_t> magnitude = whole_magnitude(decimal_of(text));
  const bool negative = text.starts_with('-') && magnitude != 0;
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  const std::uint64_t limit = !negative ? most : std::is_signed_v<T> ? most + 1 : 0;
  if (!magnitude || *magnitude > limit) return Fit::misfit;
  value = static_cast<T>(negative ? std::uint64_t{0} - *magnitude : *magnitude);
  return Fit::number;
}

bool only_digits(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

template <class T>
Fit parse_number(std::string_view text, T& value) {
  text = without_plus(text);
  if constexpr (std::is_same_v<T, Half>) {
    double wide = 0;
    const Fit fit = parse_float(text, wide);
    if (fit != Fit::number) return fit;
    value = runtime::to_half(wide);
    return std::isfinite(wide) && !std::isfinite(runtime::to_double(value)) ? Fit::misfit : fit;
  } else if constexpr (std::is_floating_point_v<T>) {
    return parse_float(text, value);
  } else {
    return parse_integer(text, value);
  }
}

template Fit parse_number(std::string_view text, std::uint8_t& value);
template Fit parse_number(std::string_view text, std::int8_t& value);
template Fit parse_number(std::string_view text, std::uint16_t& value);
template Fit parse_number(std::string_view text, std::int16_t& value);
template Fit parse_number(std::string_view text, std::uint32_t& value);
template Fit parse_number(std::string_view text, std::int32_t& value);
template Fit parse_number(std::string_view text, std::uint64_t& value);
template Fit parse_number(std::string_view text, std::int64_t& value);
template Fit parse_number(std::string_view text, Half& value);
template Fit parse_number(std::string_view text, float& value);
template Fit parse_number(std::string_view text, double& value);

TextNumber parse_any_number(std::string_view text) {
  text = without_plus(text);
  TextNumber number;
  number.negative = text.starts_with('-');
  const std::string_view digits = text.substr(number.negative ? 1 : 0);
  if (only_digits(digits)) {
    const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), number.magnitude).ec;
    const bool fits = error == std::errc() && !(number.negative && number.magnitude > std::uint64_t{1} << 63);
    number.kind = fits ? TextNumber::whole : TextNumber::beyond_64_bits;
    return number;
  }
  const Fit fit = parse_float(text, number.value);
  if (fit == Fit::number) number.kind = TextNumber::decimal;
  if (fit == Fit::misfit) number.kind = TextNumber::beyond_f64;
  return number;
}

namespace {

constexpr std::size_t longest_entry = std::size_t{1} << 15;
constexpr std::size_t most_names = 1 << 16;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

}  // namespace

TextFields::TextFields(Reader reader, const SourceOptions& options)
    : reader_(std::move(reader)), comment_(options.comment), header_(options.header) {
  if (options.delimiter.size() > 1 || options.delimiter == "\n" || options.delimiter == "\"")
    throw Error(ErrorCode::invalid_argument,
                fmt::format("text: the delimiter must be one character, got '{}'", printable(options.delimiter)));
  if (comment_.size() > 255 || comment_.find('\n') != std::string::npos)
    throw Error(ErrorCode::invalid_argument, "text: the comment mark must be at most 255 characters of one line");
  for (const char c : std::string_view(" \t\r\v\f")) classes_[static_cast<unsigned char>(c)] = blank;
  classes_['\n'] = newline;
  if (options.delimiter.empty()) {
    classes_[','] = classes_[';'] = delimiter;
  } else {
    blanks_split_ = false;
    classes_[static_cast<unsigned char>(options.delimiter[0])] = delimiter;
  }
  if (window(byte_order_mark.size()).starts_with(byte_order_mark)) reader_.consume(byte_order_mark.size());
}

std::string_view TextFields::window(std::size_t least) {
  const auto bytes = reader_.peek(least);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void TextFields::go_to(const Mark& mark) {
  reader_.seek(mark.position);
  line_ = mark.line;
  index_ = 0;
  filled_ = false;
}

void TextFields::go_to_line_at(std::uint64_t position) {
  if (position <= reader_.position()) return;
  reader_.seek(position - 1);
  skip_to_line_end();
  if (!window(1).empty()) reader_.consume(1);
}

std::uint64_t TextFields::lines_before(std::uint64_t position) {
  reader_.seek(0);
  std::uint64_t lines = 0;
  while (reader_.position() < position) {
    std::string_view text = window(1);
    if (text.empty()) break;
    text = text.substr(0, std::min<std::uint64_t>(text.size(), position - reader_.position()));
    lines += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    reader_.consume(text.size());
  }
  return lines;
}

void TextFields::skip_to_line_end() {
  for (;;) {
    const std::string_view text = window(1);
    const std::size_t stop = text.find('\n');
    reader_.consume(std::min(stop, text.size()));
    if (stop != std::string_view::npos || text.empty()) return;
  }
}

Field TextFields::line_ended() {
  Field field;
  field.kind = Field::line_end;
  field.line = line_;
  field.index = std::exchange(index_, 0);
  filled_ = false;
  return field;
}

Field TextFields::next() {
  for (;;) {
    const std::string_view text = window(longest_entry);
    if (text.empty()) {
      if (index_ != 0) return line_ended();  // a last line without its end
      return {};
    }
    std::size_t blanks = 0;
    while (blanks < text.size() && class_of(text[blanks]) == blank) ++blanks;
    if (blanks != 0) {
      reader_.consume(blanks);
      continue;
    }
    if (comment_at(text)) {
      skip_to_line_end();
      continue;
    }
    const Class kind = class_of(text[0]);
    if (kind == newline) {
      reader_.consume(1);
      const Field field = line_ended();
      ++line_;
      return field;
    }
    if (kind == normal) return take_entry(text);
    reader_.consume(1);
    if (!std::exchange(filled_, false)) {
      Field field;
      field.kind = Field::entry;
      field.line = line_;
      field.index = index_++;
      return field;
    }
  }
}

// An entry begins at text[0], which is no blank, delimiter, line end or comment.
Field TextFields::take_entry(std::string_view text) {
  std::size_t begin = 0;
  std::size_t end = 0;   // of the entry
  std::size_t stop = 0;  // where reading goes on
  const std::size_t quote =
      text[0] == '"' ? text.substr(0, longest_entry).find_first_of("\"\n", 1) : std::string_view::npos;
  if (quote != std::string_view::npos && text[quote] == '"') {
    begin = 1;
    end = quote;
    stop = quote + 1;
  } else {
    const char comment = comment_.empty() ? '\n' : comment_[0];
    while (stop < text.size()) {
      const Class kind = class_of(text[stop]);
      if (kind == newline || kind == delimiter || (kind == blank && blanks_split_)) break;
      if (text[stop] == comment && comment_at(text.substr(stop))) break;
      if (kind == normal) end = stop + 1;
      ++stop;
    }
  }
  Field field;
  field.kind = Field::entry;
  field.line = line_;
  field.index = index_++;
  field.text = text.substr(begin, end - begin);
  field.too_long = stop >= longest_entry;
  filled_ = true;
  reader_.consume(stop);
  if (field.too_long) {
    // What is left of it is passed over; its text would move.
    field.text = "(a very long one)";
    for (;;) {
      const std::string_view rest = window(longest_entry);
      std::size_t passed = 0;
      while (passed < rest.size()) {
        const Class kind = class_of(rest[passed]);
        if (kind == newline || kind == delimiter || (kind == blank && blanks_split_)) break;
        ++passed;
      }
      reader_.consume(passed);
      if (passed < rest.size() || rest.empty()) break;
    }
  }
  return field;
}

void TextFields::read_header() {
  for (;;) {
    const Field field = next();
    if (field.kind == Field::end) break;
    if (field.kind == Field::line_end && field.index != 0) break;
    if (field.kind == Field::entry && names_.size() < most_names) names_.emplace_back(field.text);
  }
}

std::uint64_t TextFields::find_column(const std::string& column) const {
  const auto found = std::find(names_.begin(), names_.end(), column);
  if (found != names_.end()) return static_cast<std::uint64_t>(found - names_.begin());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(column.data(), column.data() + column.size(), number);
  if (error == std::errc() && end == column.data() + column.size()) {
    if (number >= 1) return number - 1;
    throw Error(ErrorCode::invalid_argument, "text: columns are counted from 1, got 0");
  }
  if (!header_)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("text: a column by name needs a header line, got '{}'", printable(column)));
  std::string known;
  for (std::size_t i = 0; i < names_.size() && i < 20; ++i) known += (i == 0 ? "" : ", ") + printable(names_[i]);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: no column is named '{}'; there are: {}", reader_.name(), printable(column), known));
}

}  // namespace masu::io
