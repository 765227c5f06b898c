// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_cpu.h"

#include "elements/each_type.h"
#include "elements/stored_float.h"
#include "sum/compensated.h"
#include "sum/sum_quick.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#ifndef MASU_INTEGER_TOTALS
#define MASU_INTEGER_TOTALS
namespace masu::cpu {
namespace {
__extension__ using SignedWide = __int128;
// Exact, as all totals of quick rows are less than 2^127.
struct WideTotal {
  SignedWide value = 0;
  void add(std::int64_t number, int exponent) noexcept { value += SignedWide{number} << exponent; }
  void add(std::uint64_t number, int exponent, bool /*negative*/) noexcept { value += SignedWide{number} << exponent; }
};
struct IntegerTotals {
  WideTotal sum;
  WideTotal squares;
};
// Totals of numbers of 64 bits; a number less the least of its dtype is high * 2^32 + low.
struct SplitTotals {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  fixed::Wide high_high = 0;
  fixed::Wide high_low = 0;
  fixed::Wide low_low = 0;
};
}  // namespace
}  // namespace masu::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sum/sum_quick_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sum/sum_integers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE void AddRow(const T* x, std::uint64_t length, bool squares, IntegerTotals& totals) {
  AddIntegers(x, length, totals.sum);
  if constexpr (sizeof(T) < 8) {
    if (squares) AddIntegerProducts(x, x, length, totals.squares);
  }
}
#define MASU_TOTALS_OF_ROW(name, T)                                                               \
  void TotalsOfRow##name(const T* x, std::uint64_t length, bool squares, IntegerTotals& totals) { \
    AddRow(x, length, squares, totals);                                                           \
  }
MASU_EACH_INTEGER(MASU_TOTALS_OF_ROW)
#undef MASU_TOTALS_OF_ROW

SplitTotals SplitsOfRow(const std::uint64_t* x, std::uint64_t length, std::uint64_t sign) {
  SplitTotals totals;
  for (std::uint64_t i = 0; i < length; ++i) {
    const std::uint64_t number = x[i] ^ sign;
    const std::uint64_t high = number >> fixed::digit_bits;
    const std::uint64_t low = number & fixed::digit_mask;
    totals.high += high;
    totals.low += low;
    totals.high_high += high * high;
    totals.high_low += high * low;
    totals.low_low += low * low;
  }
  return totals;
}

template <class F>
void EachStored(Dtype dtype, const void* x, const F& f) {
  dispatch(dtype, [&]<class T>(TypeTag<T>) HWY_ATTR {
    if constexpr (is_stored<T>) f(static_cast<const T*>(x));
  });
}

void ToFloats(Dtype dtype, const void* x, std::uint64_t count, float* to) {
  EachStored(dtype, x, [&](const auto* from) HWY_ATTR {
    for (std::uint64_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
  });
}

// The sum of stored floats of few places, which is exact in any order.
double SumOfStored(Dtype dtype, const void* x, std::uint64_t length) {
  double sum = 0;
  EachStored(dtype, x, [&](const auto* from) HWY_ATTR {
    constexpr std::uint64_t chains = 16;
    std::array<double, chains> sums{};
    std::uint64_t i = 0;
    for (; i + chains <= length; i += chains) {
      for (std::uint64_t k = 0; k < chains; ++k) sums[k] += static_cast<double>(to_float(from[i + k]));
    }
    for (; i < length; ++i) sum += static_cast<double>(to_float(from[i]));
    for (const double each : sums) sum += each;
  });
  return sum;
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {
namespace {

using Function = SumRule::Function;

constexpr std::uint64_t most_integers = std::uint64_t{1} << 15;  // squares of bytes are added in 32 bits
constexpr std::uint64_t most_stored = std::uint64_t{1} << 13;    // of up to 40 places: such sums have 53 bits
constexpr std::uint64_t most_turned = 32;
constexpr std::uint64_t turned_rows = 128;

#define MASU_TOTALS_OF_ROW(name, T)                                                           \
  HWY_EXPORT(TotalsOfRow##name);                                                              \
  void totals_of_row(const T* x, std::uint64_t length, bool squares, IntegerTotals& totals) { \
    HWY_DYNAMIC_DISPATCH(TotalsOfRow##name)(x, length, squares, totals);                      \
  }
MASU_EACH_INTEGER(MASU_TOTALS_OF_ROW)
#undef MASU_TOTALS_OF_ROW
HWY_EXPORT(SplitsOfRow);
HWY_EXPORT(SumOfStored);
HWY_EXPORT(ToFloats);

// As the sum of two doubles.
QuickPart doubles_of(SignedWide number) {
  double sum = static_cast<double>(static_cast<std::int64_t>(number >> 32)) * 0x1p32;
  double error = add_exactly(sum, static_cast<double>(static_cast<std::uint32_t>(number)));
  if (number >> 84 != 0 && number >> 84 != -1) {
    sum = static_cast<double>(number);
    error = static_cast<double>(number - static_cast<SignedWide>(sum));
  }
  return {sum, error, 0};
}

// number / divisor, or its root.
std::optional<double> quotient_of(SignedWide number, std::uint64_t divisor, bool root, Dtype result) {
  if (number == 0) return 0;
  const QuickPart total = doubles_of(number);
  const auto by = static_cast<double>(divisor);
  if (!root && total.error == 0 && result == Dtype::f64) return total.sum / by;
  return quick_quotient(total, by, root, result);
}

// A variance does not change where all numbers do by the same, so theirs is that of numbers from 0 on.
std::optional<double> spread_of_wide(const SumRule& rule, const std::uint64_t* x, std::uint64_t length) {
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  const SplitTotals all = HWY_DYNAMIC_DISPATCH(SplitsOfRow)(x, length, is_signed(rule.dtype) ? half : 0);
  const auto above = [n = static_cast<SignedWide>(length)](fixed::Wide products, std::uint64_t a, std::uint64_t b) {
    return n * static_cast<SignedWide>(products) - static_cast<SignedWide>(a) * static_cast<SignedWide>(b);
  };
  // high_high * 2^64 + high_low * 2^33 + low_low, as words whose halves are doubles.
  const SignedWide middle = above(all.high_low, all.high, all.low);
  const SignedWide low = above(all.low_low, all.low, all.low) + (static_cast<SignedWide>(middle & 0x7fffffff) << 33);
  const SignedWide high = above(all.high_high, all.high, all.high) + (middle >> 31) + (low >> 64);
  const auto last = static_cast<std::uint64_t>(low);
  Compensated sum;
  const auto add = [&](auto number, double unit) {
    sum.add(static_cast<double>(static_cast<std::int64_t>(number)) * unit);
  };
  add(high >> 48, 0x1p112);
  add(high & 0xffffffffffff, 0x1p64);
  add(last >> 32, 0x1p32);
  add(last & fixed::digit_mask, 1);
  if (sum.sum == 0 && sum.error == 0 && sum.lost == 0) return 0;
  double total = sum.sum;
  const double rest = add_exactly(total, sum.error);
  const auto by = static_cast<double>(length * (length - rule.ddof));
  return quick_quotient({total, rest, sum.bound()}, by, rule.function == Function::standard_deviation, rule.result);
}

template <class T>
std::optional<double> of_integers(const SumRule& rule, const T* x, std::uint64_t length) {
  if constexpr (sizeof(T) == 8) {
    if (rule.is_spread()) return spread_of_wide(rule, reinterpret_cast<const std::uint64_t*>(x), length);
  }
  IntegerTotals totals;
  totals_of_row(x, length, rule.is_spread(), totals);
  const SignedWide sum = totals.sum.value;
  if (!rule.is_spread()) return quotient_of(sum, length, false, rule.result);
  const auto n = static_cast<SignedWide>(length);
  return quotient_of(n * totals.squares.value - sum * sum, length * (length - rule.ddof),
                     rule.function == Function::standard_deviation, rule.result);
}

// The number that has been rounded to T, rounded to a stored float, where both of its neighbours say the same.
template <class T>
std::optional<double> stored_of(Dtype dtype, std::optional<double> number) {
  if (!number || *number == 0) return number;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const double low = rounded_to(dtype, static_cast<double>(std::nextafter(static_cast<T>(*number), -infinity)));
  const double high = rounded_to(dtype, static_cast<double>(std::nextafter(static_cast<T>(*number), infinity)));
  if (low != high) return std::nullopt;
  return low + 0.0;  // no zero is negative
}

std::optional<double> of_stored(const SumRule& rule, const void* x, std::uint64_t length) {
  const bool exact = has_few_places(rule.dtype);
  if (rule.is_spread() || !exact) {
    std::array<float, most_stored> numbers;
    HWY_DYNAMIC_DISPATCH(ToFloats)(rule.dtype, x, length, numbers.data());
    if (!exact) {
      const std::uint64_t divisor = rule.function == Function::mean ? length : 1;
      const bool root = rule.function == Function::standard_deviation;
      return stored_of<float>(rule.dtype, rule.is_spread()
                                              ? quick_spread(numbers.data(), {length, rule.ddof, root, Dtype::f32})
                                              : quick_sum(numbers.data(), length, Dtype::f32, divisor));
    }
    return stored_of<double>(
        rule.dtype,
        quick_spread(numbers.data(), {length, rule.ddof, rule.function == Function::standard_deviation, Dtype::f64}));
  }
  const double sum = HWY_DYNAMIC_DISPATCH(SumOfStored)(rule.dtype, x, length);
  if (!std::isfinite(sum)) return std::nullopt;
  // A quotient by so small a number that is not the middle of two stored floats is farther from it than f64 rounds.
  const double number = rule.function == Function::mean ? sum / static_cast<double>(length) : sum;
  return rounded_to(rule.dtype, number) + 0.0;  // no zero is negative
}

}  // namespace

std::optional<double> quick_stored_dot(Dtype dtype, const void* x, const void* y, std::uint64_t count) {
  std::array<float, quick_dot_stored> left;
  std::array<float, quick_dot_stored> right;
  HWY_DYNAMIC_DISPATCH(ToFloats)(dtype, x, count, left.data());
  HWY_DYNAMIC_DISPATCH(ToFloats)(dtype, y, count, right.data());
  return stored_of<float>(dtype, quick_dot(left.data(), right.data(), count, Dtype::f32));
}

namespace {

// Rows as columns, by which few elements of a row take less time than lines of their own.
template <class T>
void turned(const SumRule& rule, const T* x, std::uint64_t rows, std::uint64_t length, double* results,
            std::uint8_t* sure) {
  std::array<T, most_turned * turned_rows> columns;
  for (std::uint64_t first = 0; first < rows; first += turned_rows) {
    const std::uint64_t here = std::min(turned_rows, rows - first);
    for (std::uint64_t row = 0; row < here; ++row) {
      const T* const from = x + (first + row) * length;
      T* to = columns.data() + row;
      for (std::uint64_t i = 0; i < length; ++i, to += here) *to = from[i];
    }
    quick_columns(rule, columns.data(), {length, here, here}, results + first, sure + first);
  }
}

// Up to how many elements rows are rather worked on as columns are.
std::uint64_t side_by_side_up_to(const SumRule& rule, std::uint64_t rows) {
  constexpr std::uint64_t most = 64;
  if (rule.is_spread() && size_of(rule.dtype) == 8 && !is_float(rule.dtype)) return most_integers;
  if (rows == 1) return 0;
  return rule.is_spread() || is_float(rule.dtype) ? most : most / 2;
}

}  // namespace

bool are_quick_rows(const SumRule& rule, std::uint64_t rows, std::uint64_t length) noexcept {
  if (!are_quick_columns(rule, length)) return false;
  if (is_stored_float(rule.dtype)) return true;
  return is_float(rule.dtype) ? length <= side_by_side_up_to(rule, rows) : length <= most_integers;
}

void quick_rows(const SumRule& rule, const void* x, std::uint64_t rows, std::uint64_t length, double* results,
                std::uint8_t* sure) {
  dispatch(rule.dtype, [&]<class T>(TypeTag<T>) {
    const T* const from = static_cast<const T*>(x);
    std::fill_n(sure, rows, std::uint8_t{0});
    if (rows > 1 && length <= most_turned) turned(rule, from, rows, length, results, sure);
    else if (length <= side_by_side_up_to(rule, rows)) quick_columns(rule, x, {length, 0, rows}, results, sure);
    for (std::uint64_t row = 0; row < rows; ++row) {
      if (sure[row] != 0) continue;
      std::optional<double> found;
      if constexpr (is_stored<T>) found = of_stored(rule, from + row * length, length);
      else if constexpr (std::is_integral_v<T>) found = of_integers(rule, from + row * length, length);
      sure[row] = found.has_value() ? 1 : 0;
      results[row] = found.value_or(0);
    }
  });
}

}  // namespace masu::cpu
#endif
