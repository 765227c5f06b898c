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
  static constexpr std::size_t most_fields = 4;
  HWY_ALIGN double fields[most_fields][column_strip];
  explicit ColumnSums(std::size_t columns) {
    const std::size_t lanes = hn::Lanes(QD());
    for (auto& field : fields) std::fill_n(field, (columns + lanes - 1) / lanes * lanes, 0.0);
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

template <class S, class T>
void ColumnsBy(const T* x, std::uint64_t rows, std::uint64_t stride, std::size_t columns, double divisor, T* result,
               std::uint8_t* sure) {
  ColumnSums sums(columns);
  AddColumns<S>(x, rows, stride, columns, sums);
  for (std::size_t c = 0; c < columns; ++c) {
    const double error = std::is_same_v<S, QuickPlain> ? 0 : sums.fields[2][c];
    const double bound = QuickBound<S>(sums.fields[1][c], static_cast<double>(rows));
    const double sum = sums.fields[0][c];
    const auto found = divisor == 1 ? certain<T>(sum, error, bound) : certain_quotient<T>(sum, error, bound, divisor);
    sure[c] = found.has_value();
    result[c] = static_cast<T>(found.value_or(0));
  }
}

template <class T>
void QuickColumns(const T* x, std::uint64_t rows, std::uint64_t stride, std::uint64_t count, double divisor, T* result,
                  std::uint8_t* sure) {
  for (std::uint64_t first = 0; first < count; first += column_strip) {
    const std::size_t columns = std::min<std::uint64_t>(column_strip, count - first);
    const auto by = [&](auto sums) HWY_ATTR {
      ColumnsBy<decltype(sums)>(x + first, rows, stride, columns, divisor, result + first, sure + first);
    };
    if (rows <= quick_few) by(QuickTwice());
    else if constexpr (std::is_same_v<T, float>) by(QuickPlain());
    else by(QuickErrors());
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
