// SPDX-License-Identifier: Apache-2.0
#include "convert/convert_plan.h"

#include "elements/clusters.h"
#include "elements/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

namespace masu::convert_plan {

namespace {

constexpr std::uint64_t groups_a_unit_cpu = 2;

using Defines = std::vector<runtime::Define>;

// A literal of an integer type that has at least 32 bits.
std::string literal(bool is_signed, unsigned bits, std::uint64_t magnitude, bool negative) {
  if (!is_signed) return fmt::format("{}u{}", magnitude, bits == 64 ? "l" : "");
  if (!negative) return fmt::format("{}{}", magnitude, bits == 64 ? "l" : "");
  // The least number's magnitude is no number of its type.
  return fmt::format("(-{0}{1} - 1{1})", magnitude - 1, bits == 64 ? "l" : "");
}

// PTX's name of a type in cvt; integers of fewer bits come as 32.
std::string instruction_type(const Format& format) {
  if (format.is_float) return fmt::format("f{}", format.bits);
  return fmt::format("{}{}", format.is_signed ? 's' : 'u', std::max(32U, format.bits));
}

std::string register_of(const Format& format) {
  if (!format.is_float) return format.bits == 64 ? "l" : "r";
  return format.bits == 16 ? "h" : format.bits == 32 ? "f" : "d";
}

void define_to_float(Defines& defines, const ConvertRule& rule) {
  const std::string_view modes[] = {".rn", ".rz", ".rp", ".rm"};
  const auto rounding = static_cast<std::size_t>(rule.rounding);
  const bool exact = rule.source.is_float && rule.source.fraction < rule.target.fraction;
  defines.push_back({"MASU_TARGET_FRACTION", rule.target.fraction});
  defines.push_back({"MASU_ROUNDING", rounding});
  defines.push_back({"MASU_INSTRUCTION", fmt::format("\"cvt{}.{}.{}\"", exact ? "" : modes[rounding],
                                                     instruction_type(rule.target), instruction_type(rule.source))});
  defines.push_back({"MASU_INSTRUCTION_IN", fmt::format("\"{}\"", register_of(rule.source))});
  defines.push_back({"MASU_INSTRUCTION_OUT", fmt::format("\"={}\"", register_of(rule.target))});
  defines.push_back({"MASU_LIMITED", rule.limited});
  if (!rule.limited) return;
  defines.push_back({"MASU_LIMIT_UP", literal(false, rule.source.bits, rule.limit_up, false)});
  defines.push_back({"MASU_LIMIT_DOWN", literal(false, rule.source.bits, rule.limit_down, false)});
  defines.push_back({"MASU_OVERFLOW_UP", literal(false, rule.target.bits, rule.overflow_up, false)});
  defines.push_back({"MASU_OVERFLOW_DOWN", literal(false, rule.target.bits, rule.overflow_down, false)});
}

void define_integers(Defines& defines, const ConvertRule& rule) {
  const Format& from = rule.source;
  const Format& to = rule.target;
  const bool wraps = rule.overflow == Overflow::wrap;
  const bool low = !wraps && from.below() > to.below();
  const bool high = !wraps && from.most() > to.most();
  defines.push_back({"MASU_CHECK_LOW", low});
  defines.push_back({"MASU_CHECK_HIGH", high});
  if (low) {
    defines.push_back({"MASU_LOW", to.below() == 0 ? "0" : literal(from.is_signed, from.bits, to.below(), true)});
  }
  if (high) defines.push_back({"MASU_HIGH", literal(from.is_signed, from.bits, to.most(), false)});
}

void define_to_integer(Defines& defines, const ConvertRule& rule) {
  const Format& to = rule.target;
  const bool f64 = rule.source.bits == 64;
  const std::string suffix = f64 ? "" : "f";
  // Just below the least number there is a float only where the floats lie close enough.
  const unsigned precision = f64 ? 53 : 24;
  const bool low_fits = to.is_signed && to.bits > precision;
  const std::string below = to.is_signed ? fmt::format("{}", to.below() + (low_fits ? 0 : 1)) : "1";
  const unsigned width = to.bits - (to.is_signed ? 1 : 0);
  const std::string whole = fmt::format("{}{}", to.is_signed ? "" : "u", to.bits == 64 ? "long" : "int");
  defines.push_back({"MASU_VALUE", rule.float8 ? "float" : names_of(rule.source_dtype).kernel_type});
  defines.push_back({"MASU_AS_VALUE", rule.float8 ? "float8_value" : names_of(rule.source_dtype).from_bits});
  defines.push_back({"MASU_WHOLE", whole});
  defines.push_back({"MASU_LOW_FITS", low_fits});
  defines.push_back({"MASU_LOW", fmt::format("(-{}.0{})", below, suffix)});
  defines.push_back({"MASU_HIGH", fmt::format("0x1p{}{}", width, suffix)});
  defines.push_back({"MASU_LEAST", to.is_signed ? literal(true, to.bits, to.below(), true) : "0"});
  defines.push_back({"MASU_MOST", literal(to.is_signed, to.bits, to.most(), false)});
}

// Elements in front of which vectors of `vector` elements are aligned on both sides; `vector` where there are none.
std::uint64_t head_for(std::uint64_t vector, std::uint64_t in_offset, std::uint64_t in_bytes, std::uint64_t out_offset,
                       std::uint64_t out_bytes) {
  for (std::uint64_t head = 0; head < vector; ++head) {
    if ((in_offset + head * in_bytes) % (vector * in_bytes) == 0 &&
        (out_offset + head * out_bytes) % (vector * out_bytes) == 0) {
      return head;
    }
  }
  return vector;
}

}  // namespace

std::vector<runtime::Define> Plan::defines(const ConvertRule& rule) const {
  Defines result = {{"MASU_GROUP", group},
                    {"MASU_VECTOR", vector},
                    {"MASU_UNROLL", unroll},
                    {"MASU_ERROR", rule.overflow == Overflow::error},
                    {"MASU_WRAP", rule.overflow == Overflow::wrap},
                    {"MASU_NEGATE", rule.negate},
                    {"MASU_TRUTH", rule.truth},
                    {"MASU_FP64", fp64},
                    {"MASU_FINITE", rule.source.finite},
                    {"MASU_TARGET_BITS", rule.target.bits},
                    {"MASU_TARGET_KIND", element_class(rule.target_dtype)}};
  if (rule.target.is_float) define_to_float(result, rule);
  else if (rule.source.is_float) define_to_integer(result, rule);
  else define_integers(result, rule);
  if (!rule.float8) return element_defines(rule.source_dtype, std::move(result));
  result.push_back({"MASU_ELEMENT_BYTES", 1U});
  result.push_back({"MASU_ELEMENT_CLASS", element_class(Dtype::f32)});
  result.push_back({"MASU_EXPONENT_BITS", 7 - rule.source.fraction});
  return result;
}

Plan make(const DeviceInfo& device, const ConvertRule& rule, std::uint64_t count, std::uint64_t in_offset,
          std::uint64_t out_offset, unsigned group) {
  Plan plan;
  plan.group = group != 0 ? group : work_group(device, plan.group);
  plan.fp64 = device.fp64;
  const std::uint64_t in_bytes = rule.source.bits / 8;
  const std::uint64_t out_bytes = rule.target.bits / 8;
  std::uint64_t vector = vector_bytes / std::max(in_bytes, out_bytes);
  while (head_for(vector, in_offset, in_bytes, out_offset, out_bytes) == vector) vector /= 2;
  plan.vector = static_cast<unsigned>(vector);
  plan.head = std::min(count, head_for(vector, in_offset, in_bytes, out_offset, out_bytes));
  plan.vectors = (count - plan.head) / vector;
  const std::uint64_t a_group = std::uint64_t{plan.group} * plan.unroll;
  const std::uint64_t most =
      std::max(1U, device.compute_units) * (device.gpu ? tuned.groups_a_unit : groups_a_unit_cpu);
  plan.groups = std::clamp<std::uint64_t>((plan.vectors + a_group - 1) / a_group, 1, std::min(most, most_groups));
  return plan;
}

}  // namespace masu::convert_plan

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
  beyond = magnitude >= from.end() || shift + static_cast<int>(from.fraction) >= 64;
  if (magnitude >= from.end()) return 0;
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
  format.fraction = detail::form_of(dtype).fraction_bits;
  return format;
}

ConvertRule make_rule(Dtype source, Dtype target, Overflow overflow, Rounding rounding,
                      std::optional<Float8> float8) noexcept {
  ConvertRule rule{source, target, format_of(source), format_of(target), overflow, rounding};
  if (float8) {
    const bool finite = *float8 == Float8::e4m3fn;
    rule.float8 = float8;
    rule.source = {.bits = 8, .is_float = true, .is_signed = true, .fraction = finite ? 3U : 2U, .finite = finite};
  }
  const Format& from = rule.source;
  const Format& to = rule.target;
  const FloatFormat target_format = float_format(target);
  // Only a float format with few exponent bits has a smaller range than an integer.
  if (to.is_float && !float8) {  // whose numbers all floats hold
    const double most = from.is_float ? greatest_of(float_format(source)) : static_cast<double>(from.most());
    rule.limited = most > greatest_of(target_format);
  }
  const bool all_fit =
      to.is_float ? !rule.limited : !from.is_float && from.below() <= to.below() && from.most() <= to.most();
  if (all_fit) rule.overflow = Overflow::wrap;  // nothing to look for, to note and to read back
  if (!rule.limited) return rule;
  // Where the number after the greatest finite one would be, and how far after it, in the source's bits. What overflows
  // first is that number when the overhang is cut off, the middle of both when it goes to the nearest (the greatest is
  // odd), and what follows the greatest when rounding leads away from zero.
  std::uint64_t next = 0;
  std::uint64_t place = 0;
  if (!from.is_float) {
    next = std::uint64_t{1} << target_format.end;
    place = next >> target_format.precision;
  } else {
    next = static_cast<std::uint64_t>(from.bias() + to.bias() + 1) << from.fraction;
    // What has no more digits goes from the greatest number to the next.
    place = std::uint64_t{1} << (std::max(from.fraction, to.fraction) - to.fraction);
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
    if (magnitude >= from.end() && !from.is_infinity(magnitude)) {  // NaN
      bad = true;
      return 0;
    }
    const std::uint64_t whole = whole_part(from, magnitude, beyond);
    return to_integer(rule, negative, whole, beyond, bad);
  }
  const std::uint64_t sign = negative ? to.sign() : 0;
  if (from.is_float && magnitude >= from.end()) {
    return sign | (from.is_infinity(magnitude) ? to.infinity() : nan_of(from, to, magnitude & from.mask()));
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
