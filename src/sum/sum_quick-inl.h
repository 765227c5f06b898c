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
#include <limits>
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

// Adds, and returns what the rounding took away, which is exact.
HWY_INLINE QV QuickAddTo(QV& total, QV x) {
  const QV before = total;
  total = hn::Add(total, x);
  const QV part = hn::Sub(total, before);
  return hn::Add(hn::Sub(before, hn::Sub(total, part)), hn::Sub(x, part));
}

// The rounding error of the product of a and b, which is exact unless it overflows or underflows.
HWY_INLINE QV QuickLost(QV a, QV b, QV product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a, b, product);
#else  // halves of so many bits that their products are exact (T. J. Dekker, Numer. Math. 18, 1971)
  const QV cut = hn::Set(QD(), 0x1p27 + 1);
  const QV a_cut = hn::Mul(a, cut);
  const QV b_cut = hn::Mul(b, cut);
  const QV a_high = hn::Sub(a_cut, hn::Sub(a_cut, a));
  const QV b_high = hn::Sub(b_cut, hn::Sub(b_cut, b));
  const QV a_low = hn::Sub(a, a_high);
  const QV b_low = hn::Sub(b, b_high);
  const QV middle = hn::Add(hn::Sub(hn::Mul(a_high, b_high), product), hn::Mul(a_high, b_low));
  return hn::Add(hn::Add(middle, hn::Mul(a_low, b_high)), hn::Mul(a_low, b_low));
#endif
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
  HWY_INLINE QV AddSum(QV x) { return QuickAddTo(sum, x); }
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
  [[nodiscard]] HWY_INLINE double Error() const { return hn::GetLane(error); }
};
// Sums of numbers and of their squares. The square of an f32 is a double; that of an f64 is the sum of two doubles,
// unless it underflows.
struct QuickMoments {
  QV sum;
  QV sum_error;
  QV squares;
  QV squares_error;
  HWY_INLINE QuickMoments() { sum = sum_error = squares = squares_error = hn::Zero(QD()); }
  HWY_INLINE QuickMoments(QV s, QV lost, QV q, QV q_lost)
      : sum(s), sum_error(lost), squares(q), squares_error(q_lost) {}
  HWY_INLINE void Add(QV x) {
    sum_error = hn::Add(sum_error, QuickAddTo(sum, x));
    const QV square = hn::Mul(x, x);
    const QV lost = QuickAddTo(squares, square);
    squares_error = hn::Add(squares_error, hn::Add(lost, QuickLost(x, x, square)));
  }
  HWY_INLINE void Merge(const QuickMoments& other) {
    sum_error = hn::Add(hn::Add(sum_error, other.sum_error), QuickAddTo(sum, other.sum));
    squares_error = hn::Add(hn::Add(squares_error, other.squares_error), QuickAddTo(squares, other.squares));
  }
  template <class F>
  HWY_INLINE void EachField(const F& f) {
    f(sum);
    f(sum_error);
    f(squares);
    f(squares_error);
  }
};
// The same as QuickErrors for few numbers, whose sums often lie exactly between two: `size` is that of what the errors'
// additions lose.
struct QuickTwice : QuickErrors {
  HWY_INLINE QuickTwice() {}
  HWY_INLINE QuickTwice(QV s, QV lost, QV all) : QuickErrors(s, lost, all) {}
  HWY_INLINE void AddError(QV x) { size = hn::Add(size, hn::Abs(QuickAddTo(error, x))); }
  HWY_INLINE void Add(QV x) { AddError(AddSum(x)); }
  HWY_INLINE void Merge(const QuickTwice& other) {
    const QV lost = AddSum(other.sum);
    AddError(other.error);
    AddError(lost);
    size = hn::Add(size, other.size);
  }
};
// What `size` tells of the exact sum after so many additions: twice the bound, for its own roundings.
template <class S>
HWY_INLINE double QuickBound(double size, double additions) {
  if (size == 0) return 0;
  return std::is_same_v<S, QuickTwice> ? 2 * size + 0x1p-1074 : additions * size * 0x1p-52 + 0x1p-1074;
}

// All lanes in the first one.
template <class S>
HWY_INLINE void QuickGather(S& sums) {
  constexpr std::size_t lanes = hn::MaxLanes(QD());  // as many as there are: no set's vectors have lengths of their own
  [[maybe_unused]] const auto merge = [&](const auto& reversed) HWY_ATTR {
    S other = sums;
    other.EachField([&](auto& v) HWY_ATTR { v = reversed(hn::DFromV<std::decay_t<decltype(v)>>(), v); });
    sums.Merge(other);
  };
  if constexpr (lanes > 4) merge([](auto d, auto v) HWY_ATTR { return hn::Reverse8(d, v); });
  if constexpr (lanes > 2) merge([](auto d, auto v) HWY_ATTR { return hn::Reverse4(d, v); });
  if constexpr (lanes > 1) merge([](auto d, auto v) HWY_ATTR { return hn::Reverse2(d, v); });
}

// Numbers cut in two: a multiple of a unit, which is added as the integer that it is in the lowest bits of a float, and
// a rest. A unit is `to_unit` of the power of two below a sample of the numbers.
//
// Method: S. M. Rump, T. Ogita, S. Oishi, "Accurate floating-point summation part I", SIAM J. Sci. Comput. 31(1), 2008.
template <class T>
struct QuickCutRule;
template <>
struct QuickCutRule<float> {
  static constexpr std::size_t chain = 8;     // vectors that are added before their sums go to wider ones
  static constexpr double to_unit = 0x1p-18;  // numbers may be 16 times that power
  // How far the sum of the rests can be from the exact one, as a part of a unit for each number: a rest is at most half
  // a unit, and so is its part in the error of each addition that it passes through, on average at most 7; a product's
  // rest is rounded once. 10 are allowed.
  static constexpr double to_bound = 0x5p-24;
  static constexpr float least = 0x1p-60F;
  static constexpr float most = 0x1p90F;
};
template <>
struct QuickCutRule<double> {
  static constexpr std::size_t chain = 64;
  static constexpr double to_unit = 0x1p-41;   // 1024 times
  static constexpr double to_bound = 0x1p-46;  // some 70 in the mean, 105 with one lane; 256 are allowed
  static constexpr double least = 0x1p-800;
  static constexpr double most = 0x1p800;
};
template <class T>
struct QuickCut {
  using D = hn::CappedTag<T, 64 / sizeof(T)>;
  using Bits = hn::RebindToUnsigned<D>;
  hn::Vec<Bits> parts;
  hn::Vec<D> rests;
  HWY_INLINE QuickCut() {
    parts = hn::Zero(Bits());
    rests = hn::Zero(D());
  }
  HWY_INLINE void Merge(const QuickCut& other) {
    parts = hn::Add(parts, other.parts);
    rests = hn::Add(rests, other.rests);
  }
};
// How they are cut, and what came.
template <class T, bool Products>
struct QuickCutter {
  using D = typename QuickCut<T>::D;
  using V = hn::Vec<D>;
  using Bits = typename QuickCut<T>::Bits;
  V by;                  // 1.5 * 2^23 units of floats, 1.5 * 2^52 of doubles
  hn::Vec<Bits> misfit;  // the bits that differ from those of `by`
  V any;                 // the bits of all rests
  HWY_INLINE explicit QuickCutter(T number) {
    by = hn::Set(D(), number);
    misfit = hn::Zero(Bits());
    any = hn::Zero(D());
  }
  // x, or the product of x and y.
  HWY_INLINE void Add(V x, V y, QuickCut<T>& to) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
    asm("" : "+v"(x.raw), "+v"(y.raw));  // else GCC loads them twice
#endif
    const V number = Products ? hn::MulAdd(x, y, by) : hn::Add(x, by);
    const V part = hn::Sub(number, by);
    const V rest = Products ? hn::MulSub(x, y, part) : hn::Sub(x, part);
    const auto bits = hn::BitCast(Bits(), number);
    to.parts = hn::Add(to.parts, bits);
    to.rests = hn::Add(to.rests, rest);
    misfit = hn::Or(misfit, hn::Xor(bits, hn::BitCast(Bits(), by)));
    if constexpr (!Products) any = hn::Or(any, rest);
  }
  // Whether no number was too large, or NaN: signs and exponents are those of `by`.
  [[nodiscard]] HWY_INLINE bool Fits() const {
    constexpr int fraction = std::numeric_limits<T>::digits - 1;
    return hn::AllTrue(Bits(), hn::Eq(hn::ShiftRight<fraction>(misfit), hn::Zero(Bits())));
  }
};
HWY_INLINE QV QuickWide(hn::Vec<hn::CappedTag<float, 16>> v) {
#if HWY_TARGET == HWY_SCALAR
  return hn::PromoteTo(QD(), v);
#else
  const hn::Rebind<float, QD> half;
  return hn::Add(hn::PromoteTo(QD(), hn::LowerHalf(half, v)), hn::PromoteTo(QD(), hn::UpperHalf(half, v)));
#endif
}
HWY_INLINE QV QuickWide(QV v) {
  return v;
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
