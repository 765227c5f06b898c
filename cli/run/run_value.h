// SPDX-License-Identifier: Apache-2.0
// Values of kernel arguments as text: "f32" and "0.5", "u8x4" and "1,2,3,0xff".
#pragma once

#include <masu/dtype.h>
#include <masu/program.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace masu::cli {

// A type as --arg names it: a dtype, and how many of them (1, or a vector of 2, 3, 4, 8 or 16).
struct ValueType {
  Dtype dtype = Dtype::u8;
  unsigned width = 1;
};
// Nothing where the text names no type. A dtype with another width is wrong usage.
std::optional<ValueType> value_type(std::string_view name);

// A kernel argument from "1" or "1,2,3,4". Integers in decimal, in hexadecimal with 0x, or with a unit as sizes have
// (64Ki); floats as C reads them (1e-3, 0x1p-4, inf, nan). Wrong usage where the text is none, or too large for the
// type.
KernelArgument parse_value(ValueType type, std::string_view text);

}  // namespace masu::cli
