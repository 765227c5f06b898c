// SPDX-License-Identifier: Apache-2.0
#include "quantile/select_simd.h"

#include "elements/each_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantile/select_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sort/cpu/sort_sides-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Elements below a bound: where that is NaN, all that is none.
template <class T>
struct SelectBound {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  V value;
  bool is_nan;
  HWY_INLINE explicit SelectBound(T bound) : value(hn::Set(D(), bound)), is_nan(false) {
    if constexpr (std::is_floating_point_v<T>) is_nan = std::isnan(bound);
  }
  template <bool Nan>
  HWY_INLINE M Below(V v) const {
    if constexpr (Nan) return hn::Eq(v, v);
    else return hn::Lt(v, value);
  }
  template <bool Nan>
  HWY_INLINE M NotAbove(V v) const {
    if constexpr (Nan) return hn::Not(hn::Lt(v, v));
    else if constexpr (std::is_floating_point_v<T>) return hn::Le(v, value);
    else return hn::Not(hn::Gt(v, value));
  }
};

// The last, partly filled vector: `fill` behind the elements.
template <class T, class V = hn::Vec<hn::ScalableTag<T>>>
HWY_INLINE V SelectRest(const T* x, std::size_t count, T fill) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T rest[hn::MaxLanes(d)];
  std::fill_n(rest, hn::Lanes(d), fill);
  std::memcpy(rest, x, count * sizeof(T));
  return hn::Load(d, rest);
}

template <bool NanLow, bool NanHigh, class T>
Narrowed NarrowLoop(const T* x, std::uint64_t count, const SelectBound<T>& low, const SelectBound<T>& high, T* found) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::uint64_t below = 0;
  T* to = found;
  const auto take = [&](auto v, auto valid) HWY_ATTR {
    const auto lower = hn::And(low.template Below<NanLow>(v), valid);
    const auto inside = hn::AndNot(lower, hn::And(high.template NotAbove<NanHigh>(v), valid));
    below += hn::CountTrue(d, lower);
    if (hn::AllFalse(d, inside)) return;
    hn::StoreU(Sides(d, v, inside), d, to);
    to += hn::CountTrue(d, inside);
  };
  const auto all = hn::FirstN(d, lanes);
  std::uint64_t i = 0;
  for (; i + lanes <= count; i += lanes) take(hn::LoadU(d, x + i), all);
  if (i < count) take(SelectRest(x + i, count - i, T{0}), hn::FirstN(d, count - i));
  return {below, static_cast<std::uint64_t>(to - found)};
}
template <class T>
Narrowed Narrow(const T* x, std::uint64_t count, T from, T to, T* found) {
  const SelectBound<T> low(from);
  const SelectBound<T> high(to);
  if (low.is_nan) return NarrowLoop<true, true>(x, count, low, high, found);
  if (high.is_nan) return NarrowLoop<false, true>(x, count, low, high, found);
  return NarrowLoop<false, false>(x, count, low, high, found);
}

// Where the parts of a block go, and what goes there: elements, or their places.
template <bool Places, class T>
class SelectParts {
 public:
  using D = hn::ScalableTag<T>;
  using Item = std::conditional_t<Places, PlaceOf<T>, T>;
  using DI = hn::ScalableTag<Item>;
  explicit HWY_INLINE SelectParts(Parts<Item>& parts)
      : parts_(&parts), place_(hn::Iota(DI(), Item{0})), step_(hn::Set(DI(), static_cast<Item>(hn::Lanes(DI())))) {}
  HWY_INLINE void Take(hn::Vec<D> v, hn::Mask<D> less, hn::Mask<D> not_greater, hn::Mask<D> valid) {
    const D d;
    const DI di;
    hn::Vec<DI> item;
    if constexpr (Places) item = place_;
    else item = v;
    const auto put = [&](hn::Mask<D> mask, Item*& to) HWY_ATTR {
      hn::StoreU(Sides(di, item, hn::RebindMask(di, mask)), di, to);
      to += hn::CountTrue(d, mask);
    };
    put(less, less_);
    put(hn::AndNot(not_greater, valid), greater_);
    const auto equal = hn::AndNot(less, not_greater);
    if (!hn::AllFalse(d, equal)) put(equal, equal_);
    if constexpr (Places) place_ = hn::Add(place_, step_);
  }
  [[nodiscard]] PartSizes Sizes() const {
    return {static_cast<std::uint32_t>(less_ - parts_->less), static_cast<std::uint32_t>(equal_ - parts_->equal)};
  }

 private:
  Parts<Item>* parts_;
  Item* less_ = parts_->less;
  Item* equal_ = parts_->equal;
  Item* greater_ = parts_->greater;
  hn::Vec<DI> place_;
  hn::Vec<DI> step_;
};
template <class T>
class SelectCounts {
 public:
  using D = hn::ScalableTag<T>;
  HWY_INLINE void Take(hn::Vec<D> /*v*/, hn::Mask<D> less, hn::Mask<D> not_greater, hn::Mask<D> /*valid*/) {
    less_ += hn::CountTrue(D(), less);
    not_greater_ += hn::CountTrue(D(), not_greater);
  }
  [[nodiscard]] PartSizes Sizes() const {
    return {static_cast<std::uint32_t>(less_), static_cast<std::uint32_t>(not_greater_ - less_)};
  }

 private:
  std::size_t less_ = 0;
  std::size_t not_greater_ = 0;
};

template <bool Nan, class T, class Sink>
PartSizes PartLoop(const T* x, std::size_t count, const SelectBound<T>& pivot, Sink sink) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto take = [&](auto v, auto valid) HWY_ATTR {
    sink.Take(v, hn::And(pivot.template Below<Nan>(v), valid), hn::And(pivot.template NotAbove<Nan>(v), valid), valid);
  };
  const auto all = hn::FirstN(d, lanes);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) take(hn::LoadU(d, x + i), all);
  if (i < count) take(SelectRest(x + i, count - i, T{0}), hn::FirstN(d, count - i));
  return sink.Sizes();
}
template <class T, class Sink>
PartSizes PartBlock(const T* x, std::size_t count, T at, Sink sink) {
  const SelectBound<T> pivot(at);
  return pivot.is_nan ? PartLoop<true>(x, count, pivot, sink) : PartLoop<false>(x, count, pivot, sink);
}

#define MASU_SELECT(name, T)                                                                 \
  Narrowed Narrow##name(const T* x, std::uint64_t count, T low, T high, T* found) {          \
    return Narrow(x, count, low, high, found);                                               \
  }                                                                                          \
  PartSizes Count##name(const T* x, std::size_t count, T pivot) {                            \
    return PartBlock(x, count, pivot, SelectCounts<T>());                                    \
  }                                                                                          \
  PartSizes Values##name(const T* x, std::size_t count, T pivot, Parts<T>& parts) {          \
    return PartBlock(x, count, pivot, SelectParts<false, T>(parts));                         \
  }                                                                                          \
  PartSizes Places##name(const T* x, std::size_t count, T pivot, Parts<PlaceOf<T>>& parts) { \
    return PartBlock(x, count, pivot, SelectParts<true, T>(parts));                          \
  }
MASU_EACH_WIDE_INTEGER(MASU_SELECT)
MASU_EACH_WIDE_FLOAT(MASU_SELECT)
#undef MASU_SELECT

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

#define MASU_SELECTED(name, T)                                                                 \
  HWY_EXPORT(Narrow##name);                                                                    \
  HWY_EXPORT(Count##name);                                                                     \
  HWY_EXPORT(Values##name);                                                                    \
  HWY_EXPORT(Places##name);                                                                    \
  template <>                                                                                  \
  Narrowed narrow<T>(const T* x, std::uint64_t count, T low, T high, T* found) {               \
    return HWY_DYNAMIC_DISPATCH(Narrow##name)(x, count, low, high, found);                     \
  }                                                                                            \
  template <>                                                                                  \
  PartSizes count_parts<T>(const T* x, std::size_t count, T pivot) {                           \
    return HWY_DYNAMIC_DISPATCH(Count##name)(x, count, pivot);                                 \
  }                                                                                            \
  template <>                                                                                  \
  PartSizes part_values<T>(const T* x, std::size_t count, T pivot, Parts<T>& parts) {          \
    return HWY_DYNAMIC_DISPATCH(Values##name)(x, count, pivot, parts);                         \
  }                                                                                            \
  template <>                                                                                  \
  PartSizes part_places<T>(const T* x, std::size_t count, T pivot, Parts<PlaceOf<T>>& parts) { \
    return HWY_DYNAMIC_DISPATCH(Places##name)(x, count, pivot, parts);                         \
  }
MASU_EACH_WIDE_INTEGER(MASU_SELECTED)
MASU_EACH_WIDE_FLOAT(MASU_SELECTED)
#undef MASU_SELECTED

}  // namespace masu::cpu
#endif
