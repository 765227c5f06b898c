// SPDX-License-Identifier: Apache-2.0
// What the codes of floats of 8 bits are called, and the numbers they stand for.
#include <masu/error.h>
#include <masu/float8.h>

#include "convert/convert_plan.h"

#include <fmt/format.h>

#include <array>
#include <bit>

namespace masu {

std::string_view to_string(Float8 format) noexcept {
  return format == Float8::e4m3fn ? "f8e4m3fn" : "f8e5m2";
}

Float8 float8_from_name(std::string_view name) {
  if (name == "f8e4m3fn" || name == "float8_e4m3fn") return Float8::e4m3fn;
  if (name == "f8e5m2" || name == "float8_e5m2") return Float8::e5m2;
  throw Error(ErrorCode::invalid_argument, fmt::format("float8: must be one of f8e4m3fn, f8e5m2, got \"{}\"", name));
}

std::span<const float, 256> float8_values(Float8 format) noexcept {
  static const auto tables = [] {
    std::array<std::array<float, 256>, 2> made{};
    for (const Float8 each : {Float8::e4m3fn, Float8::e5m2}) {
      const ConvertRule rule = make_rule(Dtype::u8, Dtype::f32, Overflow::wrap, Rounding::nearest_even, each);
      bool bad = false;
      for (unsigned code = 0; code < 256; ++code) {
        const auto bits = static_cast<std::uint32_t>(convert_bits(rule, code, bad));
        made[static_cast<std::size_t>(each)][code] = std::bit_cast<float>(bits);
      }
    }
    return made;
  }();
  return tables[static_cast<std::size_t>(format)];
}

}  // namespace masu
