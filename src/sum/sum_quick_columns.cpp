// SPDX-License-Identifier: Apache-2.0
#include "sum/compensated.h"
#include "sum/sum_quick.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sum/sum_quick_columns.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sum/sum_quick-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

constexpr std::size_t column_strip = 512;           // columns whose sums stay in the first-level cache
constexpr std::uint64_t column_rows_together = 16;  // rows that are read side by side

struct ColumnSums {
  static constexpr std::size_t most_fields = 5;
  HWY_ALIGN double fields[most_fields][column_strip];
  explicit ColumnSums(std::size_t columns) {
    const std::size_t lanes = hn::Lanes(QD());
    for (auto& field : fields) std::fill_n(field, (columns + lanes - 1) / lanes * lanes, 0.0);
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

// Adds `rows` rows to the sums of a strip of columns, of which as many rows and one follow if `more`.
template <class S, class T>
void AddStrip(const T* x, std::uint64_t rows, bool more, std::uint64_t stride, std::size_t columns, ColumnSums& sums) {
  const QD d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t vectors = 2;  // side by side, as one waits for its sum
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
      for (std::size_t k = 0; k < vectors; ++k) s[k].Add(QuickLoad(from + k * lanes));
    });
  }
  for (; c < columns; c += lanes) {
    const std::size_t n = std::min(lanes, columns - c);
    add(c, std::integral_constant<std::size_t, 1>(),
        [&](const T* from, S* s) HWY_ATTR { s->Add(n == lanes ? QuickLoad(from) : QuickLoad(from, n)); });
  }
}
template <class S, class T>
void AddColumns(const T* x, std::uint64_t rows, std::uint64_t stride, std::size_t columns, ColumnSums& sums) {
  for (std::uint64_t row = 0; row < rows; row += column_rows_together) {
    const std::uint64_t here = std::min(column_rows_together, rows - row);
    AddStrip<S>(x + row * stride, here, row + 2 * here <= rows, stride, columns, sums);
  }
}

// The number sum + error + d, |d| <= bound, divided and rounded.
template <class T>
std::optional<double> ColumnResult(double sum, double error, double bound, double divisor) {
  return divisor == 1 ? certain<T>(sum, error, bound) : certain_quotient<T>(sum, error, bound, divisor);
}

template <class S, class T>
void ColumnsBy(const T* x, std::uint64_t rows, std::uint64_t stride, std::size_t columns, double divisor, T* result,
               std::uint8_t* sure) {
  ColumnSums sums(columns);
  AddColumns<S>(x, rows, stride, columns, sums);
  for (std::size_t c = 0; c < columns; ++c) {
    const double error = std::is_same_v<S, QuickPlain> ? 0 : sums.fields[2][c];
    const double bound = QuickBound<S>(sums.fields[1][c], static_cast<double>(rows));
    const auto found = ColumnResult<T>(sums.fields[0][c], error, bound, divisor);
    sure[c] = found.has_value();
    result[c] = static_cast<T>(found.value_or(0));
  }
}

// By split numbers; false where one is larger than its column's first ones let expect.
bool SplitColumns(const double* x, std::uint64_t rows, std::uint64_t stride, std::size_t columns, double divisor,
                  double* result, std::uint8_t* sure) {
  ColumnSums sums(columns);
  const QuickUnits rule(rows);
  double* const units = sums.fields[4];
  for (std::uint64_t row = 0; row < column_rows_together; ++row) {
    const double* const from = x + row * stride;
    for (std::size_t c = 0; c < columns; ++c) units[c] = std::max(units[c], std::fabs(from[c]));
  }
  for (std::size_t c = 0; c < columns; ++c) units[c] = rule.Unit(units[c]);
  AddColumns<QuickSplitColumn>(x, rows, stride, columns, sums);
  for (std::size_t c = 0; c < columns; ++c) {
    if (!(sums.fields[1][c] <= rule.Most(units[c]))) return false;
    const double bound = sums.fields[3][c] == 0 ? 0 : rule.Bound(units[c], static_cast<double>(rows));
    const auto found = ColumnResult<double>(sums.fields[0][c], sums.fields[2][c], bound, divisor);
    sure[c] = found.has_value();
    result[c] = found.value_or(0);
  }
  return true;
}

template <class T>
void QuickColumns(const T* x, std::uint64_t rows, std::uint64_t stride, std::uint64_t count, double divisor, T* result,
                  std::uint8_t* sure) {
  for (std::uint64_t first = 0; first < count; first += column_strip) {
    const std::size_t columns = std::min<std::uint64_t>(column_strip, count - first);
    const auto by = [&](auto sums) HWY_ATTR {
      ColumnsBy<decltype(sums)>(x + first, rows, stride, columns, divisor, result + first, sure + first);
    };
    if (rows <= quick_few) {
      by(QuickTwice());
    } else if constexpr (std::is_same_v<T, float>) {
      by(QuickPlain());
    } else if (!SplitColumns(x + first, rows, stride, columns, divisor, result + first, sure + first)) {
      by(QuickErrors());
    }
  }
}

template <class T>
void SquaresOfColumns(const T* x, std::uint64_t rows, std::uint64_t count, QuickSquares* found) {
  constexpr bool exact = HWY_NATIVE_FMA != 0 || std::is_same_v<T, float>;
  for (std::uint64_t first = 0; first < count; first += column_strip) {
    const std::size_t columns = std::min<std::uint64_t>(column_strip, count - first);
    ColumnSums sums(columns);
    AddColumns<QuickMoments>(x + first, rows, count, columns, sums);
    for (std::size_t c = 0; c < columns; ++c) {
      found[first + c] = {sums.fields[0][c], sums.fields[1][c],
                          exact ? sums.fields[2][c] : std::numeric_limits<double>::infinity(), sums.fields[3][c],
                          static_cast<double>(rows)};
    }
  }
}

#define MASU_QUICK_COLUMNS(name, T)                                                                                  \
  void QuickSquares##name(const T* x, std::uint64_t rows, std::uint64_t columns, QuickSquares* found) {              \
    SquaresOfColumns(x, rows, columns, found);                                                                       \
  }                                                                                                                  \
  void QuickColumns##name(const T* x, std::uint64_t rows, std::uint64_t stride, std::uint64_t count, double divisor, \
                          T* result, std::uint8_t* sure) {                                                           \
    QuickColumns(x, rows, stride, count, divisor, result, sure);                                                     \
  }
MASU_QUICK_COLUMNS(F32, float)
MASU_QUICK_COLUMNS(F64, double)
#undef MASU_QUICK_COLUMNS

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

#define MASU_QUICK_COLUMNS(name, T)                                                                                 \
  HWY_EXPORT(QuickColumns##name);                                                                                   \
  HWY_EXPORT(QuickSquares##name);                                                                                   \
  void quick_squares(const T* x, std::uint64_t rows, std::uint64_t columns, QuickSquares* found) {                  \
    HWY_DYNAMIC_DISPATCH(QuickSquares##name)(x, rows, columns, found);                                              \
  }                                                                                                                 \
  void quick_columns(const T* x, std::uint64_t rows, std::uint64_t columns, std::uint64_t first, std::uint64_t end, \
                     std::uint64_t divisor, T* result, std::uint8_t* sure) {                                        \
    HWY_DYNAMIC_DISPATCH(QuickColumns##name)                                                                        \
    (x + first, rows, columns, end - first, static_cast<double>(divisor), result, sure);                            \
  }
MASU_QUICK_COLUMNS(F32, float)
MASU_QUICK_COLUMNS(F64, double)
#undef MASU_QUICK_COLUMNS

}  // namespace masu::cpu
#endif
