// SPDX-License-Identifier: Apache-2.0
#include "histogram/weighted_sums.h"

#include "histogram/bins/bin_rule.h"
#include "histogram/histogram_checks.h"

#include <masu/sum.h>
#include <masu/weighted_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace masu {

namespace {

using fixed::Wide;
constexpr std::uint64_t low_32 = fixed::digit_mask;

// Adds magnitude << shift, or takes it away: `bits` is the most bits of the magnitude, `shift` is below 32.
template <unsigned bits, bool shifted>
void add_magnitude(std::int64_t* words, Wide magnitude, unsigned shift, bool negative) {
  if constexpr (bits + 31 > 128) {  // the halves of a product of two f64 one after the other
    add_magnitude<64, shifted>(words, static_cast<std::uint64_t>(magnitude), shift, negative);
    add_magnitude<bits - 64, shifted>(words + 2, magnitude >> 64, shift, negative);
  } else {
    constexpr unsigned all = shifted ? bits + 31 : bits;
    using Bits = std::conditional_t<all <= 64, std::uint64_t, Wide>;
    const Bits moved = static_cast<Bits>(magnitude) << shift;
    const std::int64_t sign = negative ? -1 : 0;
    for (unsigned k = 0; k < (all + 31) / 32; ++k) {
      words[k] += (static_cast<std::int64_t>(static_cast<std::uint64_t>(moved >> (32 * k)) & low_32) ^ sign) - sign;
    }
  }
}

template <class T>
struct FloatBits;
template <>
struct FloatBits<Half> {
  using Bits = std::uint16_t;
  static constexpr unsigned fraction = 10;
};
template <>
struct FloatBits<float> {
  using Bits = std::uint32_t;
  static constexpr unsigned fraction = 23;
};
template <>
struct FloatBits<double> {
  using Bits = std::uint64_t;
  static constexpr unsigned fraction = 52;
};

template <class T, bool squared>
void add_floats(const std::uint32_t* slots, const void* weights, std::size_t count, std::int64_t* words,
                std::uint8_t* flags) {
  using Bits = typename FloatBits<T>::Bits;
  constexpr WeightFormat format(dtype_of<T>, squared);
  constexpr unsigned fraction_bits = FloatBits<T>::fraction;
  constexpr unsigned exponent_mask = (1U << (8 * sizeof(T) - 1 - fraction_bits)) - 1;
  const T* x = static_cast<const T*>(weights);
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<Bits>(x[i]);
    const auto exponent = static_cast<unsigned>(bits >> fraction_bits) & exponent_mask;
    const auto fraction = static_cast<std::uint64_t>(bits) & ((std::uint64_t{1} << fraction_bits) - 1);
    const bool negative = !squared && (bits >> (8 * sizeof(T) - 1)) != 0;
    if (exponent == exponent_mask) [[unlikely]] {
      flags[slots[i]] |= fraction != 0 ? fixed::has_nan : negative ? fixed::has_minus_infinity : fixed::has_infinity;
      continue;
    }
    const std::uint64_t mantissa = fraction | static_cast<std::uint64_t>(exponent != 0) << fraction_bits;
    unsigned shift = exponent - static_cast<unsigned>(exponent != 0);
    Wide magnitude = mantissa;
    if constexpr (squared) {
      magnitude *= mantissa;
      shift *= 2;
    }
    std::int64_t* at = words + slots[i] * format.words() + shift / 32;
    add_magnitude<format.bits, true>(at, magnitude, shift % 32, negative);
  }
}

template <class T, bool squared>
void add_integers(const std::uint32_t* slots, const void* weights, std::size_t count, std::int64_t* words,
                  std::uint8_t* /*flags*/) {
  constexpr WeightFormat format(dtype_of<T>, squared);
  const T* x = static_cast<const T*>(weights);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t* at = words + slots[i] * format.words();
    if constexpr (squared) {
      const auto wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(x[i]));
      const auto magnitude = static_cast<Wide>(x[i] < 0 ? std::uint64_t{0} - wide : wide);
      add_magnitude<format.bits, false>(at, magnitude * magnitude, 0, false);
    } else if constexpr (sizeof(T) < 8) {
      at[0] += static_cast<std::int64_t>(x[i]);
    } else {
      at[0] += static_cast<std::int64_t>(static_cast<std::uint64_t>(x[i]) & low_32);
      at[1] += static_cast<std::int64_t>(x[i] >> 32);
    }
  }
}

}  // namespace

AddWeights add_weights(const WeightFormat& format) noexcept {
  return dispatch(format.weights, [&](auto tag) -> AddWeights {
    using T = typename decltype(tag)::type;
    if constexpr (is_float(dtype_of<T>)) {
      return format.squared ? add_floats<T, true> : add_floats<T, false>;
    } else {
      return format.squared ? add_integers<T, true> : add_integers<T, false>;
    }
  });
}

void WeightSums::propagate(std::uint64_t first, std::uint64_t end) noexcept {
  for (std::uint64_t slot = first; slot < end; ++slot) fixed::propagate({words(slot), format_.words()});
}

void WeightSums::merge(const WeightSums& other, std::uint64_t first) noexcept {
  std::int64_t* to = words(first);
  for (std::size_t i = 0; i < other.words_.size(); ++i) to[i] += other.words_[i];
  for (std::size_t i = 0; i < other.flags_.size(); ++i) flags_[first + i] |= other.flags_[i];
}

void WeightSums::add_digits(std::uint64_t slot, const std::uint64_t* digits) noexcept {
  std::int64_t* to = words(slot);
  const unsigned count = format_.digits();
  std::int64_t carry = 0;
  for (unsigned d = 0; d + 1 < count; ++d) {
    const std::int64_t value = static_cast<std::int64_t>(digits[d]) + carry;
    carry = value >> 16;
    to[d / 2] += (value & 0xffff) << (16 * (d % 2));
  }
  // The last digit is below 2^62: a carry of at most 2^46 and what carries came to it before.
  const std::int64_t last = static_cast<std::int64_t>(digits[count - 1]) + carry;
  to[(count - 1) / 2] += last * (std::int64_t{1} << (16 * ((count - 1) % 2)));
  *flags(slot) |= static_cast<std::uint8_t>(digits[count]);
  fixed::propagate({to, format_.words()});
}

void WeightSums::write(call::StateWriter& to) const {
  for (const std::int64_t word : words_) to.number(static_cast<std::uint64_t>(word));
  to.raw(std::as_bytes(std::span(flags_)));
}

bool WeightSums::read(call::StateReader& from, std::uint64_t n) {
  const std::vector<std::uint64_t> words = from.numbers(words_.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    words_[i] = static_cast<std::int64_t>(words[i]);
    const bool last = (i + 1) % format_.words() == 0;
    if (!last && words[i] > fixed::digit_mask) return false;
  }
  const std::span<const std::byte> flags = from.raw(flags_.size());
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    flags_[i] = static_cast<std::uint8_t>(flags[i]);
    if (flags_[i] > (fixed::has_nan | fixed::has_infinity | fixed::has_minus_infinity) || (n == 0 && flags_[i] != 0) ||
        !fixed::is_at_most(part(i).number, n, format_.unit + static_cast<int>(format_.range))) {
      return false;
    }
  }
  return true;
}

void WeightSums::move(std::uint64_t from, std::uint64_t to) noexcept {
  std::int64_t* source = words(from);
  for (std::size_t i = 0; i < format_.words(); ++i) words(to)[i] += std::exchange(source[i], 0);
  *flags(to) |= std::exchange(*flags(from), std::uint8_t{0});
  propagate(to, to + 1);
}

fixed::Part WeightSums::part(std::uint64_t slot) const noexcept {
  fixed::Part result;
  result.number = fixed::magnitude_of({words_.data() + slot * format_.words(), format_.words()}, format_.unit);
  result.specials = flags_[slot];
  return result;
}

double WeightSums::total(std::uint64_t slot) const noexcept {
  return fixed::sum_of(part(slot), Dtype::f64);
}

bool WeightSums::integer_total(std::uint64_t slot, std::uint64_t& bits) const noexcept {
  return fixed::integer_of(part(slot), is_signed(format_.weights), bits);
}

// WeightedHistogram: what a result tells.

namespace {

[[noreturn]] void result_invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, fmt::format("WeightedHistogram::{}", message));
}

const BinRule& weighted_column_rule(std::span<const std::shared_ptr<const BinRule>> rules, unsigned d) {
  if (d >= rules.size()) result_invalid(fmt::format("size: the column must be < {}, got {}", rules.size(), d));
  return *rules[d];
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

}  // namespace

std::uint64_t WeightedHistogram::size(unsigned d) const {
  return weighted_column_rule(rules_, d).n;
}

std::vector<double> WeightedHistogram::edges(unsigned d) const {
  return weighted_column_rule(rules_, d).all_edges();
}

template <class T>
std::span<const T> WeightedHistogram::part(const std::vector<T>& all, std::uint64_t row, bool extra) const {
  if (row >= rows_) result_invalid(fmt::format("totals: the row must be < {}, got {}", rows_, row));
  if (all.empty()) return {};
  const std::span<const T> of_row = std::span(all).subspan(row * (joint_bins_ + extras_), joint_bins_ + extras_);
  return extra ? of_row.subspan(joint_bins_) : of_row.first(joint_bins_);
}

std::span<const double> WeightedHistogram::totals(std::uint64_t row) const {
  return part(totals_, row, false);
}
std::span<const std::int64_t> WeightedHistogram::signed_totals(std::uint64_t row) const {
  return part(signed_, row, false);
}
std::span<const std::uint64_t> WeightedHistogram::unsigned_totals(std::uint64_t row) const {
  return part(unsigned_, row, false);
}
std::span<const double> WeightedHistogram::variances(std::uint64_t row) const {
  return part(variances_, row, false);
}
std::span<const double> WeightedHistogram::extra_totals(std::uint64_t row) const {
  return part(totals_, row, true);
}
std::span<const std::int64_t> WeightedHistogram::signed_extra_totals(std::uint64_t row) const {
  return part(signed_, row, true);
}
std::span<const std::uint64_t> WeightedHistogram::unsigned_extra_totals(std::uint64_t row) const {
  return part(unsigned_, row, true);
}
std::span<const double> WeightedHistogram::extra_variances(std::uint64_t row) const {
  return part(variances_, row, true);
}

double WeightedHistogram::extra(std::uint64_t row, bool joint, std::size_t place, const char* name) const {
  if (joint != (rules_.size() > 1)) {
    result_invalid(fmt::format("{}: is of {}, got {}", name, joint ? "several columns" : "one column", rules_.size()));
  }
  return extra_totals(row)[place];
}

double WeightedHistogram::below(std::uint64_t row) const {
  return extra(row, false, slot_below, "below");
}
double WeightedHistogram::above(std::uint64_t row) const {
  return extra(row, false, slot_above, "above");
}
double WeightedHistogram::nan(std::uint64_t row) const {
  return extra_totals(row).back();
}
double WeightedHistogram::outside(std::uint64_t row) const {
  return extra(row, true, 0, "outside");
}

std::vector<double> WeightedHistogram::density(std::uint64_t row) const {
  // As NumPy: divided by the widths, column by column, then by the sum. Of one column, numpy.histogram subtracts the
  // edges in their own type.
  const std::span<const double> from = totals(row);
  std::vector<double> result(from.begin(), from.end());
  ExactSum sum;
  sum.add(ArrayView(from));
  divide_by_widths(rules_, rules_.size() == 1, result);
  for (double& value : result) value /= sum.sum();
  return result;
}

bool operator==(const WeightedHistogram& a, const WeightedHistogram& b) {
  return a.rows_ == b.rows_ && same_bits(a.totals_, b.totals_) && same_bits(a.variances_, b.variances_) &&
         a.signed_ == b.signed_ && a.unsigned_ == b.unsigned_ && same_edges(a.rules_, b.rules_);
}

namespace {
constexpr std::uint64_t most_slots = std::uint64_t{1} << 31;
constexpr std::uint64_t most_weighted_rows = std::uint64_t{1} << 20;
}  // namespace

WeightedShape::WeightedShape(Dtype dtype, Dtype of_weights, std::span<const Bins> bins, const WeightedOptions& options,
                             std::uint64_t elements)
    : weights_dtype(of_weights), rows(options.rows), row_elements(elements) {
  check_count(bins.size());
  if (rows < 1 || rows > most_weighted_rows) {
    weighted_invalid(fmt::format("rows must be 1 to {}, got {}", most_weighted_rows, rows));
  }
  if (rows > 1 && bins.size() > 1) {
    weighted_invalid(fmt::format("rows are for one column, got {} columns", bins.size()));
  }
  if (rows > 1 && elements > std::numeric_limits<std::uint64_t>::max() / rows) {
    weighted_invalid(fmt::format("rows must have fewer than 2^64 elements in all, got {} of {}", rows, elements));
  }
  if (rows == 1) row_elements = std::numeric_limits<std::uint64_t>::max();
  for (const Bins& column : bins) {
    auto rule = std::make_shared<const BinRule>(column, dtype, options.right_open, bins.size() > 1);
    if (rule->n > most_slots / rows / joint_bins) {
      weighted_invalid(
          fmt::format("rows * joint bins must be at most 2^31, got {} * {} and more", rows * joint_bins, rule->n));
    }
    joint_bins *= rule->n;
    rules.push_back(std::move(rule));
  }
  slots = joint_bins + (bins.size() > 1 ? 2 : extra_slots);
  formats.emplace_back(weights_dtype, false);
  if (options.variances) formats.emplace_back(weights_dtype, true);
}

void WeightedShape::refuse_total(std::uint64_t row, std::uint64_t slot) const {
  std::string where;
  const bool joint = rules.size() > 1;
  constexpr std::string_view of_one[] = {"the values below the bins", "the values above the bins", "the NaNs"};
  constexpr std::string_view of_several[] = {"the points outside of the bins", "the points with a NaN"};
  if (slot >= joint_bins) {
    where = joint ? of_several[slot - joint_bins] : of_one[slot - joint_bins];
  } else {
    where = fmt::format("{} {}", joint ? "joint bin" : "bin", slot);
    for (std::uint64_t stride = joint_bins, d = 0; joint && d < rules.size(); ++d) {
      stride /= rules[d]->n;
      where += fmt::format("{}{}", d == 0 ? " (" : ", ", slot / stride % rules[d]->n);
      if (d + 1 == rules.size()) where += ")";
    }
  }
  if (rows > 1) where += fmt::format(" of row {}", row);
  weighted_invalid(fmt::format("the total of {} must fit {}, got one that does not", where,
                               is_signed(weights_dtype) ? "i64" : "u64"));
}

WeightedHistogram WeightedShape::empty(std::uint64_t n) const {
  WeightedHistogram result;
  result.rows_ = rows;
  result.joint_bins_ = joint_bins;
  result.extras_ = slots - joint_bins;
  result.n_ = n;
  result.dtype_ = rules.front()->dtype;
  result.weights_dtype_ = weights_dtype;
  result.rules_ = rules;
  return result;
}

WeightedHistogram WeightedShape::of(std::uint64_t n, std::span<const double> totals, std::span<const double> variances,
                                    std::span<const std::uint64_t> integers) const {
  WeightedHistogram result = empty(n);
  result.totals_.assign(totals.begin(), totals.end());
  result.variances_.assign(variances.begin(), variances.end());
  if (is_signed(weights_dtype)) result.signed_.assign(integers.begin(), integers.end());
  else result.unsigned_.assign(integers.begin(), integers.end());
  return result;
}

}  // namespace masu
