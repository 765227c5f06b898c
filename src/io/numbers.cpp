// SPDX-License-Identifier: Apache-2.0
// Numbers as text: sizes with units, and the shortest decimal form.
#include "io/numbers.h"

#include "elements/each_type.h"
#include "elements/stored_float.h"
#include "io/quick_number.h"
#include "io/reader.h"

#include <masu/floating_point.h>
#include <masu/io.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// The double of the shortest decimal that rounds to the same stored float.
template <class T>
double shortest_double(T stored) noexcept {
  const double exact = to_double(stored);
  if (!std::isfinite(exact)) return exact;
  for (int digits = 0; digits < 5; ++digits) {
    std::array<char, 32> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), exact, std::chars_format::scientific, digits);
    double value = 0;
    std::from_chars(text.data(), end.ptr, value);
    if (rounded_to<T>(value) == stored) return value;
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
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (rest.size() > 1 && rest.front() == 'e') {  // 1e6
    unsigned exponent = 0;
    const auto [last, wrong] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), exponent);
    rest.remove_prefix(static_cast<std::size_t>(last - rest.data()));
    exponent = value == 0 ? 0 : std::min(exponent, 20U);  // ten times more than 64 bits hold
    for (; wrong == std::errc() && rest.empty() && exponent > 0; --exponent) {
      const auto product = checked_product(value, 10);
      if (!product) rest = text;  // no unit
      if (!product) break;
      value = *product;
    }
    if (wrong != std::errc() || !rest.empty()) rest = text;
  } else if (rest.ends_with('B')) {
    rest.remove_suffix(1);
  }
  for (const auto& [unit, factor] : units) {
    if (error != std::errc() || rest != unit) continue;
    if (const auto product = checked_product(value, factor)) return *product;
    break;
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("size: must be a whole number below 2^63, as 4096, 1e6, 10M or "
                                                       "64Ki (with k M G T Ki Mi Gi Ti, and B after that), got '{}'",
                                                       printable(text)));
}

template <class T>
requires(is_float(dtype_of<T>)) std::size_t put_number(char* target, std::size_t room, T value)
noexcept {
  if constexpr (is_stored<T>) return put_double(target, room, shortest_double(value));
  else if (std::isnan(value)) return put_double(target, room, static_cast<double>(value));
  else return shortest(target, room, value);
}
#define MASU_INSTANTIATE(name, T) template std::size_t put_number(char* target, std::size_t room, T value) noexcept;
MASU_EACH_FLOAT(MASU_INSTANTIATE)
#undef MASU_INSTANTIATE

std::string format_number(double value, Dtype dtype) {
  const FloatingPointScope usual;
  std::array<char, number_room> text{};
  std::size_t length = 0;
  dispatch(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (is_float(dtype_of<T>)) length = put_number(text.data(), text.size(), rounded_to<T>(value));
    else if (std::trunc(value) == value && std::fabs(value) < 0x1p63)
      length = shortest(text.data(), text.size(), static_cast<std::int64_t>(value));
    else if (std::trunc(value) == value && value > 0 && value < 0x1p64)
      length = shortest(text.data(), text.size(), static_cast<std::uint64_t>(value));
    else length = put_number(text.data(), text.size(), value);
  });
  return {text.data(), length};
}

namespace {

// digits * 10^exponent, without zeros at either end of the digits.
struct Decimal {
  std::string digits;
  std::int64_t exponent = 0;
};

// The decimal of a text that from_chars reads as a finite float, or would if it were in range.
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

constexpr std::size_t longest_quick = 24;  // characters of a number that is tried the quick way

bool only_digits(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

template <class T>
Fit parse_number(std::string_view text, T& value) {
  text = without_plus(text);
  if constexpr (is_stored<T>) {
    double wide = 0;
    const Fit fit = parse_float(text, wide);
    if (fit != Fit::number) return fit;
    value = rounded_to<T>(wide);
    return std::isfinite(wide) && !std::isfinite(to_double(value)) ? Fit::misfit : fit;
  } else if constexpr (std::is_floating_point_v<T>) {
    return parse_float(text, value);
  } else {
    return parse_integer(text, value);
  }
}

#define MASU_INSTANTIATE(name, T) template Fit parse_number(std::string_view text, T& value);
MASU_EACH_INTEGER(MASU_INSTANTIATE)
MASU_EACH_FLOAT(MASU_INSTANTIATE)
#undef MASU_INSTANTIATE

namespace {
// Digits, a point, and the first letters of inf and nan.
constexpr bool may_begin_number(char c) noexcept {
  return (c >= '0' && c <= '9') || c == '.' || c == 'i' || c == 'I' || c == 'n' || c == 'N';
}

// The common forms of a number, where Reader::excess bytes after it may be looked at.
bool take_quick(std::string_view text, TextNumber& number) {
  QuickNumber quick;
  if (take_quick_number(text.data(), '.', quick) != text.data() + text.size()) return false;
  if (quick.whole && quick.negative && quick.magnitude > std::uint64_t{1} << 63) return false;
  number = {quick.whole ? TextNumber::whole : TextNumber::decimal, quick.negative, quick.magnitude, quick.value};
  return true;
}
bool take_copied(std::string_view text, TextNumber& number) {
  std::array<char, longest_quick + 1 + Reader::excess> copy{};
  std::copy(text.begin(), text.end(), copy.begin());
  return take_quick({copy.data(), text.size()}, number);
}

}  // namespace

TextNumber parse_any_number(std::string_view text, bool with_excess) {
  text = without_plus(text);
  TextNumber number;
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (text.size() == first || !may_begin_number(text[first])) return number;
  if (text.size() <= longest_quick && (with_excess ? take_quick(text, number) : take_copied(text, number)))
    return number;
  number.negative = text.starts_with('-');
  const std::string_view digits = text.substr(number.negative ? 1 : 0);
  if (only_digits(digits)) {
    const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), number.magnitude).ec;
    const bool fits = error == std::errc() && !(number.negative && number.magnitude > std::uint64_t{1} << 63);
    number.kind = fits ? TextNumber::whole : TextNumber::beyond_64_bits;
    if (!fits && parse_float(text, number.value) == Fit::number) {  // f64 may hold it as it is
      const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size());
      if (fmt::format("{:.0f}", std::fabs(number.value)) == digits.substr(first)) number.kind = TextNumber::decimal;
    }
    return number;
  }
  const Fit fit = parse_float(text, number.value);
  if (fit == Fit::number) number.kind = TextNumber::decimal;
  if (fit == Fit::misfit) number.kind = TextNumber::beyond_f64;
  return number;
}

}  // namespace masu::io
