// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_cpu.h"

#include "elements/each_type.h"
#include "elements/stored_float.h"
#include "sum/compensated.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#ifndef MASU_MOST_SUM
#define MASU_MOST_SUM
namespace masu::cpu {
namespace {
// Numbers that hold those of T.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
// Sums that are larger may have overflowed on the way.
template <class T>
inline constexpr double most_sum = std::is_same_v<T, double> ? 0x1p1000 : 0x1p120;

}  // namespace
}  // namespace masu::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/prefix_quick.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sum/sum_quick-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

constexpr std::size_t side = quick_prefix_lines;
constexpr std::size_t half_side = side / 2;
constexpr std::size_t half_elements = 512;  // up to which half as many pieces are faster

// Sums side by side, each as sum + error + d, |d| <= 2 * lost: those before the next elements of their lines.
struct SideSums {
  HWY_ALIGN double sum[side] = {};
  HWY_ALIGN double error[side] = {};
  HWY_ALIGN double lost[side] = {};
};
template <class T>
using WD = hn::Rebind<Wide<T>, QD>;
// Elements of lines side by side, a row of them after the other; then their prefixes.
template <class T>
struct SideRows {
  static constexpr std::size_t rows = quick_prefix_elements / side;
  HWY_ALIGN Wide<T> numbers[rows * side];
};

// To a whole number of the unit that stored floats of this size have.
template <class T>
HWY_INLINE QV RoundedToStored(QV x) {
  constexpr FloatFormat format = float_format(dtype_of<T>);
  const QD d;
  const QV power = hn::And(x, hn::BitCast(d, hn::Set(hn::RebindToUnsigned<QD>(), 0x7ff0000000000000)));
  const QV unit =
      hn::Max(hn::Mul(power, hn::Set(d, power_of_two(1 - format.precision))), hn::Set(d, power_of_two(format.least)));
  const QV cut = hn::Mul(unit, hn::Set(d, 0x1.8p52));
  return hn::Sub(hn::Add(x, cut), cut);
}
template <class T>
HWY_INLINE hn::Vec<WD<T>> RoundedTo(QV x) {
  if constexpr (std::is_same_v<T, double>) return x;
  else if constexpr (is_stored<T>) return hn::DemoteTo(WD<T>(), RoundedToStored<T>(x));
  else return hn::DemoteTo(WD<T>(), x);
}

// The sums sum + error + d, |d| <= 2 * lost, rounded to T: both ends of what each may be. They differ in a bit of
// `open` where that is not certain. A zero is +0.
template <class T>
HWY_INLINE hn::Vec<WD<T>> Rounded(const QuickTwice& at, hn::Vec<WD<T>>& open) {
  const QD d;
  const QV zero = hn::Zero(d);
  const QV lost = at.size;
  QV total = at.sum;
  [[maybe_unused]] const QV rest = QuickAddTo(total, at.error);
  const QV bound =
      hn::MulAdd(hn::Set(d, 2), lost, hn::Set(d, 0x1p-900));  // more than `lost` can lack, as it is rounded
  QV low;
  QV high;
  if constexpr (std::is_same_v<T, double>) {
    const QV wide = hn::MulAdd(hn::Add(hn::Abs(rest), bound), hn::Set(d, 0x1p-50), bound);
    const QV reach = hn::IfThenZeroElse(hn::Eq(lost, zero), wide);
    low = hn::Add(total, hn::Sub(rest, reach));
    high = hn::Add(total, hn::Add(rest, reach));
  } else {
    // What the total rounds, and more.
    const QV wide = hn::MulAdd(hn::Abs(total), hn::Set(d, 0x1p-51), bound);
    const QV reach = hn::IfThenZeroElse(hn::Eq(hn::Or(at.error, lost), zero), wide);
    low = hn::Sub(total, reach);
    high = hn::Add(total, reach);
  }
  const auto result = RoundedTo<T>(high);
  open = hn::Or(open, hn::Xor(RoundedTo<T>(low), result));
  return hn::Add(result, hn::Zero(WD<T>()));
}

// Adds rows of `width` numbers, side, half_side or fewer, which are `stride` apart, to the sums. Where there are
// `results`, which may be the numbers, they get the sum before each (exclusive) or up to it, rounded to T; returns
// whether all are certain.
template <class T>
bool AddRows(std::size_t width, const Wide<T>* numbers, std::uint64_t rows, std::uint64_t stride, bool exclusive,
             SideSums& sums, Wide<T>* results) {
  const QD d;
  const std::size_t lanes = hn::Lanes(d);
  const QV zero = hn::Zero(d);
  auto inside = hn::Eq(zero, zero);
  auto open = hn::Zero(WD<T>());
  for (std::size_t lane = 0; lane < width; lane += lanes) {
    QuickTwice at(hn::Load(d, sums.sum + lane), hn::Load(d, sums.error + lane), hn::Load(d, sums.lost + lane));
    const std::size_t n = std::min(lanes, width - lane);
    const auto load = [&](const Wide<T>* x) HWY_ATTR { return n == lanes ? QuickLoad(x) : QuickLoad(x, n); };
    const auto write = [&](Wide<T>* to) HWY_ATTR {
      const auto rounded = Rounded<T>(at, open);
      if (n == lanes) hn::StoreU(rounded, WD<T>(), to);
      else hn::BlendedStore(rounded, hn::FirstN(WD<T>(), n), WD<T>(), to);
    };
    const Wide<T>* from = numbers + lane;
    if (results == nullptr) {
      for (std::uint64_t row = 0; row < rows; ++row, from += stride) at.Add(load(from));
    } else {
      Wide<T>* to = results + lane;
      for (std::uint64_t row = 0; row < rows; ++row, from += stride, to += stride) {
        const QV number = load(from);  // which `to` may be
        if (exclusive) write(to);
        at.Add(number);
        if (!exclusive) write(to);
      }
    }
    const QV most = hn::Set(d, most_sum<T>);
    inside = hn::And(inside, hn::And(hn::Le(hn::Abs(at.sum), most), hn::Le(hn::Abs(at.error), most)));
    hn::Store(at.sum, d, sums.sum + lane);
    hn::Store(at.error, d, sums.error + lane);
    hn::Store(at.size, d, sums.lost + lane);
  }
  const hn::RebindToUnsigned<WD<T>> bits;
  return hn::AllTrue(d, inside) && hn::AllTrue(bits, hn::Eq(hn::BitCast(bits, open), hn::Zero(bits)));
}

// `count` elements of a line, `step` from each other, to column `line` of rows, and back.
template <class T>
void ToColumn(const Wide<T>* x, std::size_t step, std::size_t count, std::size_t line, SideRows<T>& to) {
  Wide<T>* at = to.numbers + line;
  for (std::size_t i = 0; i < count; ++i, at += side, x += step) *at = *x;
}
template <class T>
void FromColumn(const SideRows<T>& from, std::size_t line, std::size_t count, std::size_t step, Wide<T>* y) {
  const Wide<T>* at = from.numbers + line;
  for (std::size_t i = 0; i < count; ++i, at += side, y += step) *y = *at;
}

// A line in pieces side by side: their totals first, from which the sums before each follow.
template <class T>
bool QuickPrefixes(const Wide<T>* x, Wide<T>* y, std::size_t count, bool exclusive, NearSum& state) {
  const std::size_t width = count <= half_elements ? half_side : side;
  const std::size_t rows = (count + width - 1) / width;
  const auto each_piece = [&](const auto& f) HWY_ATTR {
    for (std::size_t piece = 0; piece * rows < count; ++piece) {
      f(piece, piece * rows, std::min(rows, count - piece * rows));
    }
  };
  SideRows<T> at;
  if (count != rows * width) std::fill_n(at.numbers, rows * side, Wide<T>{0});
  each_piece([&](std::size_t piece, std::size_t first, std::size_t n)
                 HWY_ATTR { ToColumn<T>(x + first, 1, n, piece, at); });
  SideSums totals;
  AddRows<T>(width, at.numbers, rows, side, exclusive, totals, nullptr);
  Compensated sum{state.sum, state.error, state.bound / 2};
  SideSums in_front;
  for (std::size_t piece = 0; piece < width; ++piece) {
    in_front.sum[piece] = sum.sum;
    in_front.error[piece] = sum.error;
    in_front.lost[piece] = sum.lost;
    sum.add(totals.sum[piece]);
    sum.add_error(totals.error[piece]);
    sum.lost += totals.lost[piece];
  }
  if (!AddRows<T>(width, at.numbers, rows, side, exclusive, in_front, at.numbers)) return false;
  each_piece([&](std::size_t piece, std::size_t first, std::size_t n)
                 HWY_ATTR { FromColumn<T>(at, piece, n, 1, y + first); });
  state = {sum.sum, sum.error, sum.bound()};
  return true;
}

template <class T>
bool QuickLines(const T* x, T* y, const PrefixLines& of, bool exclusive) {
  if (of.next == 1) {  // columns, where they are; some of the last ones twice
    const std::size_t width = std::min(of.lines, half_side);
    for (std::size_t c = 0; c < of.lines; c += width) {
      const std::size_t first = std::min(c, of.lines - width);
      SideSums sums;
      if (!AddRows<T>(width, x + first, of.length, of.step, exclusive, sums, y + first)) return false;
    }
    return true;
  }
  SideSums sums;
  SideRows<T> at;
  if (of.lines != side) std::fill_n(at.numbers, SideRows<T>::rows * side, Wide<T>{0});
  for (std::size_t first = 0; first < of.length; first += SideRows<T>::rows) {
    const std::size_t n = std::min<std::size_t>(SideRows<T>::rows, of.length - first);
    const T* const from = x + first * of.step;
    for (std::size_t line = 0; line < of.lines; ++line) ToColumn<T>(from + line * of.next, of.step, n, line, at);
    if (!AddRows<T>(side, at.numbers, n, side, exclusive, sums, at.numbers)) return false;
    T* const to = y + first * of.step;
    for (std::size_t line = 0; line < of.lines; ++line) FromColumn<T>(at, line, n, of.step, to + line * of.next);
  }
  return true;
}

// Numbers that are stored floats, or greater than all of these, as stored floats.
template <class T>
HWY_INLINE T ToStored(float x) {
  constexpr FloatFormat format = float_format(dtype_of<T>);
  constexpr auto scale = static_cast<float>(power_of_two(format.end - 128));
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(std::fabs(x) * scale) >> (24 - format.precision);
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) >> 16 & 0x8000U;
  return {static_cast<std::uint16_t>(std::min(magnitude, static_cast<std::uint32_t>(infinity_bits<T>)) | sign)};
}
#define MASU_QUICK_PREFIXES(name, T)                                                              \
  bool QuickPrefixes##name(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) { \
    float numbers[quick_prefix_elements];                                                         \
    for (std::size_t i = 0; i < count; ++i) numbers[i] = to_float(x[i]);                          \
    if (!QuickPrefixes<T>(numbers, numbers, count, exclusive, state)) return false;               \
    for (std::size_t i = 0; i < count; ++i) y[i] = ToStored<T>(numbers[i]);                       \
    return true;                                                                                  \
  }
MASU_EACH_STORED_FLOAT(MASU_QUICK_PREFIXES)
#undef MASU_QUICK_PREFIXES
#define MASU_QUICK_PREFIXES(name, T)                                                              \
  bool QuickPrefixes##name(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) { \
    return QuickPrefixes<T>(x, y, count, exclusive, state);                                       \
  }                                                                                               \
  bool QuickLines##name(const T* x, T* y, const PrefixLines& of, bool exclusive) {                \
    return QuickLines<T>(x, y, of, exclusive);                                                    \
  }
MASU_EACH_WIDE_FLOAT(MASU_QUICK_PREFIXES)
#undef MASU_QUICK_PREFIXES

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {
namespace {

constexpr std::size_t few_elements = 32;  // that are not worth pieces

// Few elements of a line, one after the other.
template <class T>
bool few_prefixes(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) {
  Compensated sum{state.sum, state.error, state.bound / 2};
  T found[few_elements];
  bool sure = true;
  const auto round = [&](T& to) {
    if (has_few_places(dtype_of<T>) || (sum.error == 0 && sum.lost == 0)) {  // sums of few places are exact
      to = rounded_to<T>(sum.sum + 0.0);
      return;
    }
    const std::optional<double> rounded = sum.rounded<T>();
    sure = sure && rounded;
    to = rounded_to<T>(rounded.value_or(0));
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (exclusive) round(found[i]);
    if constexpr (is_stored<T>) sum.add(to_double(x[i]));
    else sum.add(static_cast<double>(x[i]));
    if (!exclusive) round(found[i]);
  }
  if (!sure || !(std::fabs(sum.sum) <= most_sum<T>) || !(std::fabs(sum.error) <= most_sum<T>)) return false;
  std::copy_n(found, count, y);
  state = {sum.sum, sum.error, sum.bound()};
  return true;
}

}  // namespace

#define MASU_QUICK_PREFIXES(name, T)                                                         \
  HWY_EXPORT(QuickPrefixes##name);                                                           \
  bool quick_prefixes(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) { \
    if (count <= few_elements) return few_prefixes(x, y, count, exclusive, state);           \
    return HWY_DYNAMIC_DISPATCH(QuickPrefixes##name)(x, y, count, exclusive, state);         \
  }
MASU_EACH_FLOAT(MASU_QUICK_PREFIXES)
#undef MASU_QUICK_PREFIXES
#define MASU_QUICK_LINES(name, T)                                             \
  HWY_EXPORT(QuickLines##name);                                               \
  bool quick_lines(const T* x, T* y, const PrefixLines& of, bool exclusive) { \
    return HWY_DYNAMIC_DISPATCH(QuickLines##name)(x, y, of, exclusive);       \
  }
MASU_EACH_WIDE_FLOAT(MASU_QUICK_LINES)
#undef MASU_QUICK_LINES

}  // namespace masu::cpu
#endif
