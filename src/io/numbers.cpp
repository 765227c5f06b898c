// SPDX-License-Identifier: Apache-2.0
// Numbers as text: sizes with units, and the shortest decimal form.
#include <masu/io.h>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "io/half.h"
#include "io/numbers.h"
#include "io/reader.h"

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
  const double exact = to_double(half);
  if (!std::isfinite(exact)) return exact;
  for (int digits = 0; digits < 5; ++digits) {
    std::array<char, 32> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), exact, std::chars_format::scientific, digits);
    double value = 0;
    std::from_chars(text.data(), end.ptr, value);
    if (to_half(value) == half) return value;
  }
  return exact;
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
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
  std::array<char, number_room> text{};
  std::size_t length = 0;
  if (dtype == Dtype::f16) length = put_number(text.data(), text.size(), to_half(value));
  else if (dtype == Dtype::f32) length = put_number(text.data(), text.size(), static_cast<float>(value));
  else if (dtype != Dtype::f64 && std::trunc(value) == value && std::fabs(value) < 0x1p63)
    length = shortest(text.data(), text.size(), static_cast<std::int64_t>(value));
  else if (dtype != Dtype::f64 && std::trunc(value) == value && value > 0 && value < 0x1p64)
    length = shortest(text.data(), text.size(), static_cast<std::uint64_t>(value));
  else length = put_number(text.data(), text.size(), value);
  return {text.data(), length};
}

}  // namespace masu::io
