// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_cpu.h"

#include "elements/each_type.h"
#include "runtime/half.h"
#include "sum/compensated.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/prefix_quick.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using PD = hn::CappedTag<double, 8>;
using PV = hn::Vec<PD>;

// Sums side by side, each as sum + error + d, |d| <= 2 * lost: those in front of the next elements of their lines.
constexpr std::size_t side = quick_prefix_lines;
struct SideSums {
  HWY_ALIGN double sum[side] = {};
  HWY_ALIGN double error[side] = {};
  HWY_ALIGN double lost[side] = {};
};
// Elements of lines side by side, a row of them after the other; then their prefixes.
struct SideRows {
  static constexpr std::size_t rows = quick_prefix_elements / side;
  HWY_ALIGN double numbers[rows * side];
};

// Sums that are larger may have overflowed on the way.
template <class T>
inline constexpr double most_sum = std::is_same_v<T, double> ? 0x1p1000 : 0x1p120;

// What the rounded sum of two numbers lacks, exactly.
HWY_INLINE PV Lost(PV a, PV b, PV sum) {
  const PV part = hn::Sub(sum, a);
  return hn::Add(hn::Sub(a, hn::Sub(sum, part)), hn::Sub(b, part));
}

// Numbers that are halves, or at least 2^16, as halves.
HWY_INLINE void ToHalves(const double* x, std::size_t count, Half* y) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(x[i]);
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(std::fabs(number) * 0x1p-112F) >> 13;
    const std::uint32_t sign = std::bit_cast<std::uint32_t>(number) >> 16 & 0x8000U;
    y[i].bits = static_cast<std::uint16_t>(std::min(magnitude, std::uint32_t{0x7c00}) | sign);
  }
}
// To a whole number of the unit that halves of this size have.
HWY_INLINE PV RoundedToHalf(PV x) {
  const PD d;
  const PV power = hn::And(x, hn::BitCast(d, hn::Set(hn::RebindToUnsigned<PD>(), 0x7ff0000000000000)));
  const PV cut = hn::Mul(hn::Max(hn::Mul(power, hn::Set(d, 0x1p-10)), hn::Set(d, 0x1p-24)), hn::Set(d, 0x1.8p52));
  return hn::Sub(hn::Add(x, cut), cut);
}
template <class T>
HWY_INLINE PV RoundedTo(PV x) {
  if constexpr (std::is_same_v<T, Half>) {
    return RoundedToHalf(x);
  } else if constexpr (std::is_same_v<T, double>) {
    return x;
  } else {
    return hn::PromoteTo(PD(), hn::DemoteTo(hn::Rebind<T, PD>(), x));
  }
}

// The sums sum + error + d, |d| <= bound, rounded to T; `sure` stays where that is certain. As certain() has it, for
// `bound` > 0 or 0 alike.
template <class T>
HWY_INLINE PV Rounded(PV sum, PV error, PV bound, hn::Mask<PD>& sure) {
  const PD d;
  const PV zero = hn::Zero(d);
  const PV total = hn::Add(sum, error);
  const PV rest = Lost(sum, error, total);
  if constexpr (std::is_same_v<T, double>) {
    const PV wide = hn::Add(bound, hn::Mul(hn::Add(hn::Abs(rest), bound), hn::Set(d, 0x1p-50)));
    const auto same =
        hn::And(hn::Eq(hn::Add(total, hn::Add(rest, wide)), total), hn::Eq(hn::Add(total, hn::Sub(rest, wide)), total));
    sure = hn::And(sure, hn::Or(same, hn::Eq(bound, zero)));
    return hn::Add(total, zero);
  } else {
    const PV wide = hn::Add(hn::Add(hn::Mul(hn::Add(bound, hn::Abs(rest)), hn::Set(d, 1 + 0x1p-50)),
                                    hn::Mul(hn::Abs(total), hn::Set(d, 0x1p-51))),
                            hn::Set(d, 0x1p-1070));
    const auto exact = hn::And(hn::Eq(bound, zero), hn::Eq(rest, zero));
    const PV low = RoundedTo<T>(hn::IfThenElse(exact, total, hn::Sub(total, wide)));
    const PV high = RoundedTo<T>(hn::Add(total, wide));
    sure = hn::And(sure, hn::Or(exact, hn::And(hn::Eq(low, high), hn::Ne(low, zero))));
    return hn::Add(low, zero);
  }
}

// Adds rows to the sums. If `writes`, each number becomes the sum in front of it (exclusive) or behind it, rounded to
// T; returns whether all are certain.
template <class T>
bool AddRows(double* numbers, std::size_t rows, bool writes, bool exclusive, SideSums& sums) {
  const PD d;
  const std::size_t lanes = hn::Lanes(d);
  const PV zero = hn::Zero(d);
  auto sure = hn::Eq(zero, zero);
  for (std::size_t lane = 0; lane < side; lane += lanes) {
    PV sum = hn::Load(d, sums.sum + lane);
    PV error = hn::Load(d, sums.error + lane);
    PV lost = hn::Load(d, sums.lost + lane);
    const auto add = [&](PV number) HWY_ATTR {
      const PV after = hn::Add(sum, number);
      const PV rest = Lost(sum, number, after);
      sum = after;
      const PV all = hn::Add(error, rest);
      lost = hn::Add(lost, hn::Abs(Lost(error, rest, all)));
      error = all;
    };
    const auto write = [&](double* at) HWY_ATTR {
      // Twice, as `lost` is rounded itself, and more than it can lack.
      const PV bound = hn::MulAdd(hn::Set(d, 2), lost, hn::Set(d, 0x1p-900));
      hn::Store(Rounded<T>(sum, error, hn::IfThenZeroElse(hn::Eq(lost, zero), bound), sure), d, at);
    };
    double* const end = numbers + rows * side;
    for (double* at = numbers + lane; at < end; at += side) {
      const PV number = hn::Load(d, at);
      if (writes && exclusive) write(at);
      add(number);
      if (writes && !exclusive) write(at);
    }
    const PV most = hn::Set(d, most_sum<T>);
    sure = hn::And(sure, hn::And(hn::Le(hn::Abs(sum), most), hn::Le(hn::Abs(error), most)));
    hn::Store(sum, d, sums.sum + lane);
    hn::Store(error, d, sums.error + lane);
    hn::Store(lost, d, sums.lost + lane);
  }
  return hn::AllTrue(d, sure);
}

// `count` elements of a line, `step` from each other, to column `line` of rows, and back.
template <class T>
void ToColumn(const T* x, std::size_t step, std::size_t count, std::size_t line, SideRows& to) {
  double* at = to.numbers + line;
  const auto put = [&](const auto* from, std::size_t each) HWY_ATTR {
    for (std::size_t i = 0; i < count; ++i, at += side, from += each) *at = static_cast<double>(*from);
  };
  if constexpr (std::is_same_v<T, Half>) {
    float floats[SideRows::rows];
    for (std::size_t i = 0; i < count; ++i) floats[i] = runtime::to_float(x[i * step]);
    put(floats, 1);
  } else {
    put(x, step);
  }
}
template <class T>
void FromColumn(const SideRows& from, std::size_t line, std::size_t count, std::size_t step, T* y) {
  const double* at = from.numbers + line;
  if constexpr (std::is_same_v<T, Half>) {
    double numbers[SideRows::rows];
    Half halves[SideRows::rows];
    for (std::size_t i = 0; i < count; ++i, at += side) numbers[i] = *at;
    ToHalves(numbers, count, halves);
    for (std::size_t i = 0; i < count; ++i) y[i * step] = halves[i];
  } else {
    for (std::size_t i = 0; i < count; ++i, at += side) y[i * step] = static_cast<T>(*at);
  }
}

// A line in pieces side by side: their totals first, from which the sums in front of each follow.
template <class T>
bool QuickPrefixes(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) {
  const std::size_t rows = (count + side - 1) / side;
  const auto each_piece = [&](const auto& f) HWY_ATTR {
    for (std::size_t piece = 0; piece * rows < count; ++piece) {
      f(piece, piece * rows, std::min(rows, count - piece * rows));
    }
  };
  SideRows at;
  if (count != rows * side) std::fill_n(at.numbers, rows * side, 0.0);
  each_piece([&](std::size_t piece, std::size_t first, std::size_t n)
                 HWY_ATTR { ToColumn(x + first, 1, n, piece, at); });
  SideSums totals;
  AddRows<T>(at.numbers, rows, false, exclusive, totals);
  Compensated sum{state.sum, state.error, state.bound / 2};
  SideSums in_front;
  for (std::size_t piece = 0; piece < side; ++piece) {
    in_front.sum[piece] = sum.sum;
    in_front.error[piece] = sum.error;
    in_front.lost[piece] = sum.lost;
    sum.add(totals.sum[piece]);
    sum.add_error(totals.error[piece]);
    sum.lost += totals.lost[piece];
  }
  if (!AddRows<T>(at.numbers, rows, true, exclusive, in_front)) return false;
  each_piece([&](std::size_t piece, std::size_t first, std::size_t n)
                 HWY_ATTR { FromColumn(at, piece, n, 1, y + first); });
  state = {sum.sum, sum.error, sum.bound()};
  return true;
}

template <class T>
bool QuickLines(const T* x, T* y, const PrefixLines& of, bool exclusive) {
  SideSums sums;
  SideRows at;
  if (of.lines != side) std::fill_n(at.numbers, SideRows::rows * side, 0.0);
  for (std::size_t first = 0; first < of.length; first += SideRows::rows) {
    const std::size_t n = std::min<std::size_t>(SideRows::rows, of.length - first);
    const T* const from = x + first * of.step;
    for (std::size_t line = 0; line < of.lines; ++line) ToColumn(from + line * of.next, of.step, n, line, at);
    if (!AddRows<T>(at.numbers, n, true, exclusive, sums)) return false;
    T* const to = y + first * of.step;
    for (std::size_t line = 0; line < of.lines; ++line) FromColumn(at, line, n, of.step, to + line * of.next);
  }
  return true;
}

#define MASU_QUICK_PREFIXES(name, T)                                                              \
  bool QuickPrefixes##name(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) { \
    return QuickPrefixes(x, y, count, exclusive, state);                                          \
  }                                                                                               \
  bool QuickLines##name(const T* x, T* y, const PrefixLines& of, bool exclusive) {                \
    return QuickLines(x, y, of, exclusive);                                                       \
  }
MASU_EACH_FLOAT(MASU_QUICK_PREFIXES)
#undef MASU_QUICK_PREFIXES

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

#define MASU_QUICK_PREFIXES(name, T)                                                         \
  HWY_EXPORT(QuickPrefixes##name);                                                           \
  HWY_EXPORT(QuickLines##name);                                                              \
  bool quick_prefixes(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) { \
    return HWY_DYNAMIC_DISPATCH(QuickPrefixes##name)(x, y, count, exclusive, state);         \
  }                                                                                          \
  bool quick_lines(const T* x, T* y, const PrefixLines& of, bool exclusive) {                \
    return HWY_DYNAMIC_DISPATCH(QuickLines##name)(x, y, of, exclusive);                      \
  }
MASU_EACH_FLOAT(MASU_QUICK_PREFIXES)
#undef MASU_QUICK_PREFIXES

}  // namespace masu::cpu
#endif
