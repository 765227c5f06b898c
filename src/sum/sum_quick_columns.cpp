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
  ColumnSums sums(strip.columns);
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
// greatest each, which without `Exact` is all that is looked at.
template <class R, class T, bool Exact = true>
bool RangedSums(const Strip& strip, double divisor, double* results, std::uint8_t* sure) {
  using Ranged = QuickRanged<T, Exact>;
  using Bits = typename Ranged::Bits;
  using Word = hn::TFromD<Bits>;
  constexpr bool wide = std::is_same_v<T, double>;
  ColumnSums sums(strip.columns);
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
    if constexpr (Exact) {
      const auto range = hn::Sub(exponent(of.most), exponent(hn::Sub(hn::Zero(Bits()), of.least)));
      const auto within = hn::Eq(hn::Min(range, hn::Set(Bits(), static_cast<Word>(room))), range);
      lost = hn::IfThenZeroElse(within, lost);
    }
    const auto rest = hn::BitCast(typename Ranged::D(), lost);
    if constexpr (wide) return rest;
    else return hn::PromoteTo(QD(), rest);
  };
  const auto by = [&]<bool Whole>(std::bool_constant<Whole>, double times) HWY_ATTR {
    return RoundColumns<R, Whole>(
        strip.columns, divisor, false, results, sure, [&](std::size_t c) HWY_ATTR -> QuickTotals {
          const auto of = LoadSums<Ranged>(sums, c);
          const auto lost = Whole ? hn::Set(Bits(), infinity_bits<T>) : hn::ShiftRight<1>(of.most);
          return {of.sum, hn::Zero(QD()), QuickTimes(unless_exact(of, lost), times)};
        });
  };
  const auto n = static_cast<double>(strip.rows);
  if (Exact && by(std::true_type(), 1)) return true;
  return !wide && by(std::false_type(), n * (n + 1) * 0x1.001p-54);
}

// The bits that the first elements of a strip do not use: of more of them the least is less.
template <class Bits>
int UnusedBits(const Strip& strip) {
  Bits some = 0;
  for (std::size_t c = 0; c < std::min<std::size_t>(strip.columns, 8); ++c) {
    some |= static_cast<const Bits*>(strip.x)[c];
  }
  return std::countr_zero(some);
}

template <class R>
bool WholeSums(const Strip& strip, double divisor, double* results, std::uint8_t* sure) {
  bool all = true;
  WithElements(strip, [&]<class T>(const T* /*x*/) HWY_ATTR {
    if constexpr (std::is_integral_v<T> && sizeof(T) >= sizeof(std::uint32_t)) {
      ColumnSums sums(strip.columns);
      AddRows<QuickWhole<T>, T>(strip, sums);
      all = RoundColumns<R, false>(strip.columns, divisor, false, results, sure,
                                   [&](std::size_t c) HWY_ATTR { return LoadSums<QuickWhole<T>>(sums, c).Totals(); });
    }
  });
  return all;
}

// By split numbers: columns that have a larger one than their first ones let expect are not certain.
template <class R>
bool SplitColumns(const Strip& strip, double divisor, double* results, std::uint8_t* sure) {
  ColumnSums sums(strip.columns);
  for (std::size_t field = 0; field < ColumnSums::most_fields; ++field) std::fill_n(sums[field], strip.columns, 0.0);
  const QuickUnits rule(strip.rows);
  double* const units = sums[4];
  for (std::uint64_t row = 0; row < column_rows_together; ++row) {
    const double* const from = static_cast<const double*>(strip.x) + row * strip.stride;
    for (std::size_t c = 0; c < strip.columns; ++c) units[c] = std::max(units[c], std::fabs(from[c]));
  }
  for (std::size_t c = 0; c < strip.columns; ++c) units[c] = rule.Unit(units[c]);
  AddRows<QuickSplitColumn, double>(strip, sums);
  double* const bounds = sums[3];
  const double* const most = sums[1];
  for (std::size_t c = 0; c < strip.columns; ++c) {
    const bool fits = most[c] <= rule.Most(units[c]);
    const double lost = bounds[c] == 0 ? 0 : rule.Bound(units[c], static_cast<double>(strip.rows));
    bounds[c] = fits ? lost : std::numeric_limits<double>::infinity();
  }
  const QD d;
  return RoundColumns<R, false>(strip.columns, divisor, false, results, sure,
                                [&](std::size_t c) HWY_ATTR -> QuickTotals {
                                  return {hn::Load(d, sums[0] + c), hn::Load(d, sums[2] + c), hn::Load(d, bounds + c)};
                                });
}

template <class R>
bool SumsOfColumns(const Strip& strip, double divisor, double* results, std::uint8_t* sure) {
  const bool few = strip.rows <= quick_few;
  const auto again = [&]<class S>(std::type_identity<S>) HWY_ATTR {
    return EachUnsure(strip, results, sure, [&](const Strip& part, double* to, std::uint8_t* proved) HWY_ATTR {
      return SumsBy<R, S>(part, divisor, to, proved);
    });
  };
  std::fill_n(sure, strip.columns, std::uint8_t{0});
  if (strip.dtype == Dtype::f64) {
    const bool ranged = few && UnusedBits<std::uint64_t>(strip) > 2 * static_cast<int>(std::bit_width(strip.rows));
    if (few ? ranged && RangedSums<R, double>(strip, divisor, results, sure)
            : SplitColumns<R>(strip, divisor, results, sure)) {
      return true;
    }
  } else if (!is_float(strip.dtype) && size_of(strip.dtype) >= sizeof(float)) {
    return WholeSums<R>(strip, divisor, results, sure);
  } else {
    const auto exact = [&](const Strip& part, double* to, std::uint8_t* proved)
                           HWY_ATTR { return RangedSums<R, float>(part, divisor, to, proved); };
    if (std::is_same_v<R, float> && strip.dtype == Dtype::f32) {
      // Sums of few bits that are longer than results often lie exactly between two of these.
      const int unused = UnusedBits<std::uint32_t>(strip);
      const bool ties = unused > 5 && unused <= static_cast<int>(std::bit_width(strip.rows));
      if (ties ? exact(strip, results, sure) : RangedSums<R, float, false>(strip, divisor, results, sure)) return true;
      const auto unsure = static_cast<std::size_t>(std::count(sure, sure + strip.columns, 0));
      if (!ties && (few || unsure > strip.columns / 16) && EachUnsure(strip, results, sure, exact)) return true;
    } else if (exact(strip, results, sure)) {
      return true;
    }
    if (!few && std::is_same_v<R, float>) return false;
  }
  return few ? again(std::type_identity<QuickTwice>()) : again(std::type_identity<QuickErrors>());
}

template <class R, class S>
bool SpreadsBy(const Strip& strip, const QuickSpread& what, double* results, std::uint8_t* sure) {
  ColumnSums sums(strip.columns);
  AddColumns<S>(strip, sums);
  const QD d;
  const auto n = static_cast<double>(what.count);
  // Plain sums lose at most n parts in 2^53 of their magnitudes, and so does n * squares; the square of the sum twice
  // that.
  const QV plain_loss = hn::Set(d, 4 * (n + 4) * 0x1p-53);
  const QV loss = hn::Set(d, QuickSpreadLost(n) * (std::is_same_v<S, QuickPairMoments> ? 2 : 1));
  const auto field = [&](std::size_t i, std::size_t c) HWY_ATTR { return hn::Load(d, sums[i] + c); };
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

// Finds columns of one finite number, whose variance is 0.
bool FindConstants(const Strip& strip, double* results, std::uint8_t* sure) {
  bool all = true;
  WithElements(strip, [&]<class T>(const T* x) HWY_ATTR {
    using Bits = UnsignedOf<sizeof(T)>;
    HWY_ALIGN Bits others[column_strip] = {};
    const std::uint64_t step = strip.are_lines ? strip.rows : 1;
    for (std::size_t c = 0; c < strip.columns && strip.are_lines; ++c) {
      if (sure[c] == 0) others[c] = std::memcmp(x + c * step, x + c * step + 1, (step - 1) * sizeof(T)) == 0 ? 0 : 1;
    }
    const auto* const first = reinterpret_cast<const Bits*>(x);
    const auto some_equal = [&]() HWY_ATTR {
      return std::find(others, others + strip.columns, Bits{0}) != others + strip.columns;
    };
    for (std::uint64_t row = 1; row < strip.rows && !strip.are_lines; ++row) {
      if (row % column_rows_together == 0 && !some_equal()) break;
      const Bits* const from = first + row * strip.stride;
      for (std::size_t c = 0; c < strip.columns; ++c) others[c] = static_cast<Bits>(others[c] | (from[c] ^ first[c]));
    }
    for (std::size_t c = 0; c < strip.columns; ++c) {
      if (sure[c] != 0) continue;
      bool equal = others[c] == 0;
      if constexpr (is_float(dtype_of<T>)) equal = equal && (first[c * step] & infinity_bits<T>) != infinity_bits<T>;
      results[c] = 0;
      sure[c] = equal ? 1 : 0;
      all = all && equal;
    }
  });
  return all;
}

template <class R>
bool SpreadsOfColumns(const Strip& strip, const QuickSpread& what, double* results, std::uint8_t* sure) {
  const auto proved = [&](bool all) HWY_ATTR {
    return all || EachUnsure(strip, results, sure, [](const auto&... part) HWY_ATTR { return FindConstants(part...); });
  };
  const bool narrow = strip.dtype == Dtype::f32 || size_of(strip.dtype) < sizeof(float);
  if (!narrow) {
    return proved(AreWords(strip.dtype) ? SpreadsBy<R, QuickPairMoments>(strip, what, results, sure)
                                        : SpreadsBy<R, QuickMoments>(strip, what, results, sure));
  }
  return proved(SpreadsBy<R, QuickExactMoments>(strip, what, results, sure)) ||
         EachUnsure(strip, results, sure, [&](const Strip& part, double* to, std::uint8_t* found) HWY_ATTR {
           return SpreadsBy<R, QuickMoments>(part, what, to, found);
         });
}

// Results of columns, each rounded to f32 or f64; sums of stored floats to f64. Returns whether all are certain.
bool QuickColumns(const SumRule& rule, const std::byte* x, const SumColumns& of, double* results, std::uint8_t* sure) {
  const std::uint64_t rows = of.rows;
  bool all = true;
  const std::uint64_t together = of.stride == 0 ? column_strip : most_strips * column_strip;
  for (std::uint64_t first = 0; first < of.columns; first += together) {
    const Strip strip = Strip{rule.dtype, x, rows, of.stride, of.columns, of.stride == 0}.Part(
        first, std::min(together, of.columns - first));
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

bool quick_columns(const SumRule& rule, const void* x, const SumColumns& of, double* results, std::uint8_t* sure) {
  bool all = HWY_DYNAMIC_DISPATCH(QuickColumns)(rule, static_cast<const std::byte*>(x), of, results, sure);
  // A quotient of an exact sum by so small a number that is not the middle of two stored floats is farther from it than
  // f64 rounds; other sums and a variance are known where their neighbours, in f64 or f32, are rounded to the same.
  const double near = rule.is_spread() ? 0x1p-22 : has_few_places(rule.dtype) ? 0 : 0x1p-50;
  dispatch(rule.result, [&]<class T>(TypeTag<T>) {
    if constexpr (is_stored<T>) {
      for (std::uint64_t c = 0; c < of.columns; ++c) {
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
