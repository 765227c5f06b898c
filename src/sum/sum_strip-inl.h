// SPDX-License-Identifier: Apache-2.0
// Sums of strips of neighbouring columns, while their rows are added.
#if defined(MASU_SUM_STRIP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MASU_SUM_STRIP_INL_H
#undef MASU_SUM_STRIP_INL_H
#else
#define MASU_SUM_STRIP_INL_H
#endif

#include "elements/stored_float.h"
#include "runtime/parallel.h"
#include "sum/sum_certain-inl.h"

#include <masu/device.h>

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

inline constexpr std::size_t column_strip = 512;  // columns whose sums stay in the first-level cache
inline constexpr std::size_t most_strips = 16;    // of columns whose sums stay in the second-level cache

// The sums of `columns` columns at most: few of them on the stack.
class ColumnSums {
 public:
  static constexpr std::size_t most_fields = 5;
  explicit ColumnSums(std::size_t columns) {
    if (columns <= column_strip) return;
    step_ = (columns + column_strip - 1) / column_strip * column_strip;
    many_ = hwy::AllocateAligned<double>(most_fields * step_);
    if (many_ == nullptr) throw std::bad_alloc();
    first_ = many_.get();
  }
  ColumnSums(const ColumnSums&) = delete;
  ColumnSums& operator=(const ColumnSums&) = delete;
  HWY_INLINE double* operator[](std::size_t field) { return first_ + field * step_; }

 private:
  HWY_ALIGN double few_[most_fields * column_strip];
  hwy::AlignedFreeUniquePtr<double[]> many_;
  std::size_t step_ = column_strip;
  double* first_ = few_;
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
  HWY_INLINE void Merge(const QuickSplitColumn& other) {
    sum = hn::Add(sum, other.sum);
    rest = hn::Add(rest, other.rest);
    most = hn::Max(most, other.most);
    any = hn::Or(any, other.any);
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
  HWY_INLINE void Merge(const QuickExactMoments& other) {
    any = hn::Or(hn::Or(any, other.any), QuickAddTo(sum, other.sum));
    any = hn::Or(any, QuickAddTo(squares, other.squares));
  }
  template <class F>
  HWY_INLINE void EachField(const F& f) {
    f(sum);
    f(squares);
    f(any);
  }
};
// Sums of floats, with the greatest magnitude and, with `Exact`, the least one that is not 0, without their signs'
// bits, and the bits of doubles: these mostly prove that no addition was rounded.
template <class T, bool Exact>
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
    if constexpr (Exact) least = hn::Max(least, hn::Sub(hn::Zero(Bits()), twice));
    if constexpr (std::is_same_v<T, float>) {
      sum = hn::Add(sum, hn::PromoteTo(QD(), x));
    } else {
      sum = hn::Add(sum, x);
      some = hn::Or(some, bits);
    }
  }
  HWY_INLINE void Merge(const QuickRanged& other) {
    sum = hn::Add(sum, other.sum);
    most = hn::Max(most, other.most);
    if constexpr (Exact) least = hn::Max(least, other.least);
    if constexpr (std::is_same_v<T, double>) some = hn::Or(some, other.some);
  }
  template <class F>
  HWY_INLINE void EachField(const F& f) {
    f(sum);
    f(most);
    if constexpr (Exact) f(least);
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
  HWY_INLINE void Merge(const QuickWhole& other) {
    sum = hn::Add(sum, other.sum);
    upper = hn::Add(upper, other.upper);
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
  return reinterpret_cast<hn::TFromV<V>*>(sums[field] + c);
}
template <class S>
HWY_INLINE S LoadSums(ColumnSums& sums, std::size_t c) {
  S s;
  std::size_t field = 0;
  s.EachField([&](auto& v)
                  HWY_ATTR { v = hn::Load(hn::DFromV<std::decay_t<decltype(v)>>(), FieldAt(sums, field++, c, v)); });
  return s;
}

inline constexpr std::uint64_t column_rows_together = 8;  // rows that are read side by side

// Adds a vector of elements, or n of them. What the doubles of words leave stands `rest` elements after them.
template <class S, class T, class... N>
HWY_INLINE void AddTo(S& to, const T* from, std::size_t rest, N... n) {
  if constexpr (std::is_same_v<S, QuickPairMoments>) to.Add(QuickLoad(from, n...), QuickLoad(from + rest, n...));
  else if constexpr (TakesElements<S>) to.AddElements(LoadElements(from, n...));
  else to.Add(QuickLoad(from, n...));
}
template <class S>
HWY_INLINE void StoreSums(S of, ColumnSums& to, std::size_t c) {
  std::size_t field = 0;
  of.EachField([&](auto& v)
                   HWY_ATTR { hn::Store(v, hn::DFromV<std::decay_t<decltype(v)>>(), FieldAt(to, field++, c, v)); });
}
template <class S>
HWY_INLINE void ClearSums(S& sums) {
  sums.EachField([](auto& v) HWY_ATTR { v = hn::Zero(hn::DFromV<std::decay_t<decltype(v)>>()); });
}
// Adds `rows` rows to the sums of columns from `at` on, which begin if `first`.
template <class S, class T>
void AddStrip(const T* x, std::uint64_t rows, bool first, std::uint64_t stride, std::size_t columns, ColumnSums& sums,
              std::size_t at, std::size_t rest = 0) {
  const std::size_t lanes = hn::Lanes(QD());
  constexpr std::size_t vectors = 2;  // side by side, as one waits for its sum
  constexpr std::size_t ahead = 512 / sizeof(T);
  const auto add = [&](std::size_t c, auto side_by_side, const auto& add_row) HWY_ATTR {
    constexpr std::size_t n = decltype(side_by_side)::value;
    S s[n];
    for (std::size_t k = 0; k < n; ++k) {
      if (first && !std::is_same_v<S, QuickSplitColumn>) ClearSums(s[k]);
      else s[k] = LoadSums<S>(sums, at + c + k * lanes);
    }
    for (std::uint64_t row = 0; row < rows; ++row) add_row(x + row * stride + c, s);
    for (std::size_t k = 0; k < n; ++k) StoreSums(s[k], sums, at + c + k * lanes);
  };
  std::size_t c = 0;
  for (; c + vectors * lanes <= columns; c += vectors * lanes) {
    add(c, std::integral_constant<std::size_t, vectors>(), [&](const T* from, S* s) HWY_ATTR {
      __builtin_prefetch(from + ahead);
      for (std::size_t k = 0; k < vectors; ++k) AddTo(s[k], from + k * lanes, rest);
    });
  }
  for (; c < columns; c += lanes) {
    const std::size_t n = std::min(lanes, columns - c);
    add(c, std::integral_constant<std::size_t, 1>(), [&](const T* from, S* s) HWY_ATTR {
      if (n == lanes) AddTo(*s, from, rest);
      else AddTo(*s, from, rest, n);
    });
  }
}
// Neighbouring columns, or lines of `rows` elements one after the other.
struct Strip {
  Dtype dtype;
  const void* x;
  std::uint64_t rows;
  std::uint64_t stride;  // elements from row to row
  std::size_t columns;
  bool are_lines = false;
  [[nodiscard]] Strip Part(std::size_t first, std::size_t count) const {
    const std::size_t at = first * (are_lines ? rows : 1) * size_of(dtype);
    return {dtype, static_cast<const std::byte*>(x) + at, rows, stride, count, are_lines};
  }
};
// Calls again(part, results, sure) for parts of columns of which some are not certain; returns whether all are then.
template <class F>
bool EachUnsure(const Strip& strip, double* results, std::uint8_t* sure, const F& again) {
  constexpr std::size_t wide = 64;
  bool all = true;
  std::size_t first = 0;
  for (std::size_t c = 0, end = 0; c < strip.columns; c = end) {
    end = std::min(c + wide, strip.columns);
    const bool unsure = std::find(sure + c, sure + end, 0) != sure + end;
    if (unsure && end != strip.columns && end - first < column_strip) continue;
    const std::size_t stop = unsure ? end : c;
    if (first != stop) all = again(strip.Part(first, stop - first), results + first, sure + first) && all;
    first = end;
  }
  return all;
}
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

// Rows from `first` on, some of them at a time for one strip after the other, as memory has them.
template <class S, class T>
void AddPart(const Strip& all, std::uint64_t first, std::uint64_t end, ColumnSums& sums) {
  HWY_ALIGN T block[(std::is_same_v<T, double> ? 2 : 1) * column_rows_together * column_strip];
  for (std::uint64_t row = first; row < end; row += column_rows_together) {
    const std::uint64_t here = std::min(column_rows_together, end - row);
    if ((row - first) % 1024 == 0) runtime::check_interrupted();
    for (std::size_t c = 0; c < all.columns; c += column_strip) {
      const Strip strip = all.Part(c, std::min(column_strip, all.columns - c));
      if (strip.dtype == dtype_of<T>) {
        const T* const from = static_cast<const T*>(strip.x) + row * strip.stride;
        AddStrip<S>(from, here, row == first, strip.stride, strip.columns, sums, c);
      } else if constexpr (std::is_floating_point_v<T>) {
        Widened(strip, row, here, block);
        AddStrip<S>(block, here, row == first, strip.columns, strip.columns, sums, c, here * strip.columns);
      }
    }
  }
}
// The sums of lines: of vectors, then of their lanes.
template <class S, class T>
void AddLines(const Strip& strip, ColumnSums& sums) {
  constexpr std::size_t most = column_rows_together * column_strip;
  const std::size_t lanes = hn::Lanes(QD());
  HWY_ALIGN T block[(std::is_same_v<T, double> ? 2 : 1) * most];
  S none;
  ClearSums(none);
  if (strip.columns % lanes != 0) StoreSums(none, sums, strip.columns / lanes * lanes);
  for (std::size_t line = 0; line < strip.columns; ++line) {
    S s = none;
    for (std::size_t first = 0; first < strip.rows; first += most) {
      const std::size_t n = std::min<std::size_t>(most, strip.rows - first);
      const T* from = static_cast<const T*>(strip.x) + line * strip.rows + first;
      if constexpr (std::is_floating_point_v<T>) {
        if (strip.dtype != dtype_of<T>) {
          const auto* const x = static_cast<const std::byte*>(strip.x);
          Widened({strip.dtype, x + (line * strip.rows + first) * size_of(strip.dtype), 1, n, n}, 0, 1, block);
          from = block;
        }
      }
      std::size_t i = 0;
      for (; i + lanes <= n; i += lanes) AddTo(s, from + i, n);
      if (i < n) AddTo(s, from + i, n, n - i);
    }
    QuickGather(s);
    std::size_t field = 0;
    s.EachField([&](auto& v) HWY_ATTR { *FieldAt(sums, field++, line, v) = hn::GetLane(v); });
  }
}
// The sums of all rows, which threads share where they are many.
template <class S, class T>
void AddRows(const Strip& strip, ColumnSums& sums) {
  if (strip.are_lines) return AddLines<S, T>(strip, sums);
  constexpr std::uint64_t fewest = 64;                     // rows of a thread, which are more work than its sums
  constexpr std::uint64_t worth = std::uint64_t{1} << 16;  // elements of a thread
  const std::uint64_t most = std::min(strip.rows / fewest, strip.rows * strip.columns / worth);
  const std::uint64_t parts = std::min<std::uint64_t>(most, most < 2 ? 1 : cpu_threads());
  if (parts < 2) return AddPart<S, T>(strip, 0, strip.rows, sums);
  const auto add = [&](std::uint64_t part, ColumnSums& to) HWY_ATTR {
    AddPart<S, T>(strip, strip.rows * part / parts, strip.rows * (part + 1) / parts, to);
  };
  const std::size_t lanes = hn::Lanes(QD());
  std::vector<std::unique_ptr<ColumnSums>> others(parts);
  for (std::uint64_t part = 1; part < parts; ++part) {
    others[part] = std::make_unique<ColumnSums>(strip.columns);
    if (!std::is_same_v<S, QuickSplitColumn>) continue;
    for (std::size_t c = 0; c < strip.columns; c += lanes) StoreSums(LoadSums<S>(sums, c), *others[part], c);  // units
  }
  runtime::parallel_tasks(parts, [&](std::uint64_t part) HWY_ATTR { add(part, part == 0 ? sums : *others[part]); });
  for (std::uint64_t part = 1; part < parts; ++part) {
    for (std::size_t c = 0; c < strip.columns; c += lanes) {
      S all = LoadSums<S>(sums, c);
      all.Merge(LoadSums<S>(*others[part], c));
      StoreSums(all, sums, c);
    }
  }
}
// Adds elements as they are, and those of other dtypes as the float or double that they are.
template <class S>
void AddColumns(const Strip& strip, ColumnSums& sums) {
  if (strip.dtype == Dtype::f32 || size_of(strip.dtype) < sizeof(float)) AddRows<S, float>(strip, sums);
  else AddRows<S, double>(strip, sums);
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
