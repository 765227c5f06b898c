// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/references.h"
#include "quantile/quantile_rule.h"
#include "text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

namespace masu::cli {

const std::byte* element_at(const ArrayView& data, std::uint64_t index) {
  return static_cast<const std::byte*>(data.data) + index * size_of(data.dtype);
}

bool same_bits(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j) {
  return std::memcmp(element_at(a, i), element_at(b, j), size_of(a.dtype)) == 0;
}

bool precedes(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j) {
  return dispatch(a.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return comes_before(static_cast<const T*>(a.data)[i], static_cast<const T*>(b.data)[j]);
  });
}

bool differ(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j) {
  return precedes(a, i, b, j) || precedes(b, j, a, i);
}

std::vector<std::uint64_t> reference_search(const ArrayView& sorted, const ArrayView& values, bool after) {
  std::vector<std::uint64_t> places(values.count);
  for (std::uint64_t i = 0; i < values.count; ++i) {
    std::uint64_t end = sorted.count;
    while (places[i] < end) {
      const std::uint64_t middle = places[i] + (end - places[i]) / 2;
      const bool above = after ? !precedes(values, i, sorted, middle) : precedes(sorted, middle, values, i);
      if (above) places[i] = middle + 1;
      else end = middle;
    }
  }
  return places;
}

std::vector<std::uint64_t> reference_order(const ArrayView& data, Order order, std::uint64_t rows) {
  std::vector<std::uint64_t> bounds;
  for (std::uint64_t row = 0; row <= rows; ++row) bounds.push_back(data.count / rows * row);
  return reference_order(data, order, bounds);
}

std::vector<std::uint64_t> reference_order(const ArrayView& data, Order order, std::span<const std::uint64_t> bounds) {
  std::vector<std::uint64_t> places(data.count);
  std::iota(places.begin(), places.end(), 0);
  dispatch(data.dtype, [&](auto tag) {
    const auto* values = static_cast<const typename decltype(tag)::type*>(data.data);
    for (std::size_t i = 1; i < bounds.size(); ++i) {
      std::stable_sort(places.begin() + static_cast<std::ptrdiff_t>(bounds[i - 1]),
                       places.begin() + static_cast<std::ptrdiff_t>(bounds[i]),
                       [&](std::uint64_t a, std::uint64_t b) { return comes_before(values[a], values[b], order); });
    }
  });
  return places;
}

std::vector<std::uint64_t> reference_topk(const ArrayView& data, Order order, bool skip_nan, std::uint64_t k) {
  std::vector<std::uint64_t> places = reference_order(data, order);
  if (skip_nan) std::erase_if(places, [&](std::uint64_t i) { return is_nan(data, i); });
  places.resize(std::min<std::uint64_t>(k, places.size()));
  return places;
}

std::vector<ReferenceRun> reference_unique(const ArrayView& data) {
  std::vector<ReferenceRun> runs;
  const std::vector<std::uint64_t> places = reference_order(data, Order::ascending);
  dispatch(data.dtype, [&](auto tag) {
    const auto* values = static_cast<const typename decltype(tag)::type*>(data.data);
    for (const std::uint64_t place : places) {
      if (runs.empty() || comes_before(values[runs.back().first], values[place])) runs.push_back({place, 0});
      ++runs.back().count;
    }
  });
  return runs;
}

std::uint64_t plain_bits(const ArrayView& data, std::uint64_t index) {
  if (!is_float(data.dtype)) return bits_of(data, index);
  const double value = number_at(data, index);
  if (std::isnan(value)) return bits_of(std::numeric_limits<double>::quiet_NaN(), data.dtype);
  return value == 0 ? 0 : bits_of(data, index);
}

std::vector<Quantile> reference_quantiles(const ArrayView& data, std::span<const double> q, QuantileMethod method) {
  const std::vector<std::uint64_t> order = reference_order(data, Order::ascending);
  const bool any_nan = is_nan(data, order.back());
  std::vector<Quantile> result;
  for (const double one : q) {
    QuantilePlace place = quantile_place(method, data.count, one);
    if (any_nan) place = {data.count - 1, data.count - 1, 0, place.is_element};
    result.push_back(
        quantile_at(data.dtype, place, plain_bits(data, order[place.previous]), plain_bits(data, order[place.next])));
  }
  return result;
}

// Scans and conversions, element by element.

namespace {

// What no element goes beyond.
std::uint64_t identity_bits(Dtype dtype, ScanOp op) {
  return dispatch(dtype, [&](auto tag) -> std::uint64_t {
    using T = typename decltype(tag)::type;
    const bool greatest = op == ScanOp::min;
    if (op == ScanOp::sum) return 0;
    if constexpr (std::integral<T>) {
      const T value = greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
      return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
    } else {
      const double infinity = std::numeric_limits<double>::infinity();
      return bits_of(greatest ? infinity : -infinity, dtype_of<T>);
    }
  });
}

}  // namespace

void ReferenceScan::take(const ArrayView& data, std::uint64_t i) {
  if (op_ == ScanOp::sum) {
    if (is_float(dtype_)) sum_.add(data, i);
    else bits_ += bits_of(data, i);
  } else {
    const ArrayView so_far(dtype_, &bits_, 1);
    const bool beyond = op_ == ScanOp::min ? precedes(data, i, so_far, 0) : precedes(so_far, 0, data, i);
    if (empty_ || (!is_nan(so_far, 0) && (is_nan(data, i) || beyond))) bits_ = bits_of(data, i);
  }
  empty_ = false;
}

std::uint64_t ReferenceScan::value() const {
  if (empty_) return identity_bits(dtype_, op_);
  if (op_ == ScanOp::sum && is_float(dtype_)) return bits_of(sum_.sum(dtype_), dtype_);
  const unsigned bits = 8 * static_cast<unsigned>(size_of(dtype_));
  return bits == 64 ? bits_ : bits_ & ((std::uint64_t{1} << bits) - 1);
}

std::uint64_t ReferenceScan::next(const ArrayView& data, std::uint64_t i) {
  const std::uint64_t before = exclusive_ ? value() : 0;
  take(data, i);
  return exclusive_ ? before : value();
}

namespace {

__extension__ using Wide = __int128;

// A float's bits after its sign, from the highest.
struct Layout {
  int exponent_bits;
  int mantissa_bits;
  [[nodiscard]] int size() const { return 1 + exponent_bits + mantissa_bits; }
  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] std::uint64_t infinity() const { return ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
};

Layout layout_of(Dtype dtype) {
  const int fraction_bits = float_format(dtype).precision - 1;
  return {8 * static_cast<int>(size_of(dtype)) - 1 - fraction_bits, fraction_bits};
}

// An element: a whole number, or mantissa * 2^exponent, or none of it.
struct Value {
  enum class Kind { finite, infinite, nan } kind = Kind::finite;
  bool negative = false;
  std::uint64_t mantissa = 0;  // of a NaN its payload, from the highest bit
  int exponent = 0;
};

Value value_of(const ArrayView& data, std::uint64_t i) {
  const std::uint64_t bits = bits_of(data, i);
  Value value;
  if (!is_float(data.dtype)) {
    const unsigned size = 8 * static_cast<unsigned>(size_of(data.dtype));
    value.negative = is_signed(data.dtype) && (bits >> (size - 1) & 1U) != 0;
    value.mantissa = value.negative ? (size == 64 ? 0 - bits : (std::uint64_t{1} << size) - bits) : bits;
    return value;
  }
  const Layout layout = layout_of(data.dtype);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << layout.mantissa_bits) - 1);
  const auto exponent = static_cast<int>((bits & layout.infinity()) >> layout.mantissa_bits);
  value.negative = (bits >> (layout.size() - 1) & 1U) != 0;
  if (exponent == (1 << layout.exponent_bits) - 1) {
    value.kind = mantissa == 0 ? Value::Kind::infinite : Value::Kind::nan;
    value.mantissa = mantissa << (64 - layout.mantissa_bits);
    return value;
  }
  value.mantissa = exponent == 0 ? mantissa : mantissa | std::uint64_t{1} << layout.mantissa_bits;
  value.exponent = std::max(exponent, 1) - layout.bias() - layout.mantissa_bits;
  return value;
}

struct Converted {
  std::uint64_t bits = 0;
  bool fits = true;
};

Converted to_integer(const Value& value, Dtype to, Overflow overflow) {
  const int size = 8 * static_cast<int>(size_of(to));
  const std::uint64_t mask = size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
  const Wide greatest = (Wide{1} << (is_signed(to) ? size - 1 : size)) - 1;
  const Wide least = is_signed(to) ? -greatest - 1 : Wide{0};
  if (value.kind == Value::Kind::nan) return {0, false};
  const bool infinite = value.kind == Value::Kind::infinite;
  const int exponent = value.exponent;
  // Up to 126 bits; what is larger fits nowhere, and its lowest 64 bits are computed apart.
  const bool huge = infinite || (value.mantissa != 0 && exponent > 62);
  Wide whole = 0;
  if (!huge && exponent >= 0) whole = Wide{value.mantissa} << exponent;
  if (!huge && exponent < 0 && exponent > -64) whole = value.mantissa >> -exponent;
  if (value.negative) whole = -whole;
  if (!huge && whole >= least && whole <= greatest) return {static_cast<std::uint64_t>(whole) & mask, true};
  if (overflow == Overflow::saturate) {
    return {static_cast<std::uint64_t>(value.negative ? least : greatest) & mask, false};
  }
  if (infinite || exponent > 63) return {0, false};  // nothing but zeros in the lowest 64 bits
  const std::uint64_t low = exponent >= 0 ? value.mantissa << exponent : static_cast<std::uint64_t>(whole);
  return {(exponent >= 0 && value.negative ? 0 - low : low) & mask, false};
}

// Whether what is cut off below `kept` adds one to it.
bool rounds_away(Rounding rounding, bool negative, bool odd, int against_half, bool exact) {
  if (exact || rounding == Rounding::zero) return false;
  if (rounding == Rounding::up) return !negative;
  if (rounding == Rounding::down) return negative;
  return against_half > 0 || (against_half == 0 && odd);
}

Converted to_float(const Value& value, Dtype to, Overflow overflow, Rounding rounding) {
  const Layout layout = layout_of(to);
  const std::uint64_t sign = value.negative ? std::uint64_t{1} << (layout.size() - 1) : 0;
  const std::uint64_t infinity = layout.infinity();
  if (value.kind == Value::Kind::infinite) return {sign | infinity, true};
  if (value.kind == Value::Kind::nan) {
    const std::uint64_t quiet = std::uint64_t{1} << (layout.mantissa_bits - 1);
    return {sign | infinity | quiet | value.mantissa >> (64 - layout.mantissa_bits), true};
  }
  if (value.mantissa == 0) return {sign, true};
  // With the highest bit at the top, value = top * 2^exponent.
  const int zeros = std::countl_zero(value.mantissa);
  const std::uint64_t top = value.mantissa << zeros;
  const int highest = value.exponent - zeros + 63;                                 // exponent of the highest bit
  const int lowest = std::max(highest, 1 - layout.bias()) - layout.mantissa_bits;  // of the last bit that is kept
  const int drop = lowest - (highest - 63);                                        // bits of `top` that are not
  std::uint64_t kept = drop < 64 ? top >> drop : 0;
  const std::uint64_t cut = drop < 64 ? top << (64 - drop) : drop == 64 ? top : 1;  // below a half where all is cut
  constexpr std::uint64_t half = std::uint64_t{1} << 63U;
  const int against_half = drop > 64 || cut < half ? -1 : cut == half ? 0 : 1;
  if (rounds_away(rounding, value.negative, (kept & 1U) != 0, against_half, cut == 0)) ++kept;
  // The mantissa's highest bit counts one in the exponent, so a carry leads to the next binade by itself.
  const std::uint64_t field = highest < 1 - layout.bias() ? 0 : static_cast<std::uint64_t>(highest + layout.bias() - 1);
  const bool beyond = highest > layout.bias();
  const std::uint64_t bits = beyond ? infinity : (field << layout.mantissa_bits) + kept;
  if (bits < infinity) return {sign | bits, true};
  const bool to_greatest = overflow == Overflow::saturate || rounding == Rounding::zero ||
                           (rounding == Rounding::up && value.negative) ||
                           (rounding == Rounding::down && !value.negative);
  return {sign | (to_greatest ? infinity - 1 : infinity), false};
}

}  // namespace

bool reference_convert(const ArrayView& data, std::uint64_t i, Dtype to, Overflow overflow, Rounding rounding,
                       std::uint64_t& bits) {
  if (data.dtype == to) {
    bits = bits_of(data, i);
    return true;
  }
  const Value value = value_of(data, i);
  const Converted converted = is_float(to) ? to_float(value, to, overflow, rounding) : to_integer(value, to, overflow);
  bits = converted.bits;
  return converted.fits || overflow != Overflow::error;
}

}  // namespace masu::cli
