// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_quick.h"

#include "runtime/parallel.h"
#include "sum/compensated.h"

#include <masu/device.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sum/sum_quick.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using QD = hn::CappedTag<double, 8>;
using QV = hn::Vec<QD>;

// Numbers as doubles, `n` of them where there is not a whole vector; the others are 0.
HWY_INLINE QV QuickLoad(const double* x) {
  return hn::LoadU(QD(), x);
}
HWY_INLINE QV QuickLoad(const float* x) {
  return hn::PromoteTo(QD(), hn::LoadU(hn::Rebind<float, QD>(), x));
}
template <class T>
HWY_INLINE QV QuickLoad(const T* x, std::size_t n) {
#if HWY_TARGET <= HWY_AVX2  // whose masked loads touch nothing else
  const hn::Rebind<T, QD> d;
  const auto loaded = hn::MaskedLoad(hn::FirstN(d, n), d, x);
  if constexpr (std::is_same_v<T, float>) return hn::PromoteTo(QD(), loaded);
  else return loaded;
#else
  HWY_ALIGN T memory[HWY_MAX_BYTES / sizeof(double)] = {};
  for (std::size_t i = 0; i < n; ++i) memory[i] = x[i];
  return QuickLoad(memory);
#endif
}

// Additions whose errors are not kept: each rounds by at most half a unit of `size`, the sum of the magnitudes.
struct QuickPlain {
  QV sum;
  QV size;
  HWY_INLINE void Begin() { sum = size = hn::Zero(QD()); }
  HWY_INLINE void Add(QV x) {
    sum = hn::Add(sum, x);
    size = hn::Add(size, hn::Abs(x));
  }
  HWY_INLINE void Merge(const QuickPlain& other) {
    sum = hn::Add(sum, other.sum);
    size = hn::Add(size, other.size);
  }
  template <class F>
  HWY_INLINE QuickPlain Each(const F& f) const {
    return {f(sum), f(size)};
  }
  [[nodiscard]] HWY_INLINE double Error() const { return 0; }
};
// Additions whose errors are added up, with the sum of their magnitudes.
struct QuickErrors {
  QV sum;
  QV error;
  QV size;
  HWY_INLINE void Begin() { sum = error = size = hn::Zero(QD()); }
  HWY_INLINE void AddError(QV x) {
    error = hn::Add(error, x);
    size = hn::Add(size, hn::Abs(x));
  }
  HWY_INLINE QV AddSum(QV x) {
    const QV total = hn::Add(sum, x);
    const QV part = hn::Sub(total, sum);
    const QV lost = hn::Add(hn::Sub(sum, hn::Sub(total, part)), hn::Sub(x, part));
    sum = total;
    return lost;
  }
  HWY_INLINE void Add(QV x) { AddError(AddSum(x)); }
  HWY_INLINE void Merge(const QuickErrors& other) {
    const QV lost = AddSum(other.sum);
    error = hn::Add(hn::Add(error, other.error), lost);
    size = hn::Add(hn::Add(size, other.size), hn::Abs(lost));
  }
  template <class F>
  HWY_INLINE QuickErrors Each(const F& f) const {
    return {f(sum), f(error), f(size)};
  }
  [[nodiscard]] HWY_INLINE double Error() const { return hn::GetLane(error); }
};
// The same for few numbers, whose sums often lie exactly between two: `size` is that of what the errors' additions
// lose.
struct QuickTwice : QuickErrors {
  HWY_INLINE void AddError(QV x) {
    const QV total = hn::Add(error, x);
    const QV part = hn::Sub(total, error);
    const QV lost = hn::Add(hn::Sub(error, hn::Sub(total, part)), hn::Sub(x, part));
    error = total;
    size = hn::Add(size, hn::Abs(lost));
  }
  HWY_INLINE void Add(QV x) { AddError(AddSum(x)); }
  HWY_INLINE void Merge(const QuickTwice& other) {
    const QV lost = AddSum(other.sum);
    AddError(other.error);
    AddError(lost);
    size = hn::Add(size, other.size);
  }
  template <class F>
  HWY_INLINE QuickTwice Each(const F& f) const {
    return {{f(sum), f(error), f(size)}};
  }
};
// What `size` tells of the exact sum after so many additions: twice the bound, for its own roundings.
template <class S>
HWY_INLINE double QuickBound(double size, double additions) {
  if (size == 0) return 0;
  return std::is_same_v<S, QuickTwice> ? 2 * size + 0x1p-1074 : additions * size * 0x1p-52 + 0x1p-1074;
}
inline constexpr std::uint64_t quick_few = 64;

template <class T>
struct QuickValues {
  using Sums = std::conditional_t<std::is_same_v<T, float>, QuickPlain, QuickErrors>;
  const T* x;
  template <class S>
  HWY_INLINE void Add(std::size_t i, S& sums) const {
    sums.Add(QuickLoad(x + i));
  }
  template <class S>
  HWY_INLINE void Add(std::size_t i, std::size_t n, S& sums) const {
    sums.Add(QuickLoad(x + i, n));
  }
};
// A product of two f32 is a double; of two f64 it is the sum of two, but for what underflows.
template <class T>
struct QuickProducts {
  using Sums = std::conditional_t<std::is_same_v<T, float>, QuickPlain, QuickErrors>;
  const T* x;
  const T* y;
  template <class S>
  HWY_INLINE void AddOne(QV a, QV b, S& sums) const {
    const QV product = hn::Mul(a, b);
    if constexpr (std::is_same_v<T, float>) {
      sums.Add(product);
    } else {
      const QV lost = sums.AddSum(product);
      sums.AddError(hn::Add(lost, hn::MulSub(a, b, product)));
    }
  }
  template <class S>
  HWY_INLINE void Add(std::size_t i, S& sums) const {
    AddOne(QuickLoad(x + i), QuickLoad(y + i), sums);
  }
  template <class S>
  HWY_INLINE void Add(std::size_t i, std::size_t n, S& sums) const {
    AddOne(QuickLoad(x + i, n), QuickLoad(y + i, n), sums);
  }
};

// All lanes in the first one.
template <class S>
HWY_INLINE void QuickGather(S& sums) {
  const QD d;
  const std::size_t lanes = hn::Lanes(d);
  if (lanes > 4) sums.Merge(sums.Each([&](QV v) HWY_ATTR { return hn::Reverse8(d, v); }));
  if (lanes > 2) sums.Merge(sums.Each([&](QV v) HWY_ATTR { return hn::Reverse4(d, v); }));
  if (lanes > 1) sums.Merge(sums.Each([&](QV v) HWY_ATTR { return hn::Reverse2(d, v); }));
}

template <class S, class Source>
QuickPart QuickLoop(const Source& source, std::size_t count) {
  const std::size_t lanes = hn::Lanes(QD());
  S a, b, c, d;
  a.Begin();
  b.Begin();
  c.Begin();
  d.Begin();
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    source.Add(i, a);
    source.Add(i + lanes, b);
    source.Add(i + 2 * lanes, c);
    source.Add(i + 3 * lanes, d);
  }
  for (; i + lanes <= count; i += lanes) source.Add(i, a);
  if (i < count) source.Add(i, count - i, b);
  a.Merge(b);
  if (count >= 4 * lanes) {
    c.Merge(d);
    a.Merge(c);
  }
  QuickGather(a);
  // Of a chain, and of its rest; twice for each merge; and those of the sizes.
  const std::size_t additions = count / (4 * lanes) + 16 + lanes;
  return {hn::GetLane(a.sum), a.Error(), QuickBound<S>(hn::GetLane(a.size), static_cast<double>(additions))};
}

template <class T>
QuickPart QuickSum(const T* x, std::uint64_t count) {
  if (count <= quick_few) return QuickLoop<QuickTwice>(QuickValues<T>{x}, count);
  return QuickLoop<typename QuickValues<T>::Sums>(QuickValues<T>{x}, count);
}
template <class T>
QuickPart QuickDot(const T* x, const T* y, std::uint64_t count) {
  if constexpr (std::is_same_v<T, double>) {
    if (HWY_NATIVE_FMA == 0) return {0, 0, std::numeric_limits<double>::infinity()};
  } else if (count <= quick_few) {
    return QuickLoop<QuickTwice>(QuickProducts<T>{x, y}, count);
  }
  QuickPart part = QuickLoop<typename QuickProducts<T>::Sums>(QuickProducts<T>{x, y}, count);
  // A product below the normal numbers and its error are rounded to multiples of the least number.
  if (std::is_same_v<T, double>) part.bound += static_cast<double>(count) * 0x1p-1073;
  return part;
}

// Adds `rows` rows to the sums of a strip of columns, one vector of columns after the other.
template <class T, class S>
void QuickStrip(const T* x, std::uint64_t rows, std::uint64_t stride, std::size_t columns, double* sums, double* errors,
                double* sizes) {
  const QD d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t c = 0; c < columns; c += lanes) {
    const std::size_t n = std::min(lanes, columns - c);
    S s;
    s.sum = hn::Load(d, sums + c);
    s.size = hn::Load(d, sizes + c);
    if constexpr (!std::is_same_v<S, QuickPlain>) s.error = hn::Load(d, errors + c);
    if (n == lanes) {
      for (std::uint64_t row = 0; row < rows; ++row) s.Add(QuickLoad(x + row * stride + c));
    } else {
      for (std::uint64_t row = 0; row < rows; ++row) s.Add(QuickLoad(x + row * stride + c, n));
    }
    hn::Store(s.sum, d, sums + c);
    hn::Store(s.size, d, sizes + c);
    if constexpr (!std::is_same_v<S, QuickPlain>) hn::Store(s.error, d, errors + c);
  }
}

template <class T, class S>
void QuickColumnsOf(const T* x, std::uint64_t rows, std::uint64_t stride, std::uint64_t count, T* result,
                    std::uint8_t* sure) {
  constexpr std::size_t strip = 512;      // columns whose sums stay in the first-level cache
  constexpr std::uint64_t together = 16;  // rows that are read side by side
  HWY_ALIGN double sums[strip];
  HWY_ALIGN double errors[strip];
  HWY_ALIGN double sizes[strip];
  for (std::uint64_t first = 0; first < count; first += strip) {
    const std::size_t columns = std::min<std::uint64_t>(strip, count - first);
    std::fill_n(sums, strip, 0.0);
    std::fill_n(errors, strip, 0.0);
    std::fill_n(sizes, strip, 0.0);
    for (std::uint64_t row = 0; row < rows; row += together) {
      QuickStrip<T, S>(x + row * stride + first, std::min(together, rows - row), stride, columns, sums, errors, sizes);
    }
    const auto additions = static_cast<double>(rows);
    for (std::size_t c = 0; c < columns; ++c) {
      const auto found = certain<T>(sums[c], errors[c], QuickBound<S>(sizes[c], additions));
      sure[first + c] = found.has_value();
      result[first + c] = static_cast<T>(found.value_or(0));
    }
  }
}
template <class T>
void QuickColumns(const T* x, std::uint64_t rows, std::uint64_t stride, std::uint64_t count, T* result,
                  std::uint8_t* sure) {
  if (rows <= quick_few) return QuickColumnsOf<T, QuickTwice>(x, rows, stride, count, result, sure);
  QuickColumnsOf<T, typename QuickValues<T>::Sums>(x, rows, stride, count, result, sure);
}

#define MASU_QUICK(name, T)                                                                                     \
  QuickPart QuickSum##name(const T* x, std::uint64_t count) {                                                   \
    return QuickSum(x, count);                                                                                  \
  }                                                                                                             \
  QuickPart QuickDot##name(const T* x, const T* y, std::uint64_t count) {                                       \
    return QuickDot(x, y, count);                                                                               \
  }                                                                                                             \
  void QuickColumns##name(const T* x, std::uint64_t rows, std::uint64_t stride, std::uint64_t count, T* result, \
                          std::uint8_t* sure) {                                                                 \
    QuickColumns(x, rows, stride, count, result, sure);                                                         \
  }
MASU_QUICK(F32, float)
MASU_QUICK(F64, double)
#undef MASU_QUICK

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {
namespace {

HWY_EXPORT(QuickSumF32);
HWY_EXPORT(QuickSumF64);
HWY_EXPORT(QuickDotF32);
HWY_EXPORT(QuickDotF64);
HWY_EXPORT(QuickColumnsF32);
HWY_EXPORT(QuickColumnsF64);

// Elements between two reductions: bounds grow with the chains.
constexpr std::uint64_t quick_piece = std::uint64_t{1} << 15;
// From so many pieces on, threads share them.
constexpr std::uint64_t pieces_a_task = 8;

template <class Part>
QuickPart quick_total(std::uint64_t count, const Part& part) {
  const std::uint64_t pieces = (count + quick_piece - 1) / quick_piece;
  Compensated total;
  double bound = 0;
  const auto take = [&](const QuickPart& found) {
    total.add(found.sum);
    total.add_error(found.error);
    bound += found.bound;
  };
  const auto piece = [&](std::uint64_t i) {
    return part(i * quick_piece, std::min(quick_piece, count - i * quick_piece));
  };
  if (pieces < 2 * pieces_a_task || cpu_threads() == 1) {
    for (std::uint64_t i = 0; i < pieces; ++i) take(piece(i));
  } else {
    std::vector<QuickPart> found(pieces);
    runtime::parallel_tasks((pieces + pieces_a_task - 1) / pieces_a_task, [&](std::uint64_t task) {
      const std::uint64_t end = std::min(pieces, (task + 1) * pieces_a_task);
      for (std::uint64_t i = task * pieces_a_task; i < end; ++i) found[i] = piece(i);
    });
    for (const QuickPart& each : found) take(each);
  }
  // The bounds' own additions round too.
  const double additions = 2 * static_cast<double>(pieces) + 2;
  const double all = bound * (1 + additions * 0x1p-52) + total.bound();
  return QuickPart{total.sum, total.error, all};
}

template <class T>
std::optional<double> quick_rounded(const QuickPart& total, std::uint64_t divisor) {
  if (divisor == 1) return certain<T>(total.sum, total.error, total.bound);
  return certain_quotient<T>(total.sum, total.error, total.bound, static_cast<double>(divisor));
}
std::optional<double> quick_result(const QuickPart& total, Dtype result, std::uint64_t divisor) {
  if (divisor >> 52 != 0) return std::nullopt;
  return result == Dtype::f32 ? quick_rounded<float>(total, divisor) : quick_rounded<double>(total, divisor);
}

}  // namespace

bool quick_arithmetic() noexcept {
  volatile double tiny = std::numeric_limits<double>::denorm_min();
  volatile double one = 1;
  volatile double half_unit = 0x1p-53;
  return tiny * one != 0 && one + half_unit == 1 && one + 1.5 * half_unit > 1;
}

#define MASU_QUICK(name, T)                                                                                         \
  std::optional<double> quick_sum(const T* x, std::uint64_t count, Dtype result, std::uint64_t divisor) {           \
    const auto part = [&](std::uint64_t first, std::uint64_t n) {                                                   \
      return HWY_DYNAMIC_DISPATCH(QuickSum##name)(x + first, n);                                                    \
    };                                                                                                              \
    return quick_result(quick_total(count, part), result, divisor);                                                 \
  }                                                                                                                 \
  std::optional<double> quick_dot(const T* x, const T* y, std::uint64_t count, Dtype result) {                      \
    const auto part = [&](std::uint64_t first, std::uint64_t n) {                                                   \
      return HWY_DYNAMIC_DISPATCH(QuickDot##name)(x + first, y + first, n);                                         \
    };                                                                                                              \
    return quick_result(quick_total(count, part), result, 1);                                                       \
  }                                                                                                                 \
  void quick_columns(const T* x, std::uint64_t rows, std::uint64_t columns, std::uint64_t first, std::uint64_t end, \
                     T* result, std::uint8_t* sure) {                                                               \
    HWY_DYNAMIC_DISPATCH(QuickColumns##name)(x + first, rows, columns, end - first, result, sure);                  \
  }
MASU_QUICK(F32, float)
MASU_QUICK(F64, double)
#undef MASU_QUICK

}  // namespace masu::cpu
#endif
