// SPDX-License-Identifier: Apache-2.0
// Sums of strips of neighbouring columns, while their rows are added.
#if defined(MASU_SUM_STRIP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MASU_SUM_STRIP_INL_H
#undef MASU_SUM_STRIP_INL_H
#else
#define MASU_SUM_STRIP_INL_H
#endif

#include "sum/sum_certain-inl.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

inline constexpr std::size_t column_strip = 512;  // columns whose sums stay in the first-level cache

struct ColumnSums {
  static constexpr std::size_t most_fields = 5;
  HWY_ALIGN double fields[most_fields][column_strip];
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
  // A number that is larger than is known has a part that is larger, too.
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
// Sums of floats, with the greatest magnitude and the least one that is not 0, without their signs' bits, and the bits
// of doubles: these mostly prove that no addition was rounded.
template <class T>
struct QuickRanged {
  using D = hn::Rebind<T, QD>;
  using Bits = hn::RebindToUnsigned<D>;
  QV sum;
  hn::Vec<Bits> most;   // twice its bits
  hn::Vec<Bits> least;  // the same, taken from 0
  hn::Vec<Bits> some;
  HWY_INLINE QuickRanged() {}
  HWY_INLINE void AddElements(hn::Vec<D> x) {
    const auto bits = hn::BitCast(Bits(), x);
    const auto twice = hn::Add(bits, bits);
    most = hn::Max(most, twice);
    least = hn::Max(least, hn::Sub(hn::Zero(Bits()), twice));
    if constexpr (std::is_same_v<T, float>) {
      sum = hn::Add(sum, hn::PromoteTo(QD(), x));
    } else {
      sum = hn::Add(sum, x);
      some = hn::Or(some, bits);
    }
  }
  template <class F>
  HWY_INLINE void EachField(const F& f) {
    f(sum);
    f(most);
    f(least);
    if constexpr (std::is_same_v<T, double>) f(some);
  }
};
// Sums of integers of 4 or 8 bytes, modulo 2^64, and, of the latter, of their upper halves.
template <class T>
struct QuickWhole {
  using D = hn::Rebind<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>, QD>;
  hn::Vec<D> sum;
  hn::Vec<D> upper;
  HWY_INLINE QuickWhole() {}
  HWY_INLINE void AddElements(hn::Vec<hn::Rebind<T, QD>> x) {
    if constexpr (sizeof(T) == sizeof(std::uint64_t)) {
      sum = hn::Add(sum, x);
      upper = hn::Add(upper, hn::ShiftRight<32>(x));
    } else {
      sum = hn::Add(sum, hn::PromoteTo(D(), x));
    }
  }
  template <class F>
  HWY_INLINE void EachField(const F& f) {
    f(sum);
    f(upper);
  }
  // The sum as two doubles, which it is exactly for fewer than 2^26 elements.
  HWY_INLINE QuickTotals Totals() const {
    const D d;
    const auto high = sizeof(T) == sizeof(std::uint64_t) ? upper : hn::ShiftRight<32>(sum);
    const auto low = hn::Sub(sum, hn::ShiftLeft<32>(high));  // that of the lower halves, less than 2^58
    const auto all = hn::Add(low, hn::ShiftLeft<32>(hn::And(high, hn::Set(d, 0xffff))));
    const auto as_double = [](auto v)
                               HWY_ATTR { return hn::ConvertTo(QD(), hn::BitCast(hn::RebindToSigned<QD>(), v)); };
    QV total = QuickTimes(as_double(hn::Add(hn::ShiftRight<16>(high), hn::ShiftRight<48>(all))), 0x1p48);
    const QV error = QuickAddTo(total, as_double(hn::And(all, hn::Set(d, (std::int64_t{1} << 48) - 1))));
    return {total, error, hn::Zero(QD())};
  }
};
template <class S>
concept TakesElements = requires(S s) {
  &S::AddElements;
};
template <class T, class... N>
HWY_INLINE auto LoadElements(const T* x, N... n) {
  if constexpr (sizeof...(n) == 0) return hn::LoadU(hn::Rebind<T, QD>(), x);
  else return QuickLoadFirst(hn::Rebind<T, QD>(), x, n...);
}
// A field of a strip's sums at column c, in whatever lanes it has.
template <class V>
HWY_INLINE auto* FieldAt(ColumnSums& sums, std::size_t field, std::size_t c, const V& /*of*/) {
  return reinterpret_cast<hn::TFromV<V>*>(sums.fields[field] + c);
}
template <class S>
HWY_INLINE S LoadSums(ColumnSums& sums, std::size_t c) {
  S s;
  std::size_t field = 0;
  s.EachField([&](auto& v)
                  HWY_ATTR { v = hn::Load(hn::DFromV<std::decay_t<decltype(v)>>(), FieldAt(sums, field++, c, v)); });
  return s;
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
