// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_value.h"

#include "errors.h"
#include "io/half.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace masu::cli {
namespace {

constexpr std::array<unsigned, 5> widths{2, 3, 4, 8, 16};

std::string name_of(ValueType type) {
  return type.width == 1 ? std::string(to_string(type.dtype)) : fmt::format("{}x{}", to_string(type.dtype), type.width);
}

template <class T>
[[noreturn]] void not_of(std::string_view text) {
  const std::string_view dtype = to_string(dtype_of<T>);
  if constexpr (std::integral<T>) {
    using Limits = std::numeric_limits<T>;
    usage_error(fmt::format("--arg: {} is a whole number from {} to {}, got '{}'", dtype, +Limits::min(),
                            +Limits::max(), text));
  }
  usage_error(fmt::format("--arg: {} is a number that fits it, inf or nan, got '{}'", dtype, text));
}

// Its magnitude; nothing for what is no whole number below 2^64.
std::optional<std::uint64_t> magnitude(std::string_view digits) {
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  const std::string_view rest = digits.substr(hexadecimal ? 2 : 0);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, hexadecimal ? 16 : 10);
  if (error == std::errc() && end == rest.data() + rest.size()) return value;
  if (hexadecimal || error != std::errc()) return std::nullopt;
  try {
    return io::parse_size(digits);
  } catch (const Error&) {
    return std::nullopt;
  }
}

template <std::integral T>
T parse_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::optional<std::uint64_t> value = magnitude(text.substr(negative || text.starts_with('+') ? 1 : 0));
  if (!value) not_of<T>(text);
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  if (!negative) {
    if (*value > most) not_of<T>(text);
    return static_cast<T>(*value);
  }
  if (*value > (std::is_signed_v<T> ? most + 1 : 0)) not_of<T>(text);
  return static_cast<T>(std::uint64_t{0} - *value);
}

// Rounded once, by the C library; what is too large gives infinity, what is too small zero.
void read_float(const char* text, char** end, float& value) {
  value = std::strtof(text, end);
}
void read_float(const char* text, char** end, double& value) {
  value = std::strtod(text, end);
}

template <class T>
requires(std::floating_point<T> || std::same_as<T, Half>) T parse_number(std::string_view text) {
  const std::string copy(text);
  const char first = copy[copy.starts_with('-') || copy.starts_with('+') ? 1 : 0];
  const bool number = (first >= '0' && first <= '9') || first == '.';
  if (!number && first != 'i' && first != 'I' && first != 'n' && first != 'N') not_of<T>(text);
  std::conditional_t<std::floating_point<T>, T, double> value = 0;
  char* end = nullptr;
  read_float(copy.c_str(), &end, value);
  if (end != copy.c_str() + copy.size()) not_of<T>(text);
  if constexpr (std::floating_point<T>) {
    if (number && std::isinf(value)) not_of<T>(text);
    return value;
  } else {
    const Half half = io::to_half(value);
    if (number && std::isinf(io::to_double(half))) not_of<T>(text);
    return half;
  }
}

}  // namespace

std::optional<ValueType> value_type(std::string_view name) {
  const std::size_t x = std::min(name.find('x'), name.size());
  const std::string_view dtype = name.substr(0, x);
  ValueType type;
  if (dtype == "bool") {
    type.dtype = Dtype::u8;
  } else {
    int found = 0;
    while (found <= static_cast<int>(Dtype::f64) && dtype != to_string(static_cast<Dtype>(found))) ++found;
    if (found > static_cast<int>(Dtype::f64)) return std::nullopt;
    type.dtype = static_cast<Dtype>(found);
  }
  if (x == name.size()) return type;
  const std::string_view digits = name.substr(x + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), type.width);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      std::find(widths.begin(), widths.end(), type.width) == widths.end()) {
    usage_error(fmt::format("--arg: vectors have 2, 3, 4, 8 or 16 elements (f32x4), got '{}'", name));
  }
  return type;
}

KernelArgument parse_value(ValueType type, std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    parts.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (parts.size() != type.width) {
    usage_error(fmt::format("--arg: {} takes {} value{}, got {} in '{}'", name_of(type), type.width,
                            type.width == 1 ? "" : "s", parts.size(), text));
  }
  return dispatch(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> values;
    for (const std::string_view part : parts) values.push_back(parse_number<T>(part));
    return KernelArgument::value({type.dtype, static_cast<std::uint8_t>(type.width)}, values.data());
  });
}

}  // namespace masu::cli
