// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"
#include "cli/arrays/quantile.h"
#include "cli/verify/references.h"
#include "elements/order.h"
#include "program.h"
#include "text.h"

#include <masu/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace masu::cli {
namespace {

constexpr int unit = -2148;          // the lowest bit of a product of two subnormal numbers of f64
constexpr unsigned more_bits = 160;  // below what is rounded, of quotients and roots

__extension__ using Wide = __int128;

// A float's bits after its sign, from the highest.
struct Layout {
  explicit Layout(Dtype dtype)
      : size(8 * static_cast<int>(size_of(dtype))),
        mantissa_bits(float_format(dtype).precision - 1),
        bias((1 << (size - mantissa_bits - 2)) - 1),
        infinity(((std::uint64_t{1} << (size - 1 - mantissa_bits)) - 1) << mantissa_bits),
        sign(std::uint64_t{1} << (size - 1)) {}
  int size;
  int mantissa_bits;
  int bias;
  std::uint64_t infinity;
  std::uint64_t sign;
};

// An element: mantissa * 2^exponent, or none of it.
struct Parts {
  bool negative = false;
  bool nan = false;
  bool infinite = false;
  std::uint64_t mantissa = 0;  // of a NaN its payload, from the highest bit
  int exponent = 0;
  [[nodiscard]] bool is_zero() const { return !nan && !infinite && mantissa == 0; }
};

Parts parts_of(const ArrayView& data, std::uint64_t i) {
  const std::uint64_t bits = bits_of(data, i);
  Parts parts;
  if (!is_float(data.dtype)) {
    const unsigned size = 8 * static_cast<unsigned>(size_of(data.dtype));
    parts.negative = is_signed(data.dtype) && (bits >> (size - 1) & 1U) != 0;
    parts.mantissa = parts.negative ? (size == 64 ? 0 - bits : (std::uint64_t{1} << size) - bits) : bits;
    return parts;
  }
  const Layout layout(data.dtype);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << layout.mantissa_bits) - 1);
  const auto exponent = static_cast<int>((bits & layout.infinity) >> layout.mantissa_bits);
  parts.negative = (bits & layout.sign) != 0;
  if ((bits & layout.infinity) == layout.infinity) {
    (mantissa == 0 ? parts.infinite : parts.nan) = true;
    parts.mantissa = mantissa << (64 - layout.mantissa_bits);
    return parts;
  }
  parts.mantissa = exponent == 0 ? mantissa : mantissa | std::uint64_t{1} << layout.mantissa_bits;
  parts.exponent = std::max(exponent, 1) - layout.bias - layout.mantissa_bits;
  return parts;
}

// Whether what is cut off adds one to what is kept. `rest`: something lies below half of the last bit that is kept.
bool rounds_away(Rounding rounding, bool negative, bool odd, bool half, bool rest) {
  if ((!half && !rest) || rounding == Rounding::zero) return false;
  if (rounding == Rounding::up) return !negative;
  if (rounding == Rounding::down) return negative;
  return half && (rest || odd);
}

struct Converted {
  std::uint64_t bits = 0;
  bool fits = true;
};

// magnitude * 2^exponent, which is not 0, and a little more where `more` says so.
Converted to_float(bool negative, const Natural& magnitude, bool more, int exponent, Dtype to, Overflow overflow,
                   Rounding rounding) {
  const Layout layout(to);
  const std::uint64_t sign = negative ? layout.sign : 0;
  const int highest = static_cast<int>(magnitude.bits()) - 1 + exponent;         // exponent of the highest bit
  const int lowest = std::max(highest, 1 - layout.bias) - layout.mantissa_bits;  // of the last bit that is kept
  const int drop = lowest - exponent;                                            // bits that are not
  const auto at = static_cast<unsigned>(std::max(drop, 0));
  std::uint64_t kept = magnitude.word(at) << (at - static_cast<unsigned>(drop));
  const bool half = at > 0 && (magnitude.word(at - 1) & 1U) != 0;
  const bool rest = more || (at > 1 && magnitude.any_below(at - 1));
  if (rounds_away(rounding, negative, (kept & 1U) != 0, half, rest)) ++kept;
  // The mantissa's highest bit counts one in the exponent, so a carry leads to the next binade by itself.
  const std::uint64_t field = highest < 1 - layout.bias ? 0 : static_cast<std::uint64_t>(highest + layout.bias - 1);
  const std::uint64_t bits = highest > layout.bias ? layout.infinity : (field << layout.mantissa_bits) + kept;
  if (bits < layout.infinity) return {sign | bits, true};
  const bool to_greatest = overflow == Overflow::saturate || rounding == Rounding::zero ||
                           (rounding == Rounding::up && negative) || (rounding == Rounding::down && !negative);
  return {sign | (to_greatest ? layout.infinity - 1 : layout.infinity), false};
}

// The same to nearest, as a number.
double rounded(bool negative, const Natural& magnitude, bool more, int exponent, Dtype to) {
  if (magnitude.bits() == 0) return 0;
  const Converted found = to_float(negative, magnitude, more, exponent, to, Overflow::wrap, Rounding::nearest_even);
  return number_at({to, &found.bits, 1}, 0);
}

// The root of a number of 2^exponent, which is even; `more`: the number is a little larger, by less than 1.
double rounded_root(const Natural& square, bool more, int exponent, Dtype to) {
  // The highest bits of the root, one after the other; of what is below them only matters whether it is zero.
  Natural root;
  const unsigned highest = (square.bits() + 1) / 2;
  for (unsigned bit = highest, done = 0; bit > 0 && done < 70; --bit, ++done) {
    Natural next = root;
    next.add(1, bit - 1);
    if (next * next <= square) root = next;
  }
  more = more || root * root != square;
  return rounded(false, root, more, exponent / 2, to);
}

Converted to_integer(const Parts& value, Dtype to, Overflow overflow) {
  const int size = 8 * static_cast<int>(size_of(to));
  const std::uint64_t mask = size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
  const Wide greatest = (Wide{1} << (is_signed(to) ? size - 1 : size)) - 1;
  const Wide least = is_signed(to) ? -greatest - 1 : Wide{0};
  if (value.nan) return {0, false};
  const bool infinite = value.infinite;
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

}  // namespace

bool reference_convert(const ArrayView& data, std::uint64_t i, Dtype to, Overflow overflow, Rounding rounding,
                       std::uint64_t& bits) {
  if (data.dtype == to) {
    bits = bits_of(data, i);
    return true;
  }
  const Parts value = parts_of(data, i);
  Converted converted;
  if (!is_float(to)) {
    converted = to_integer(value, to, overflow);
  } else if (value.nan || value.infinite || value.is_zero()) {
    const Layout layout(to);
    const std::uint64_t payload = value.mantissa >> (64 - layout.mantissa_bits);
    const std::uint64_t quiet = std::uint64_t{1} << (layout.mantissa_bits - 1);
    converted.bits = (value.negative ? layout.sign : 0) | (value.is_zero() ? 0 : layout.infinity) |
                     (value.nan ? quiet | payload : 0);
  } else {
    converted = to_float(value.negative, Natural(value.mantissa), false, value.exponent, to, overflow, rounding);
  }
  bits = converted.bits;
  return converted.fits || overflow != Overflow::error;
}

void ReferenceSum::add_infinity(bool negative) {
  (negative ? negative_infinity_ : positive_infinity_) = true;
}

void ReferenceSum::add(const ArrayView& data, std::uint64_t i) {
  const Parts parts = parts_of(data, i);
  ++count_;
  nan_ = nan_ || parts.nan;
  if (parts.infinite) add_infinity(parts.negative);
  if (parts.nan || parts.infinite || parts.is_zero()) return;
  (parts.negative ? negative_ : positive_).add(parts.mantissa, static_cast<unsigned>(parts.exponent - unit));
}

void ReferenceSum::add_product(const ArrayView& x, std::uint64_t i, const ArrayView& y, std::uint64_t j) {
  const Parts a = parts_of(x, i);
  const Parts b = parts_of(y, j);
  ++count_;
  const bool zero = a.is_zero() || b.is_zero();
  if (a.nan || b.nan || ((a.infinite || b.infinite) && zero)) {
    nan_ = true;
  } else if (a.infinite || b.infinite) {
    add_infinity(a.negative != b.negative);
  } else if (!zero) {
    __extension__ using Product = unsigned __int128;
    const Product product = Product{a.mantissa} * b.mantissa;
    Natural& part = a.negative != b.negative ? negative_ : positive_;
    const auto shift = static_cast<unsigned>(a.exponent + b.exponent - unit);
    part.add(static_cast<std::uint64_t>(product), shift);
    part.add(static_cast<std::uint64_t>(product >> 64), shift + 64);
  }
}

bool ReferenceSum::special(double& result) const {
  const double infinity = std::numeric_limits<double>::infinity();
  if (nan_ || (positive_infinity_ && negative_infinity_)) result = std::numeric_limits<double>::quiet_NaN();
  else if (positive_infinity_ || negative_infinity_) result = positive_infinity_ ? infinity : -infinity;
  else return false;
  return true;
}

Natural ReferenceSum::magnitude(bool& negative) const {
  negative = positive_ < negative_;
  return negative ? negative_ - positive_ : positive_ - negative_;
}

double ReferenceSum::sum(Dtype to) const {
  double result = 0;
  if (special(result)) return result;
  bool negative = false;
  const Natural all = magnitude(negative);
  return rounded(negative, all, false, unit, to);
}

double ReferenceSum::mean(Dtype to) const {
  double result = 0;
  if (special(result)) return result;
  bool negative = false;
  Natural all = magnitude(negative) * Natural(1, more_bits);
  const bool more = all.divide(count_) != 0;
  return rounded(negative, all, more, unit - static_cast<int>(more_bits), to);
}

double ReferenceSum::root(Dtype to) const {
  double result = 0;
  if (special(result)) return result;
  bool negative = false;
  return rounded_root(magnitude(negative) * Natural(1, 2 * more_bits), false, unit - 2 * static_cast<int>(more_bits),
                      to);
}

Natural ReferenceSum::variance_in_bits(const ReferenceSum& squares, std::uint64_t ddof, unsigned bits,
                                       bool& more) const {
  bool negative = false;
  const Natural sum = magnitude(negative);
  const Natural sum_of_squares = squares.magnitude(negative);
  // (n * sum of squares - square of the sum) / n / (n - ddof), in units of 2^(2 unit)
  Natural all = (sum_of_squares * Natural(count_, static_cast<unsigned>(-unit)) - sum * sum) * Natural(1, bits);
  more = all.divide(count_) != 0;
  more = all.divide(count_ - ddof) != 0 || more;
  return all;
}

double ReferenceSum::variance(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const {
  double result = 0;
  if (special(result)) return std::numeric_limits<double>::quiet_NaN();
  bool more = false;
  const Natural all = variance_in_bits(squares, ddof, more_bits, more);
  return rounded(false, all, more, 2 * unit - static_cast<int>(more_bits), to);
}

double ReferenceSum::standard_deviation(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const {
  double result = 0;
  if (special(result)) return std::numeric_limits<double>::quiet_NaN();
  bool more = false;
  const Natural all = variance_in_bits(squares, ddof, 2 * more_bits, more);
  return rounded_root(all, more, 2 * unit - 2 * static_cast<int>(more_bits), to);
}

bool ReferenceSum::integer(bool with_sign, std::uint64_t& bits) const {
  bool negative = false;
  const Natural all = magnitude(negative);
  const auto shift = static_cast<unsigned>(-unit);
  bits = all.word(shift);
  if (negative) bits = 0 - bits;
  if (!with_sign) return !negative && all.bits() <= shift + 64;
  const bool lowest = negative && bits == std::uint64_t{1} << 63U;
  return all.bits() <= shift + 63 || (lowest && all.bits() == shift + 64);
}

namespace {

// Where the extreme of a row is: the first NaN, else the first element that no other one precedes (follows).
std::uint64_t place_of(const ArrayView& row, bool greatest) {
  // The order puts NaNs last, so a value that the greatest finite number or infinity precedes is one.
  std::uint64_t best = 0;
  std::uint64_t last = 0;
  for (std::uint64_t i = 1; i < row.count; ++i) {
    if (greatest ? precedes(row, best, row, i) : precedes(row, i, row, best)) best = i;
    if (precedes(row, last, row, i)) last = i;
  }
  return is_nan(row, last) ? last : best;
}

struct Row {
  const ArrayView& data;
  const ReduceRequest& request;
};

Column rounded(double value, Dtype to) {
  const std::uint64_t bits = bits_of(value, to);
  return Column(ArrayView(to, &bits, 1));
}

ReferenceSum sum_of(const Row& row) {
  ReferenceSum sum;
  for (std::uint64_t i = 0; i < row.data.count; ++i) sum.add(row.data, i);
  return sum;
}

ReferenceSum squares_of(const Row& row) {
  ReferenceSum sum;
  for (std::uint64_t i = 0; i < row.data.count; ++i) sum.add_product(row.data, i, row.data, i);
  return sum;
}

Column reference_sum(const Row& row) {
  const ReferenceSum sum = sum_of(row);
  if (is_float(row.data.dtype)) return rounded(sum.sum(row.request.result), row.request.result);
  const bool with_sign = is_signed(row.data.dtype);
  std::uint64_t bits = 0;
  if (!sum.integer(with_sign, bits)) throw Error(ErrorCode::io, "the reference's sum does not fit into 64 bits");
  return Column(ArrayView(with_sign ? Dtype::i64 : Dtype::u64, &bits, 1));
}

template <double (ReferenceSum::*spread)(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const>
Column reference_spread(const Row& row) {
  return rounded((sum_of(row).*spread)(squares_of(row), row.request.ddof, row.request.result), row.request.result);
}

template <bool greatest>
Column reference_place(const Row& row) {
  const std::uint64_t place = place_of(row.data, greatest);
  return Column(ArrayView(Dtype::u64, &place, 1));
}

template <bool greatest>
Column reference_extreme(const Row& row) {
  return Column(part_of(row.data, place_of(row.data, greatest), 1));
}

Column reference_nonzero(const Row& row) {
  const std::uint64_t zero = 0;
  const ArrayView nothing(row.data.dtype, &zero, 1);
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < row.data.count; ++i) count += differ(row.data, i, nothing, 0) ? 1 : 0;
  return Column(ArrayView(Dtype::u64, &count, 1));
}

Column reference_median(const Row& row) {
  return values_of(reference_quantiles(row.data, std::array{0.5}, QuantileMethod::linear), row.data.dtype);
}

struct Reference {
  std::string_view name;
  Column (*of)(const Row& row);
};
constexpr Reference references[] = {
    {"sum", reference_sum},
    {"mean", [](const Row& row) { return rounded(sum_of(row).mean(row.request.result), row.request.result); }},
    {"min", reference_extreme<false>},
    {"max", reference_extreme<true>},
    {"argmin", reference_place<false>},
    {"argmax", reference_place<true>},
    {"variance", reference_spread<&ReferenceSum::variance>},
    {"var", reference_spread<&ReferenceSum::variance>},
    {"median", reference_median},
    {"count", [](const Row& row) { return Column(ArrayView(Dtype::u64, &row.data.count, 1)); }},
    {"std", reference_spread<&ReferenceSum::standard_deviation>},
    {"norm2", [](const Row& row) { return rounded(squares_of(row).root(row.request.result), row.request.result); }},
    {"count-nonzero", reference_nonzero}};

}  // namespace

std::vector<Column> reference_reduce(const ArrayView& data, const ReduceRequest& request) {
  std::vector<Column> columns;
  const std::uint64_t length = data.count / request.rows;
  for (const std::string& name : request.ops) {
    Column column;
    for (std::uint64_t row = 0; row < request.rows; ++row) {
      const ArrayView part = part_of(data, row * length, length);
      for (const Reference& one : references) {
        if (one.name != name) continue;
        const Column found = one.of({part, request});
        column.dtype = found.dtype;
        column.append(found.view());
      }
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

ReferenceSlots::ReferenceSlots(Dtype dtype, std::span<const Bins> bins, bool right_open, Outside outside_of_bins,
                               bool joint)
    : outside(outside_of_bins) {
  for (const Bins& each : bins) {
    const BinRule rule(each, dtype, right_open, joint);
    edges.push_back(rule.all_edges());
    half_open.push_back(rule.half_open);
    if (!joint) half = reference::half_even(rule);
  }
}

std::size_t ReferenceSlots::joint_bins() const {
  std::size_t joint_bins = 1;
  for (const std::vector<double>& column : edges) joint_bins *= column.size() - 1;
  return joint_bins;
}

std::size_t ReferenceSlots::slot_of(std::span<const double> point) const {
  if (std::any_of(point.begin(), point.end(), [](double x) { return std::isnan(x); })) return joint_bins() + 2;
  std::size_t joint_bin = 0;
  for (std::size_t d = 0; d < point.size(); ++d) {
    const std::vector<double>& column = edges[d];
    const double x = point[d];
    const bool below = x < column.front();
    const bool above = x > column.back() || (half_open[d] && x == column.back());
    if ((below || above) && outside == Outside::drop) return joint_bins() + (above && point.size() == 1 ? 1 : 0);
    joint_bin = joint_bin * (column.size() - 1) + (below   ? 0
                                                   : above ? column.size() - 2
                                                           : reference::bin_of(x, column, half));
  }
  return joint_bin;
}

void ReferenceSlots::each(std::span<const ArrayView> columns, const std::function<void(std::size_t)>& take) const {
  const std::size_t dimensions = edges.size();
  const bool interleaved = columns.size() < dimensions;
  std::vector<double> point(dimensions);
  for (std::uint64_t i = 0; i < columns.front().count / (interleaved ? dimensions : 1); ++i) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      point[d] = interleaved ? number_at(columns.front(), i * dimensions + d) : number_at(columns[d], i);
    }
    take(slot_of(point));
  }
}

}  // namespace masu::cli
