// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_cpu.h"

#include "elements/stored_float.h"
#include "sum/sum_quick.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sum/sum_quick_columns.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sum/sum_certain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

constexpr std::size_t column_strip = 512;           // columns whose sums stay in the first-level cache
constexpr std::uint64_t column_rows_together = 16;  // rows that are read side by side

struct ColumnSums {
  static constexpr std::size_t most_fields = 5;
  HWY_ALIGN double fields[most_fields][column_strip];
  ColumnSums(std::size_t columns, std::size_t used) {
    const std::size_t lanes = hn::Lanes(QD());
    for (std::size_t i = 0; i < used; ++i) std::fill_n(fields[i], (columns + lanes - 1) / lanes * lanes, 0.0);
  }
};

// Numbers cut in two: a multiple of a unit, whose sums are exact as long as the numbers are not larger than is known
// beforehand, and a rest. It takes half the additions of QuickErrors.
//
// Method: S. M. Rump, T. Ogita, S. Oishi, "Accurate floating-point summation part I", SIAM J. Sci. Comput. 31(1), 2008.
// For fewer than 2^40 numbers. A unit is represented by 1.5 * 2^52 units: adding and subtracting that cuts a number.
class QuickUnits {
 public:
  explicit QuickUnits(std::uint64_t count)
      : count_(static_cast<double>(count)),
        to_unit_(1.5 * PowerOfTwo(margin + static_cast<int>(std::bit_width(count)) - 1)),
        to_most_(1 / 1.5 * PowerOfTwo(1 - static_cast<int>(std::bit_width(count)))) {}
  // For numbers hardly larger than `sample`; NaN where there is none.
  [[nodiscard]] HWY_INLINE double Unit(double sample) const {
    constexpr std::uint64_t exponent = 0x7ff0000000000000;
    const double size = std::bit_cast<double>(std::bit_cast<std::uint64_t>(std::max(sample, 0x1p-800)) & exponent);
    return size < 0x1p800 ? size * to_unit_ : std::numeric_limits<double>::quiet_NaN();
  }
  // How large the numbers may be.
  [[nodiscard]] HWY_INLINE double Most(double unit) const { return unit * to_most_; }
  // How far the sum of the rests, at most half a unit each, can be from the exact one: each passes through at most
  // `additions` additions.
  [[nodiscard]] HWY_INLINE double Bound(double unit, double additions) const {
    return unit * 0x1p-52 * count_ * additions * 0x1p-53;
  }

 private:
  static constexpr int margin = 5;  // bits
  static double PowerOfTwo(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
  }
  double count_;
  double to_unit_;
  double to_most_;
};
// Split numbers, of columns.
struct QuickSplitColumn {
  QV sum;
  QV most;  // the largest magnitude
  QV rest;
  QV any;  // the bits of all rests
  QV unit;
  HWY_INLINE QuickSplitColumn() {}
  // What is larger than is known has a part that is larger, too.
  HWY_INLINE void Add(QV x) {
    const QV part = hn::Sub(hn::Add(x, unit), unit);
    const QV left = hn::Sub(x, part);
    sum = hn::Add(sum, part);
    rest = hn::Add(rest, left);
    most = hn::Max(most, hn::Abs(part));
    any = hn::Or(any, left);
  }
  template <class F>
  HWY_INLINE void EachField(const F& f) {
    f(sum);
    f(most);
    f(rest);
    f(any);
    f(unit);
  }
};

// Sums of numbers of two doubles, and of their squares.
struct QuickPairMoments : QuickMoments {
  HWY_INLINE QuickPairMoments() {}
  HWY_INLINE void Add(QV x, QV rest) {
    QuickMoments::Add(x);
    sum_error = hn::Add(sum_error, rest);
    squares_error = hn::Add(squares_error, hn::Mul(hn::Add(x, x), rest));
  }
};
// The same of numbers whose squares are doubles: exact as long as `any` is 0.
struct QuickExactMoments {
  QV sum;
  QV squares;
  QV any;  // the bits of all errors
  HWY_INLINE QuickExactMoments() {}
  HWY_INLINE void Add(QV x) {
    any = hn::Or(any, QuickAddTo(sum, x));
    any = hn::Or(any, QuickAddTo(squares, hn::Mul(x, x)));
  }
  template <class F>
  HWY_INLINE void EachField(const F& f) {
    f(sum);
    f(squares);
    f(any);
  }
};
// Adds `rows` rows to the sums of a strip of columns, of which as many rows and one follow if `more`.
// What the doubles of words leave stands `rest` elements after them.
template <class S, class T>
void AddStrip(const T* x, std::uint64_t rows, bool more, std::uint64_t stride, std::size_t columns, ColumnSums& sums,
              std::size_t rest = 0) {
  const QD d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t vectors = 2;  // side by side, as one waits for its sum
  const auto add_to = [&](S& to, const T* from, const auto&... n) HWY_ATTR {
    if constexpr (std::is_same_v<S, QuickPairMoments>) to.Add(QuickLoad(from, n...), QuickLoad(from + rest, n...));
    else to.Add(QuickLoad(from, n...));
  };
  const auto add = [&](std::size_t c, auto side_by_side, const auto& add_row) HWY_ATTR {
    constexpr std::size_t n = decltype(side_by_side)::value;
    S s[n];
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t field = 0;
      s[k].EachField([&](QV& v) HWY_ATTR { v = hn::Load(d, sums.fields[field++] + c + k * lanes); });
    }
    for (std::uint64_t row = 0; row < rows; ++row) add_row(x + row * stride + c, s);
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t field = 0;
      s[k].EachField([&](QV& v) HWY_ATTR { hn::Store(v, d, sums.fields[field++] + c + k * lanes); });
    }
  };
  std::size_t c = 0;
  for (; c + vectors * lanes <= columns; c += vectors * lanes) {
    add(c, std::integral_constant<std::size_t, vectors>(), [&](const T* from, S* s) HWY_ATTR {
      if (more) __builtin_prefetch(from + rows * stride);
      for (std::size_t k = 0; k < vectors; ++k) add_to(s[k], from + k * lanes);
    });
  }
  for (; c < columns; c += lanes) {
    const std::size_t n = std::min(lanes, columns - c);
    add(c, std::integral_constant<std::size_t, 1>(), [&](const T* from, S* s) HWY_ATTR {
      if (n == lanes) add_to(*s, from);
      else add_to(*s, from, n);
    });
  }
}
// A strip of neighbouring columns.
struct Strip {
  Dtype dtype;
  const void* x;
  std::uint64_t rows;
  std::uint64_t stride;  // elements from row to row
  std::size_t columns;
};
template <class F>
HWY_INLINE void WithElements(const Strip& strip, const F& f) {
  dispatch(strip.dtype, [&]<class T>(TypeTag<T>) HWY_ATTR { f(static_cast<const T*>(strip.x)); });
}

// Whether an element is more than a double holds.
constexpr bool AreWords(Dtype dtype) {
  return size_of(dtype) == sizeof(std::uint64_t) && !is_float(dtype);
}

// Rows as floats or doubles; those of words as doubles, and after all of them what these leave.
template <class To>
void Widened(const Strip& strip, std::uint64_t first, std::uint64_t rows, To* to) {
  WithElements(strip, [&]<class T>(const T* x) HWY_ATTR {
    const bool whole = strip.stride == strip.columns;  // rows without gaps are one
    const std::size_t length = whole ? rows * strip.columns : strip.columns;
    To* rest = to + rows * strip.columns;
    for (std::uint64_t row = first; row < first + (whole ? 1 : rows); ++row, to += length, rest += length) {
      const T* const from = x + row * strip.stride;
      for (std::size_t c = 0; c < length; ++c) {
        if constexpr (AreWords(dtype_of<T>)) {
          using High = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
          const To high = static_cast<To>(static_cast<High>(from[c] >> 32)) * static_cast<To>(0x1p32);
          const To low = static_cast<To>(static_cast<std::uint32_t>(from[c]));
          to[c] = high + low;
          rest[c] = low - (to[c] - high);
        } else if constexpr (is_stored<T>) {
          to[c] = to_float(from[c]);
        } else {
          to[c] = static_cast<To>(from[c]);
        }
      }
    }
  });
}

template <class S, class T>
void AddRows(const Strip& strip, ColumnSums& sums) {
  HWY_ALIGN T block[(std::is_same_v<T, double> ? 2 : 1) * column_rows_together * column_strip];
  const std::uint64_t parts = AreWords(strip.dtype) && !std::is_same_v<S, QuickPairMoments> ? 2 : 1;
  for (std::uint64_t row = 0; row < strip.rows; row += column_rows_together) {
    const std::uint64_t here = std::min(column_rows_together, strip.rows - row);
    if (strip.dtype == dtype_of<T>) {
      const T* const from = static_cast<const T*>(strip.x) + row * strip.stride;
      AddStrip<S>(from, here, row + 2 * here <= strip.rows, strip.stride, strip.columns, sums);
    } else {
      Widened(strip, row, here, block);
      AddStrip<S>(block, here * parts, false, strip.columns, strip.columns, sums, here * strip.columns);
    }
  }
}
// Adds elements as they are, and those of other dtypes as the float or double that they are.
template <class S>
void AddColumns(const Strip& strip, ColumnSums& sums) {
  if (strip.dtype == Dtype::f32 || size_of(strip.dtype) < sizeof(float)) AddRows<S, float>(strip, sums);
  else AddRows<S, double>(strip, sums);
}

// Rounds totals(column) of a vector of columns to R. Returns whether all are certain.
template <class R, bool Exact, class Totals>
bool RoundColumns(std::size_t columns, double divisor, bool root, double* results, std::uint8_t* sure,
                  const Totals& totals) {
  const QD d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN double found[HWY_MAX_BYTES / sizeof(double)];
  bool all = true;
  std::memset(sure, 1, columns);
  for (std::size_t c = 0; c < columns; c += lanes) {
    const std::size_t n = std::min(lanes, columns - c);
    const QuickTotals of = totals(c);
    const QuickResults made = root ? QuickRoot<R>(of, divisor) : QuickQuotient<R, Exact>(of, divisor);
    if (n == lanes) {
      hn::StoreU(made.numbers, d, results + c);
    } else {
      hn::Store(made.numbers, d, found);
      std::copy_n(found, n, results + c);
    }
    if (hn::AllTrue(d, made.sure)) continue;
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, made.sure, bits);
    for (std::size_t i = 0; i < n; ++i) {
      sure[c + i] = bits[0] >> i & 1;
      all = all && sure[c + i] != 0;
    }
  }
  return all;
}

template <class R, class S>
bool SumsBy(const Strip& strip, double divisor, double* results, std::uint8_t* sure) {
  constexpr bool exact = std::is_same_v<S, QuickExact>;
  ColumnSums sums(strip.columns, exact ? 2 : 3);
  AddColumns<S>(strip, sums);
  const QD d;
  const auto additions = static_cast<double>(strip.rows * (AreWords(strip.dtype) ? 2 : 1));
  const auto totals = [&](std::size_t c) HWY_ATTR -> QuickTotals {
    const QV zero = hn::Zero(d);
    const QV sum = hn::Load(d, sums.fields[0] + c);
    const QV size = hn::Load(d, sums.fields[1] + c);
    const double times = std::is_same_v<S, QuickTwice> ? 2 : additions * 0x1p-52;
    const QV lost = hn::Add(QuickTimes(size, times), hn::Set(d, 0x1p-1074));
    const QV bound = exact ? hn::Set(d, std::numeric_limits<double>::infinity()) : lost;
    constexpr bool has_error = !exact && !std::is_same_v<S, QuickPlain>;
    return {sum, has_error ? hn::Load(d, sums.fields[2] + c) : zero, hn::IfThenZeroElse(hn::Eq(size, zero), bound)};
  };
  return RoundColumns<R, exact>(strip.columns, divisor, false, results, sure, totals);
}

// By split numbers; false where one is larger than its column's first ones let expect.
template <class R>
bool SplitColumns(const Strip& strip, double divisor, double* results, std::uint8_t* sure, bool& all) {
  ColumnSums sums(strip.columns, 5);
  const QuickUnits rule(strip.rows);
  double* const units = sums.fields[4];
  for (std::uint64_t row = 0; row < column_rows_together; ++row) {
    const double* const from = static_cast<const double*>(strip.x) + row * strip.stride;
    for (std::size_t c = 0; c < strip.columns; ++c) units[c] = std::max(units[c], std::fabs(from[c]));
  }
  for (std::size_t c = 0; c < strip.columns; ++c) units[c] = rule.Unit(units[c]);
  AddRows<QuickSplitColumn, double>(strip, sums);
  double* const bounds = sums.fields[3];
  for (std::size_t c = 0; c < strip.columns; ++c) {
    if (!(sums.fields[1][c] <= rule.Most(units[c]))) return false;
    bounds[c] = bounds[c] == 0 ? 0 : rule.Bound(units[c], static_cast<double>(strip.rows));
  }
  const QD d;
  all =
      RoundColumns<R, false>(strip.columns, divisor, false, results, sure, [&](std::size_t c) HWY_ATTR -> QuickTotals {
        return {hn::Load(d, sums.fields[0] + c), hn::Load(d, sums.fields[2] + c), hn::Load(d, bounds + c)};
      });
  return true;
}

template <class R>
bool SumsOfColumns(const Strip& strip, double divisor, double* results, std::uint8_t* sure) {
  const auto by = [&]<class S>(std::type_identity<S>) HWY_ATTR { return SumsBy<R, S>(strip, divisor, results, sure); };
  const bool few = strip.rows * (AreWords(strip.dtype) ? 2 : 1) <= quick_few;
  if (strip.dtype == Dtype::f64) {
    bool all = false;
    if (!few && SplitColumns<R>(strip, divisor, results, sure, all)) return all;
  } else if (few || strip.dtype != Dtype::f32) {
    if (by(std::type_identity<QuickExact>())) return true;
  } else if (std::is_same_v<R, float>) {
    return by(std::type_identity<QuickPlain>());
  }
  return few ? by(std::type_identity<QuickTwice>()) : by(std::type_identity<QuickErrors>());
}

template <class R, class S>
bool SpreadsBy(const Strip& strip, const QuickSpread& what, double* results, std::uint8_t* sure) {
  ColumnSums sums(strip.columns, 4);
  AddColumns<S>(strip, sums);
  const QD d;
  const auto n = static_cast<double>(what.count);
  // Plain sums lose at most n parts in 2^53 of their magnitudes, and so does n * squares; the square of the sum twice
  // that.
  const QV plain_loss = hn::Set(d, 4 * (n + 4) * 0x1p-53);
  const QV loss = hn::Set(d, QuickSpreadLost(n) * (std::is_same_v<S, QuickPairMoments> ? 2 : 1));
  const auto field = [&](std::size_t i, std::size_t c) HWY_ATTR { return hn::Load(d, sums.fields[i] + c); };
  const auto totals = [&](std::size_t c) HWY_ATTR {
    QuickMoments of;
    of.sum = field(0, c);
    if constexpr (std::is_same_v<S, QuickExactMoments>) {
      of.squares = field(1, c);
      return QuickSpreadOf(of, n, hn::IfThenZeroElse(hn::Eq(field(2, c), hn::Zero(d)), plain_loss));
    } else {
      of.sum_error = field(1, c);
      of.squares = field(2, c);
      of.squares_error = field(3, c);
      return QuickSpreadOf(of, n, loss);
    }
  };
  const double divisor = n * static_cast<double>(what.count - what.ddof);
  return RoundColumns<R, false>(strip.columns, divisor, what.root, results, sure, totals);
}

// Finds columns of one finite number, whose variance is 0, among those that are not certain.
bool FindConstants(const Strip& strip, double* results, std::uint8_t* sure) {
  bool all = true;
  WithElements(strip, [&]<class T>(const T* x) HWY_ATTR {
    using Bits = UnsignedOf<sizeof(T)>;
    HWY_ALIGN Bits others[column_strip] = {};
    const auto* const first = reinterpret_cast<const Bits*>(x);
    for (std::uint64_t row = 1; row < strip.rows; ++row) {
      const Bits* const from = first + row * strip.stride;
      for (std::size_t c = 0; c < strip.columns; ++c) others[c] = static_cast<Bits>(others[c] | (from[c] ^ first[c]));
    }
    for (std::size_t c = 0; c < strip.columns; ++c) {
      if (sure[c] != 0) continue;
      bool equal = others[c] == 0;
      if constexpr (is_float(dtype_of<T>)) equal = equal && (first[c] & infinity_bits<T>) != infinity_bits<T>;
      results[c] = 0;
      sure[c] = equal ? 1 : 0;
      all = all && equal;
    }
  });
  return all;
}

template <class R>
bool SpreadsOfColumns(const Strip& strip, const QuickSpread& what, double* results, std::uint8_t* sure) {
  const auto by = [&]<class S>(std::type_identity<S>) HWY_ATTR {
    return SpreadsBy<R, S>(strip, what, results, sure) || FindConstants(strip, results, sure);
  };
  const bool narrow = strip.dtype == Dtype::f32 || size_of(strip.dtype) < sizeof(float);
  if (narrow && by(std::type_identity<QuickExactMoments>())) return true;
  return AreWords(strip.dtype) ? by(std::type_identity<QuickPairMoments>()) : by(std::type_identity<QuickMoments>());
}

// Results of columns, each rounded to f32 or f64; sums of stored floats to f64. Returns whether all are certain.
bool QuickColumns(const SumRule& rule, const std::byte* x, std::uint64_t rows, std::uint64_t stride,
                  std::uint64_t columns, double* results, std::uint8_t* sure) {
  bool all = true;
  for (std::uint64_t first = 0; first < columns; first += column_strip) {
    const std::size_t here = std::min<std::uint64_t>(column_strip, columns - first);
    const Strip strip{rule.dtype, x + first * size_of(rule.dtype), rows, stride, here};
    const auto rounded = [&]<class R>(R) HWY_ATTR {
      const double divisor = rule.function == SumRule::Function::mean ? static_cast<double>(rows) : 1;
      const bool root = rule.function == SumRule::Function::standard_deviation;
      if (!rule.is_spread()) return SumsOfColumns<R>(strip, divisor, results + first, sure + first);
      return SpreadsOfColumns<R>(strip, {rows, rule.ddof, root, rule.result}, results + first, sure + first);
    };
    const bool narrow = rule.result == Dtype::f32 || (is_stored_float(rule.result) && rule.is_spread());
    all = (narrow ? rounded(float{}) : rounded(double{})) && all;
  }
  return all;
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(QuickColumns);

bool are_quick_columns(const SumRule& rule, std::uint64_t rows) noexcept {
  constexpr std::uint64_t most = std::uint64_t{1} << 25;         // whose square is a divisor
  constexpr std::uint64_t most_stored = std::uint64_t{1} << 13;  // f16: multiples of 2^-24 below 2^16 add up to 53 bits
  const bool sum = rule.function == SumRule::Function::sum;
  if (rows == 0 || rows > most || (!sum && rule.function != SumRule::Function::mean && !rule.is_spread())) return false;
  if (!is_stored_float(rule.dtype)) return !is_stored_float(rule.result) && (!sum || is_float(rule.dtype));
  return rule.result == rule.dtype && rows <= most_stored;
}

bool quick_columns(const SumRule& rule, const void* x, std::uint64_t rows, std::uint64_t stride, std::uint64_t columns,
                   double* results, std::uint8_t* sure) {
  bool all =
      HWY_DYNAMIC_DISPATCH(QuickColumns)(rule, static_cast<const std::byte*>(x), rows, stride, columns, results, sure);
  // A quotient of an exact sum by so small a number that is not the middle of two stored floats is farther from it than
  // f64 rounds; other sums and a variance are known where their neighbours, in f64 or f32, are rounded to the same.
  const double near = rule.is_spread() ? 0x1p-22 : has_few_places(rule.dtype) ? 0 : 0x1p-50;
  dispatch(rule.result, [&]<class T>(TypeTag<T>) {
    if constexpr (is_stored<T>) {
      for (std::uint64_t c = 0; c < columns; ++c) {
        const double low = to_double(rounded_to<T>(results[c] * (1 - near)));
        if (near != 0 && low != to_double(rounded_to<T>(results[c] * (1 + near)))) {
          sure[c] = 0;
          all = false;
        }
        results[c] = low + 0.0;  // no zero is negative
      }
    }
  });
  return all;
}

}  // namespace masu::cpu
#endif
