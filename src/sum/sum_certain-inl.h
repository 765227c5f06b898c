// SPDX-License-Identifier: Apache-2.0
// Vectors of results of totals, and which of them are certain, by the rule of compensated.h.
#if defined(MASU_SUM_CERTAIN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MASU_SUM_CERTAIN_INL_H
#undef MASU_SUM_CERTAIN_INL_H
#else
#define MASU_SUM_CERTAIN_INL_H
#endif

#include "sum/compensated.h"
#include "sum/sum_quick-inl.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

// Numbers sum + error + d, |d| <= bound.
struct QuickTotals {
  QV sum;
  QV error;
  QV bound;
};
struct QuickResults {
  QV numbers;
  hn::Mask<QD> sure;
};

HWY_INLINE QV QuickTimes(QV v, double factor) {
  return hn::Mul(v, hn::Set(QD(), factor));
}
// Rounded to T, as doubles.
template <class T>
HWY_INLINE QV QuickAs(QV v) {
  if constexpr (std::is_same_v<T, double>) return v;
  else return hn::PromoteTo(QD(), hn::DemoteTo(hn::Rebind<float, QD>(), v));
}
// The next T towards zero of a positive one.
template <class T>
HWY_INLINE QV QuickBelow(QV v) {
  if constexpr (std::is_same_v<T, double>) {
    const hn::RebindToUnsigned<QD> bits;
    return hn::BitCast(QD(), hn::Sub(hn::BitCast(bits, v), hn::Set(bits, 1)));
  } else {
    const hn::Rebind<float, QD> d;
    const hn::RebindToUnsigned<decltype(d)> bits;
    return hn::PromoteTo(QD(), hn::BitCast(d, hn::Sub(hn::BitCast(bits, hn::DemoteTo(d, v)), hn::Set(bits, 1))));
  }
}
// Whether the last bit of a T is 0.
template <class T>
HWY_INLINE hn::Mask<QD> QuickIsEven(QV v) {
  const hn::RebindToUnsigned<QD> bits;
  const auto last = hn::Set(bits, std::uint64_t{1} << (53 - std::numeric_limits<T>::digits));
  return hn::MaskFromVec(
      hn::BitCast(QD(), hn::VecFromMask(bits, hn::Eq(hn::And(hn::BitCast(bits, v), last), hn::Zero(bits)))));
}
// Whether all are far from what T does not hold.
template <class T>
inline constexpr double most_tame = std::is_same_v<T, double> ? 0x1p1000 : 0x1p127;
template <class T>
HWY_INLINE hn::Mask<QD> QuickTame(const QuickTotals& of) {
  const QV most = hn::Set(QD(), most_tame<T>);
  return hn::And(hn::And(hn::Le(hn::Abs(of.sum), most), hn::Le(hn::Abs(of.error), most)), hn::Le(of.bound, most));
}

template <class T>
HWY_INLINE QuickResults QuickRounded(QuickTotals of) {
  const QV zero = hn::Zero(QD());
  const auto tame = QuickTame<T>(of);
  const QV rest = QuickAddTo(of.sum, of.error);
  const QV doubt = hn::Add(of.bound, hn::Abs(rest));
  if constexpr (std::is_same_v<T, double>) {
    const QV wide = hn::Add(of.bound, QuickTimes(doubt, 0x1p-50));
    const auto same = hn::And(hn::Eq(hn::Add(of.sum, hn::Add(rest, wide)), of.sum),
                              hn::Eq(hn::Add(of.sum, hn::Sub(rest, wide)), of.sum));
    return {hn::Add(of.sum, zero), hn::And(tame, hn::Or(same, hn::Eq(of.bound, zero)))};
  } else {
    const auto exact = hn::Eq(doubt, zero);
    const QV wide = hn::Add(hn::Add(QuickTimes(doubt, 1 + 0x1p-50), QuickTimes(hn::Abs(of.sum), 0x1p-51)),
                            hn::Set(QD(), 0x1p-1070));
    const QV about = hn::IfThenZeroElse(exact, wide);
    const QV low = QuickAs<T>(hn::Sub(of.sum, about));
    const auto same = hn::And(hn::Eq(low, QuickAs<T>(hn::Add(of.sum, about))), hn::Ne(low, zero));
    return {hn::Add(low, zero), hn::And(tame, hn::Or(same, exact))};
  }
}

constexpr bool IsPowerOfTwo(double number) {
  return std::bit_cast<std::uint64_t>(number) << 12 == 0;
}
// `Exact`: the error is 0, and the bound is 0 or infinite.
template <class T, bool Exact>
HWY_INLINE QuickResults QuickQuotient(const QuickTotals& of, double divisor) {
  const QD d;
  const QV zero = hn::Zero(d);
  if constexpr (Exact) {
    const auto tame = hn::And(hn::Eq(of.bound, zero), hn::Le(hn::Abs(of.sum), hn::Set(d, most_tame<T>)));
    if (divisor == 1) return {hn::Add(QuickAs<T>(of.sum), zero), tame};
    const QV quotient = hn::Div(of.sum, hn::Set(d, divisor));
    const QV found = hn::Add(QuickAs<T>(quotient), zero);
    if constexpr (std::is_same_v<T, double>) return {found, tame};
    // Rounded twice, which tells if that lies in the middle of two numbers, but the quotient beside it.
    const hn::RebindToUnsigned<QD> bits;
    const auto below = hn::And(hn::BitCast(bits, quotient), hn::Set(bits, 0x1fffffff));
    const auto between =
        hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(bits, hn::Eq(below, hn::Set(bits, 0x10000000)))));
    const auto usual = hn::Or(hn::Ge(hn::Abs(quotient), hn::Set(d, 0x1p-100)), hn::Eq(of.sum, zero));
    return {found, hn::And(hn::AndNot(between, usual), tame)};
  }
  if (IsPowerOfTwo(divisor)) {
    const QV least = hn::Set(d, 0x1p-900);
    const auto exact = [&](QV v) HWY_ATTR { return hn::Or(hn::Ge(hn::Abs(v), least), hn::Eq(v, zero)); };
    const double factor = 1 / divisor;
    const QV bound = hn::Add(QuickTimes(of.bound, factor), hn::Set(d, 0x1p-1074));
    QuickResults found = QuickRounded<T>(
        {QuickTimes(of.sum, factor), QuickTimes(of.error, factor), hn::IfThenZeroElse(hn::Eq(of.bound, zero), bound)});
    if (divisor != 1) found.sure = hn::And(found.sure, hn::And(exact(of.sum), exact(of.error)));
    return found;
  }
  const QV by = hn::Set(d, divisor);
  QV quotient = hn::Div(hn::Add(of.sum, of.error), by);
  if constexpr (std::is_same_v<T, double>) {  // several times rounded
    const QV product = hn::Mul(quotient, by);
    const QV left = hn::Sub(hn::Sub(of.sum, product), QuickLost(quotient, by, product));
    quotient = hn::Add(quotient, QuickTimes(hn::Add(left, of.error), 1 / divisor));
  }
  const QV found = QuickAs<T>(quotient);
  const QV size = hn::Abs(found);
  const auto usual = hn::And(hn::Ge(size, hn::Set(d, std::is_same_v<T, double> ? 0x1p-900 : 0x1p-100)),
                             hn::Le(size, hn::Set(d, static_cast<double>(std::numeric_limits<T>::max() / 2))));
  // What the quotient leaves of the dividend.
  const QV product = hn::Mul(found, by);
  QV rest = of.sum;
  QV inexact = hn::Or(of.bound, QuickAddTo(rest, hn::Neg(product)));
  const QV sizes = hn::Add(hn::Add(hn::Abs(rest), QuickTimes(hn::Abs(product), 0x1p-53)), hn::Abs(of.error));
  inexact = hn::Or(inexact, QuickAddTo(rest, hn::Neg(QuickLost(found, by, product))));
  inexact = hn::Or(inexact, QuickAddTo(rest, of.error));
  const QV doubt = hn::Add(hn::Add(hn::Abs(rest), of.bound), QuickTimes(sizes, 0x1p-50));
  const QV gap = hn::Sub(size, QuickBelow<T>(size));
  const QV half = hn::Mul(QuickTimes(gap, 0.5), by);
  const auto near = hn::Lt(doubt, QuickTimes(half, 1 - 0x1p-50));
  // Halfway between two numbers: the one whose last bit is 0.
  const auto between = hn::And(hn::Eq(inexact, zero), hn::Eq(hn::Abs(rest), half));
  const QV other = hn::Add(found, hn::CopySign(gap, rest));
  const QV even = hn::IfThenElse(QuickIsEven<T>(size), found, other);
  const auto nothing = hn::And(hn::Eq(hn::Add(hn::Abs(of.sum), of.bound), zero), hn::Eq(of.error, zero));
  const auto sure = hn::And(hn::And(usual, QuickTame<double>(of)), hn::Or(near, between));
  return {hn::IfThenZeroElse(nothing, hn::IfThenElse(between, even, found)), hn::Or(nothing, sure)};
}

template <class T>
HWY_INLINE QuickResults QuickRoot(const QuickTotals& of, double divisor) {
  const QD d;
  constexpr bool wide = std::is_same_v<T, double>;
  const QV by = hn::Set(d, divisor);
  QV root = hn::Sqrt(hn::Div(hn::Add(of.sum, of.error), by));
  QV rest;  // what count * root * root leaves of the dividend
  QV sizes;
  const auto find_rest = [&]() HWY_ATTR {
    const QV square = hn::Mul(root, root);
    const QV product = hn::Mul(square, by);
    const QV more = hn::Add(QuickLost(square, by, product), hn::Mul(QuickLost(root, root, square), by));
    const QV apart = hn::Sub(of.sum, product);
    rest = hn::Add(hn::Sub(apart, more), of.error);
    sizes = hn::Add(hn::Add(hn::Abs(apart), QuickTimes(product, 0x1p-51)), hn::Abs(of.error));
  };
  if constexpr (wide) {  // several times rounded
    find_rest();
    root = hn::Add(root, hn::Div(rest, hn::Mul(hn::Add(root, root), by)));
  }
  root = QuickAs<T>(root);
  find_rest();
  const auto usual =
      hn::And(hn::Ge(root, hn::Set(d, wide ? 0x1p-400 : 0x1p-100)), hn::Le(root, hn::Set(d, wide ? 0x1p450 : 0x1p100)));
  const QV doubt = hn::Add(hn::Add(hn::Abs(rest), of.bound), QuickTimes(sizes, 0x1p-50));
  // The number lies between the squares of root - half a gap and root + half a gap, of which the former is nearer.
  const QV half_gap = QuickTimes(hn::Sub(root, QuickBelow<T>(root)), 0.5);
  const QV between = hn::Mul(hn::Sub(hn::Add(root, root), half_gap), half_gap);
  const auto sure = hn::And(usual, hn::Lt(doubt, QuickTimes(hn::Mul(between, by), 1 - 0x1p-49)));
  const QV zero = hn::Zero(d);
  const auto nothing = hn::And(hn::Eq(hn::Add(hn::Abs(of.sum), of.bound), zero), hn::Eq(of.error, zero));
  return {hn::IfThenZeroElse(nothing, root), hn::Or(nothing, hn::And(sure, QuickTame<double>(of)))};
}

// Differences of sums of two doubles each: n * squares - sum^2. What the sums' additions lost is at most `lost` parts
// of n times the squares; 0 where they are exact.
HWY_INLINE QuickTotals QuickSpreadOf(QuickMoments of, double count, QV lost) {
  const QD d;
  const QV n = hn::Set(d, count);
  const QV zero = hn::Zero(d);
  const QV sum_error = QuickAddTo(of.sum, of.sum_error);
  const QV squares_error = QuickAddTo(of.squares, of.squares_error);
  const QV above = hn::Mul(n, of.squares);
  const QV above_error = hn::Add(QuickLost(n, of.squares, above), hn::Mul(n, squares_error));
  const QV square = hn::Mul(of.sum, of.sum);
  const QV square_error = hn::Add(QuickLost(of.sum, of.sum, square), hn::Mul(hn::Add(of.sum, of.sum), sum_error));
  QV rest = above;
  const QV lower = QuickAddTo(rest, hn::Neg(square));
  const QV error = hn::Add(lower, hn::Sub(above_error, square_error));
  // The operations above round 32 parts in 2^106, unless their errors are 0, and products may underflow (which is
  // bounded by a normal number: processors multiply to subnormal ones slowly).
  const QV all_lost = hn::Add(lost, hn::Set(d, 0x40p-106));
  const QV bound = hn::Add(hn::Mul(above, all_lost), hn::Set(d, count * count * 0x1p-1020));
  const auto usual = hn::And(hn::Ge(of.squares, hn::Set(d, 0x1p-800)), hn::Le(of.squares, hn::Set(d, 0x1p900)));
  const auto exact = hn::And(hn::Eq(lost, zero), hn::And(hn::Eq(above_error, zero), hn::Eq(square_error, zero)));
  const QV infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  return {rest, error, hn::IfThenZeroElse(exact, hn::IfThenElse(usual, bound, infinity))};
}
// What sums of two doubles lose: each error passes through `additions` additions, of at most so many parts in 2^53 of
// sum(|x|) or sum(x^2) each; sum(|x|)^2 <= n sum(x^2).
HWY_INLINE double QuickSpreadLost(double additions) {
  return 5 * (additions + 2) * (additions + 2) * 0x1p-106;
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
