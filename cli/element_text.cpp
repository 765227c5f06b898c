// SPDX-License-Identifier: Apache-2.0
#include "element_text.h"

#include "io/numbers.h"
#include "runtime/half.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <type_traits>

namespace masu::cli {

std::uint64_t bits_of(const ArrayView& data, std::uint64_t i) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
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
  if (dtype == Dtype::f64) return std::bit_cast<std::uint64_t>(value);
  if (dtype == Dtype::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return runtime::to_half(value).bits;
}

double number_at(const ArrayView& data, std::uint64_t i) {
  return dispatch(data.dtype, [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, static_cast<const char*>(data.data) + i * sizeof(T), sizeof(T));
    if constexpr (std::is_same_v<T, Half>) return runtime::to_double(value);
    else return static_cast<double>(value);
  });
}

bool is_nan(const ArrayView& data, std::uint64_t i) {
  return is_float(data.dtype) && std::isnan(number_at(data, i));
}

namespace {
std::optional<int> table_digits;  // --digits
}

std::string element_text(const ArrayView& array, std::uint64_t index) {
  return dispatch(array.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::array<char, io::number_room> text{};
    return std::string(text.data(), io::put_number(text.data(), text.size(), static_cast<const T*>(array.data)[index]));
  });
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
  return dispatch(array.dtype, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    const T value = static_cast<const T*>(array.data)[index];
    if constexpr (std::is_floating_point_v<T>) return table_number(value, 0, array.dtype);
    else if constexpr (std::is_same_v<T, Half>) return table_number(runtime::to_double(value), 0, array.dtype);
    else return element_text(array, index);
  });
}

std::string json_of_text(std::string text) {
  if (text == "nan") return "\"NaN\"";
  if (text == "inf") return "\"Infinity\"";
  if (text == "-inf") return "\"-Infinity\"";
  return text;
}

std::string json_element(const ArrayView& array, std::uint64_t index) {
  return json_of_text(element_text(array, index));
}

}  // namespace masu::cli
