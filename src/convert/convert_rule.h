// SPDX-License-Identifier: Apache-2.0
// What a conversion does with each value, as numbers: the kernels get them as defines, and the CPU's plain way reads
// them.
#pragma once

#include <masu/convert.h>

#include <cstdint>

namespace masu {

// A dtype's bits. Of floats: `fraction` stored bits behind the point.
struct Format {
  unsigned bits = 0;
  bool is_float = false;
  bool is_signed = false;
  unsigned fraction = 0;

  [[nodiscard]] std::uint64_t sign() const noexcept { return std::uint64_t{1} << (bits - 1); }
  [[nodiscard]] unsigned exponents() const noexcept { return (1U << (bits - 1 - fraction)) - 1; }  // that of infinity
  [[nodiscard]] int bias() const noexcept { return static_cast<int>(exponents() >> 1); }
  [[nodiscard]] std::uint64_t infinity() const noexcept { return std::uint64_t{exponents()} << fraction; }
  [[nodiscard]] std::uint64_t mask() const noexcept { return (std::uint64_t{1} << fraction) - 1; }
  // Of integers: the greatest, and how far the least is below zero.
  [[nodiscard]] std::uint64_t most() const noexcept { return ~std::uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0)); }
  [[nodiscard]] std::uint64_t below() const noexcept { return is_signed ? sign() : 0; }
};
Format format_of(Dtype dtype) noexcept;

struct ConvertRule {
  Dtype source_dtype = Dtype::u8;
  Dtype target_dtype = Dtype::u8;
  Format source;
  Format target;
  Overflow overflow = Overflow::error;
  Rounding rounding = Rounding::nearest_even;
  bool negate = false;  // floats of one dtype: the other sign, and nothing else
  // To floats: whether values can overflow, and the first magnitudes that do (bits, of floats); what they become.
  bool limited = false;
  std::uint64_t limit_up = 0;
  std::uint64_t limit_down = 0;
  std::uint64_t overflow_up = 0;
  std::uint64_t overflow_down = 0;

  [[nodiscard]] bool copies() const noexcept { return source_dtype == target_dtype && !negate; }
};
ConvertRule make_rule(Dtype source, Dtype target, Overflow overflow, Rounding rounding) noexcept;

// The target's bits for the source's; sets bad where the value does not fit.
std::uint64_t convert_bits(const ConvertRule& rule, std::uint64_t bits, bool& bad) noexcept;

}  // namespace masu
