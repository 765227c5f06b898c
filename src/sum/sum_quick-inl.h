// SPDX-License-Identifier: Apache-2.0
// Vectors of sums of doubles, with what bounds how far they are from the exact ones.
#if defined(MASU_SUM_QUICK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MASU_SUM_QUICK_INL_H
#undef MASU_SUM_QUICK_INL_H
#else
#define MASU_SUM_QUICK_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <type_traits>

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
template <class D, class T>
HWY_INLINE hn::Vec<D> QuickLoadFirst(D d, const T* x, std::size_t n) {
#if HWY_TARGET <= HWY_AVX2  // whose masked loads touch nothing else
  return hn::MaskedLoad(hn::FirstN(d, n), d, x);
#else
  HWY_ALIGN T memory[HWY_MAX_BYTES / sizeof(T)] = {};
  for (std::size_t i = 0; i < n; ++i) memory[i] = x[i];
  return hn::LoadU(d, memory);
#endif
}
template <class T>
HWY_INLINE QV QuickLoad(const T* x, std::size_t n) {
  const auto loaded = QuickLoadFirst(hn::Rebind<T, QD>(), x, n);
  if constexpr (std::is_same_v<T, float>) return hn::PromoteTo(QD(), loaded);
  else return loaded;
}

// Sums begin at 0. Their constructors are written out, as GCC compiles none of its own for these instructions on
// aarch64.

// Additions whose errors are not kept: each rounds by at most half a unit of `size`, the sum of the magnitudes.
struct QuickPlain {
  QV sum;
  QV size;
  HWY_INLINE QuickPlain() { sum = size = hn::Zero(QD()); }
  HWY_INLINE QuickPlain(QV s, QV all) : sum(s), size(all) {}
  HWY_INLINE void Add(QV x) {
    sum = hn::Add(sum, x);
    size = hn::Add(size, hn::Abs(x));
  }
  HWY_INLINE void Merge(const QuickPlain& other) {
    sum = hn::Add(sum, other.sum);
    size = hn::Add(size, other.size);
  }
  template <class F>
  HWY_INLINE void EachField(const F& f) {
    f(sum);
    f(size);
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
  HWY_INLINE QuickErrors() { sum = error = size = hn::Zero(QD()); }
  HWY_INLINE QuickErrors(QV s, QV lost, QV all) : sum(s), error(lost), size(all) {}
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
  HWY_INLINE void EachField(const F& f) {
    f(sum);
    f(size);
    f(error);
  }
  template <class F>
  HWY_INLINE QuickErrors Each(const F& f) const {
    return {f(sum), f(error), f(size)};
  }
  [[nodiscard]] HWY_INLINE double Error() const { return hn::GetLane(error); }
};
// Of numbers and of their squares. The squares of f32 are doubles; those of f64 are the sums of two, but for what
// underflows.
struct QuickMoments {
  QV sum;
  QV sum_error;
  QV squares;
  QV squares_error;
  HWY_INLINE QuickMoments() { sum = sum_error = squares = squares_error = hn::Zero(QD()); }
  HWY_INLINE QuickMoments(QV s, QV lost, QV q, QV q_lost)
      : sum(s), sum_error(lost), squares(q), squares_error(q_lost) {}
  static HWY_INLINE QV AddTo(QV& total, QV x) {
    const QV before = total;
    total = hn::Add(total, x);
    const QV part = hn::Sub(total, before);
    return hn::Add(hn::Sub(before, hn::Sub(total, part)), hn::Sub(x, part));
  }
  HWY_INLINE void Add(QV x) {
    sum_error = hn::Add(sum_error, AddTo(sum, x));
    const QV square = hn::Mul(x, x);
    const QV lost = AddTo(squares, square);
    squares_error = hn::Add(squares_error, hn::Add(lost, hn::MulSub(x, x, square)));
  }
  HWY_INLINE void Merge(const QuickMoments& other) {
    sum_error = hn::Add(hn::Add(sum_error, other.sum_error), AddTo(sum, other.sum));
    squares_error = hn::Add(hn::Add(squares_error, other.squares_error), AddTo(squares, other.squares));
  }
  template <class F>
  HWY_INLINE void EachField(const F& f) {
    f(sum);
    f(sum_error);
    f(squares);
    f(squares_error);
  }
  template <class F>
  HWY_INLINE QuickMoments Each(const F& f) const {
    return {f(sum), f(sum_error), f(squares), f(squares_error)};
  }
};
// The same for few numbers, whose sums often lie exactly between two: `size` is that of what the errors' additions
// lose.
struct QuickTwice : QuickErrors {
  HWY_INLINE QuickTwice() {}
  HWY_INLINE QuickTwice(QV s, QV lost, QV all) : QuickErrors(s, lost, all) {}
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
    return {f(sum), f(error), f(size)};
  }
};
// What `size` tells of the exact sum after so many additions: twice the bound, for its own roundings.
template <class S>
HWY_INLINE double QuickBound(double size, double additions) {
  if (size == 0) return 0;
  return std::is_same_v<S, QuickTwice> ? 2 * size + 0x1p-1074 : additions * size * 0x1p-52 + 0x1p-1074;
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
