// SPDX-License-Identifier: Apache-2.0
/// @file
/// Floats of 8 bits, which masu reads: each byte is the code of a number. They are no dtype; ConvertOptions::float8
/// makes elements of any dtype of them, and float8_histogram.h counts them.
#pragma once

#include <masu/version.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace masu {

/// The format of a code, of the highest bit down: sign, exponent, fraction.
enum class Float8 : std::uint8_t {
  e4m3fn,  ///< 4 bits of exponent, 3 of fraction; no infinity; 0x7f and 0xff are NaN; at most 448
  e5m2,    ///< 5 bits of exponent, 2 of fraction: the upper half of an f16; at most 57344
};
/// "f8e4m3fn", "f8e5m2".
MASU_EXPORT std::string_view to_string(Float8 format) noexcept;
/// The format of that name; also "float8_e4m3fn" and "float8_e5m2". Throws invalid_argument for any other text.
MASU_EXPORT Float8 float8_from_name(std::string_view name);
/// The numbers of all codes. f32 holds each of them exactly, and so does f16.
MASU_EXPORT std::span<const float, 256> float8_values(Float8 format) noexcept;

}  // namespace masu
