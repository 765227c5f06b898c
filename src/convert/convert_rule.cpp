// SPDX-License-Identifier: Apache-2.0
#include "convert/convert_plan.h"

#include <bit>

namespace masu {

namespace {

// Rounds significand / 2^63 * 2^exponent, whose first bit is set, to a magnitude of the format. It does not overflow.
std::uint64_t round_to(const Format& to, std::uint64_t significand, int exponent, bool negative, Rounding rounding) {
  const int least = 1 - to.bias();
  unsigned gone = 63 - to.fraction;
  std::uint64_t bits = 0;
  if (exponent < least) gone += static_cast<unsigned>(least - exponent);
  else bits = static_cast<std::uint64_t>(exponent - least) << to.fraction;
  if (gone < 64) bits += significand >> gone;
  // The rest, as a part of 2^64; where it is less than half of the last place, that is all that counts.
  const std::uint64_t rest = gone == 64 ? significand : gone < 64 ? significand << (64 - gone) : 1;
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  bool up = false;
  if (rounding == Rounding::nearest_even) up = rest > half || (rest == half && (bits & 1U) != 0);
  if (rounding == Rounding::up) up = !negative && rest != 0;
  if (rounding == Rounding::down) up = negative && rest != 0;
  return bits + (up ? 1 : 0);
}

std::uint64_t nan_of(const Format& from, const Format& to, std::uint64_t payload) {
  const std::uint64_t kept =
      from.fraction > to.fraction ? payload >> (from.fraction - to.fraction) : payload << (to.fraction - from.fraction);
  return to.infinity() | kept | std::uint64_t{1} << (to.fraction - 1);
}

// The whole part of a float's magnitude modulo 2^64; beyond: it is 2^64 or more, or no number.
std::uint64_t whole_part(const Format& from, std::uint64_t magnitude, bool& beyond) {
  const std::uint64_t significand = (magnitude & from.mask()) | std::uint64_t{1} << from.fraction;
  const int shift = static_cast<int>(magnitude >> from.fraction) - from.bias() - static_cast<int>(from.fraction);
  beyond = magnitude >= from.infinity() || shift + static_cast<int>(from.fraction) >= 64;
  if (magnitude >= from.infinity()) return 0;
  if (shift >= 0) return shift < 64 ? significand << shift : 0;
  return shift > -64 ? significand >> -shift : 0;
}

std::uint64_t to_integer(const ConvertRule& rule, bool negative, std::uint64_t whole, bool beyond, bool& bad) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - rule.target.bits);
  const std::uint64_t end = negative ? rule.target.below() : rule.target.most();
  if (rule.overflow != Overflow::wrap && (beyond || whole > end)) {
    bad = true;
    whole = end;
  }
  return (negative ? 0 - whole : whole) & mask;
}

}  // namespace

Format format_of(Dtype dtype) noexcept {
  Format format;
  format.bits = static_cast<unsigned>(8 * size_of(dtype));
  format.is_float = is_float(dtype);
  format.is_signed = is_signed(dtype);
  format.fraction = !format.is_float ? 0 : format.bits == 16 ? 10 : format.bits == 32 ? 23 : 52;
  return format;
}

ConvertRule make_rule(Dtype source, Dtype target, Overflow overflow, Rounding rounding) noexcept {
  ConvertRule rule{source, target, format_of(source), format_of(target), overflow, rounding};
  const Format& from = rule.source;
  const Format& to = rule.target;
  if (!to.is_float) return rule;
  // Only f16 is narrower than an integer's range.
  rule.limited = from.is_float ? from.fraction > to.fraction : to.bits == 16 && from.most() > 65504;
  if (!rule.limited) return rule;
  // Where the number behind the greatest finite one would be, and how far behind, in the source's bits. What overflows
  // first is that number when the overhang is cut off, the middle of both when it goes to the nearest (the greatest is
  // odd), and what follows the greatest when rounding leads away from zero.
  std::uint64_t next = 65536;
  std::uint64_t place = 32;
  if (from.is_float) {
    next = static_cast<std::uint64_t>(from.bias() + to.bias() + 1) << from.fraction;
    place = std::uint64_t{1} << (from.fraction - to.fraction);
  }
  const auto limit = [&](bool away) {
    if (rounding == Rounding::nearest_even) return next - place / 2;
    return away ? next - place + 1 : next;
  };
  rule.limit_up = limit(rounding == Rounding::up);
  rule.limit_down = limit(rounding == Rounding::down);
  const auto result = [&](bool away) {
    const bool infinite = overflow == Overflow::wrap && (rounding == Rounding::nearest_even || away);
    return to.infinity() - (infinite ? 0 : 1);
  };
  rule.overflow_up = result(rounding == Rounding::up);
  rule.overflow_down = result(rounding == Rounding::down) | to.sign();
  return rule;
}

std::uint64_t convert_bits(const ConvertRule& rule, std::uint64_t bits, bool& bad) noexcept {
  const Format& from = rule.source;
  const Format& to = rule.target;
  bool negative = false;
  std::uint64_t magnitude = bits;
  if (from.is_signed && (bits & from.sign()) != 0) {
    negative = true;
    magnitude = from.is_float ? bits ^ from.sign() : (0 - bits) & (~std::uint64_t{0} >> (64 - from.bits));
  }
  if (!to.is_float) {
    bool beyond = false;
    if (!from.is_float) return to_integer(rule, negative, magnitude, beyond, bad);
    if (magnitude > from.infinity()) {  // NaN
      bad = true;
      return 0;
    }
    const std::uint64_t whole = whole_part(from, magnitude, beyond);
    return to_integer(rule, negative, whole, beyond, bad);
  }
  const std::uint64_t sign = negative ? to.sign() : 0;
  if (from.is_float && magnitude >= from.infinity()) {
    return sign | (magnitude == from.infinity() ? to.infinity() : nan_of(from, to, magnitude & from.mask()));
  }
  if (rule.limited && magnitude >= (negative ? rule.limit_down : rule.limit_up)) {
    bad = true;
    return negative ? rule.overflow_down : rule.overflow_up;
  }
  if (magnitude == 0) return sign;
  std::uint64_t significand = magnitude;
  int exponent = 63;
  if (from.is_float) {
    significand &= from.mask();
    const int stored = static_cast<int>(magnitude >> from.fraction);
    if (stored != 0) significand |= std::uint64_t{1} << from.fraction;
    exponent += (stored != 0 ? stored : 1) - from.bias() - static_cast<int>(from.fraction);
  }
  const int zeros = std::countl_zero(significand);
  return sign | round_to(to, significand << zeros, exponent - zeros, negative, rule.rounding);
}

}  // namespace masu
