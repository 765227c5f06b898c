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

#include "sum/sum_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

constexpr std::uint64_t column_rows_together = 16;  // rows that are read side by side

// Adds `rows` rows to the sums of a strip of columns, which begin if `first`, and of which as many rows and one follow
// if `more`. What the doubles of words leave stands `rest` elements after them.
template <class S, class T>
void AddStrip(const T* x, std::uint64_t rows, bool first, bool more, std::uint64_t stride, std::size_t columns,
              ColumnSums& sums, std::size_t rest = 0) {
  const std::size_t lanes = hn::Lanes(QD());
  constexpr std::size_t vectors = 2;  // side by side, as one waits for its sum
  constexpr std::size_t ahead = 512 / sizeof(T);
  const auto add_to = [&](S& to, const T* from, const auto&... n) HWY_ATTR {
    if constexpr (std::is_same_v<S, QuickPairMoments>) to.Add(QuickLoad(from, n...), QuickLoad(from + rest, n...));
    else if constexpr (TakesElements<S>) to.AddElements(LoadElements(from, n...));
    else to.Add(QuickLoad(from, n...));
  };
  const auto add = [&](std::size_t c, auto side_by_side, const auto& add_row) HWY_ATTR {
    constexpr std::size_t n = decltype(side_by_side)::value;
    S s[n];
    for (std::size_t k = 0; k < n; ++k) {
      if (first && !std::is_same_v<S, QuickSplitColumn>)
        s[k].EachField([](auto& v) HWY_ATTR { v = hn::Zero(hn::DFromV<std::decay_t<decltype(v)>>()); });
      else s[k] = LoadSums<S>(sums, c + k * lanes);
    }
    for (std::uint64_t row = 0; row < rows; ++row) add_row(x + row * stride + c, s);
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t field = 0;
      s[k].EachField([&](auto& v) HWY_ATTR {
        hn::Store(v, hn::DFromV<std::decay_t<decltype(v)>>(), FieldAt(sums, field++, c + k * lanes, v));
      });
    }
  };
  std::size_t c = 0;
  for (; c + vectors * lanes <= columns; c += vectors * lanes) {
    add(c, std::integral_constant<std::size_t, vectors>(), [&](const T* from, S* s) HWY_ATTR {
      __builtin_prefetch(from + (more ? rows * stride : ahead));
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
  for (std::uint64_t row = 0; row < strip.rows; row += column_rows_together) {
    const std::uint64_t here = std::min(column_rows_together, strip.rows - row);
    if (strip.dtype == dtype_of<T>) {
      const T* const from = static_cast<const T*>(strip.x) + row * strip.stride;
      AddStrip<S>(from, here, row == 0, row + 2 * here <= strip.rows, strip.stride, strip.columns, sums);
    } else if constexpr (std::is_floating_point_v<T>) {
      Widened(strip, row, here, block);
      AddStrip<S>(block, here, row == 0, false, strip.columns, strip.columns, sums, here * strip.columns);
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
  ColumnSums sums;
  AddColumns<S>(strip, sums);
  const QD d;
  const double times = std::is_same_v<S, QuickTwice> ? 2 : static_cast<double>(strip.rows) * 0x1p-52;
  return RoundColumns<R, false>(strip.columns, divisor, false, results, sure,
                                [&](std::size_t c) HWY_ATTR -> QuickTotals {
                                  const S of = LoadSums<S>(sums, c);
                                  const QV lost = hn::Add(QuickTimes(of.size, times), hn::Set(d, 0x1p-1074));
                                  return {of.sum, of.error, hn::IfThenZeroElse(hn::Eq(of.size, hn::Zero(d)), lost)};
                                });
}

// Sums of floats, or of what has no more bits than these, by their range. All are multiples of the last bit of the
// least one, so doubles that do not reach 2^53 of it are exact; else n additions are off by 2^-53 of n times the
// greatest each.
template <class R, class T>
bool RangedSums(const Strip& strip, double divisor, double* results, std::uint8_t* sure) {
  using Ranged = QuickRanged<T>;
  using Bits = typename Ranged::Bits;
  using Word = hn::TFromD<Bits>;
  constexpr bool wide = std::is_same_v<T, double>;
  ColumnSums sums;
  AddRows<Ranged, T>(strip, sums);
  int unused = 53 - 24;  // bits of a double
  if constexpr (wide) {
    auto some = hn::Set(Bits(), Word{1} << 52);
    for (std::size_t c = 0; c < strip.columns; c += hn::Lanes(QD()))
      some = hn::Or(some, LoadSums<Ranged>(sums, c).some);
    HWY_ALIGN Word all[HWY_MAX_BYTES / sizeof(Word)] = {};
    hn::Store(some, Bits(), all);
    unused = 52;
    for (std::size_t i = 0; i < hn::Lanes(Bits()); ++i) unused = std::min(unused, std::countr_zero(all[i]));
  } else if (strip.dtype != Dtype::f32) {
    unused =
        53 - (is_float(strip.dtype) ? float_format(strip.dtype).precision : 8 * static_cast<int>(size_of(strip.dtype)));
  }
  const int room = std::max(unused - static_cast<int>(std::bit_width(strip.rows)), 0);
  const auto exponent = [](hn::Vec<Bits> twice) HWY_ATTR {
    return hn::Max(hn::ShiftRight<std::numeric_limits<T>::digits>(twice), hn::Set(Bits(), 1));
  };
  // 0 where sums are exact, else `lost`.
  const auto unless_exact = [&](const Ranged& of, auto lost) HWY_ATTR -> QV {
    const auto range = hn::Sub(exponent(of.most), exponent(hn::Sub(hn::Zero(Bits()), of.least)));
    const auto within = hn::Eq(hn::Min(range, hn::Set(Bits(), static_cast<Word>(room))), range);
    const auto rest = hn::BitCast(typename Ranged::D(), hn::IfThenZeroElse(within, lost));
    if constexpr (wide) return rest;
    else return hn::PromoteTo(QD(), rest);
  };
  const auto by = [&]<bool Exact>(std::bool_constant<Exact>, double times) HWY_ATTR {
    return RoundColumns<R, Exact>(
        strip.columns, divisor, false, results, sure, [&](std::size_t c) HWY_ATTR -> QuickTotals {
          const auto of = LoadSums<Ranged>(sums, c);
          const auto lost = Exact ? hn::Set(Bits(), infinity_bits<T>) : hn::ShiftRight<1>(of.most);
          return {of.sum, hn::Zero(QD()), QuickTimes(unless_exact(of, lost), times)};
        });
  };
  const auto n = static_cast<double>(strip.rows);
  return by(std::true_type(), 1) || (!wide && by(std::false_type(), n * n * 0x1.001p-53));
}

// Whether the first doubles of a strip have bits to spare for such sums: of more of them the least is less.
inline bool MayBeRanged(const Strip& strip) {
  std::uint64_t some = 0;
  for (std::size_t c = 0; c < std::min<std::size_t>(strip.columns, 8); ++c) {
    some |= static_cast<const std::uint64_t*>(strip.x)[c];
  }
  return std::countr_zero(some) > 2 * static_cast<int>(std::bit_width(strip.rows));
}

template <class R>
bool WholeSums(const Strip& strip, double divisor, double* results, std::uint8_t* sure) {
  bool all = true;
  WithElements(strip, [&]<class T>(const T* /*x*/) HWY_ATTR {
    if constexpr (std::is_integral_v<T> && sizeof(T) >= sizeof(std::uint32_t)) {
      ColumnSums sums;
      AddRows<QuickWhole<T>, T>(strip, sums);
      all = RoundColumns<R, false>(strip.columns, divisor, false, results, sure,
                                   [&](std::size_t c) HWY_ATTR { return LoadSums<QuickWhole<T>>(sums, c).Totals(); });
    }
  });
  return all;
}

// By split numbers; false where one is larger than its column's first ones let expect.
template <class R>
bool SplitColumns(const Strip& strip, double divisor, double* results, std::uint8_t* sure, bool& all) {
  ColumnSums sums;
  for (auto& field : sums.fields) std::fill(std::begin(field), std::end(field), 0.0);
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
  const bool few = strip.rows <= quick_few;
  if (strip.dtype == Dtype::f64) {
    bool all = false;
    if (MayBeRanged(strip) && RangedSums<R, double>(strip, divisor, results, sure)) return true;
    if (!few && SplitColumns<R>(strip, divisor, results, sure, all)) return all;
  } else if (!is_float(strip.dtype) && size_of(strip.dtype) >= sizeof(float)) {
    return WholeSums<R>(strip, divisor, results, sure);
  } else {
    if (RangedSums<R, float>(strip, divisor, results, sure)) return true;
    if (!few && std::is_same_v<R, float>) return false;
  }
  return few ? by(std::type_identity<QuickTwice>()) : by(std::type_identity<QuickErrors>());
}

template <class R, class S>
bool SpreadsBy(const Strip& strip, const QuickSpread& what, double* results, std::uint8_t* sure) {
  ColumnSums sums;
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
  constexpr std::uint64_t most_stored = std::uint64_t{1} << 13;  // of up to 40 places: such sums have 53 bits
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
