// SPDX-License-Identifier: Apache-2.0
// A number in text, as a value of a dtype or as what the text itself says it is.
#pragma once

#include <masu/dtype.h>

#include <cstdint>
#include <string_view>

namespace masu::io {

// Whether a text is a number, and whether the dtype holds it. A float holds what rounding does not make infinite; an
// integer type holds whole numbers of its range, in any notation.
enum class Fit { number, misfit, no_number };

template <class T>
Fit parse_number(std::string_view text, T& value);

// A number of a column whose dtype its numbers decide.
struct TextNumber {
  enum Kind { no_number, whole, decimal, beyond_f64, beyond_64_bits };
  Kind kind = no_number;
  bool negative = false;        // whole, also of -0
  std::uint64_t magnitude = 0;  // whole: at most 2^63 of negative ones
  double value = 0;             // decimal: what has a point, an exponent, or a name (nan, inf)
};
TextNumber parse_any_number(std::string_view text);

}  // namespace masu::io
