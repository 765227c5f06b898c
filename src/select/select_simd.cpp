// SPDX-License-Identifier: Apache-2.0
// Narrow elements are compressed as they are from AVX-512's second generation on, for which Highway is asked.
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
// Highway's function of this name knows the instruction sets of the file that it is compiled in. Where it is not
// inlined, in debug builds, the linker keeps that of one file for all; this file has a set more.
#define GetIndex GetIndexWithAvx3Dl
#endif

#include "select/select_places.h"

#include "elements/each_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "select/select_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sort/cpu/sort_sides-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3_DL
constexpr std::size_t least_lane = 1;
#else
constexpr std::size_t least_lane = 4;
#endif
// The lanes in which elements are compared: of Least bytes at least.
template <class T, std::size_t Least>
using SelectLane =
    std::conditional_t<(sizeof(T) >= Least), WorkOf<T>,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>;  // stored floats have
                                                                                               // none

template <class T>
WorkOf<T>* SelectWork(T* x) {
  return reinterpret_cast<WorkOf<T>*>(x);
}
template <class T>
const WorkOf<T>* SelectWork(const T* x) {
  return reinterpret_cast<const WorkOf<T>*>(x);
}

// Elements as lanes, and back.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE V SelectLoad(D d, const T* x) {
  if constexpr (sizeof(T) == sizeof(hn::TFromD<D>)) return hn::LoadU(d, x);
  else return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), x));
}
template <class D, class T>
HWY_INLINE void SelectStore(hn::Vec<D> v, D d, T* to) {
  if constexpr (sizeof(T) == sizeof(hn::TFromD<D>)) {
    hn::StoreU(v, d, to);
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<Unsigned, D> dt;
    hn::StoreU(hn::TruncateTo(dt, hn::BitCast(du, v)), dt, reinterpret_cast<Unsigned*>(to));
  }
}

// The ordered keys of stored floats, in lanes of any width.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SelectStoredKeys(D d, V bits, hn::TFromD<D> infinity) {
  using L = hn::TFromD<D>;
  const V sign = hn::Set(d, L{0x8000});
  const V magnitude = hn::And(bits, hn::Set(d, L{0x7fff}));
  const V key = hn::IfThenElse(hn::Eq(magnitude, bits), hn::Add(sign, magnitude), hn::Sub(sign, magnitude));
  return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, infinity)), hn::Set(d, L{0xffff}), key);
}
template <class T, class D, class V = hn::Vec<D>>
HWY_INLINE V SelectCompared(D d, V v) {
  if constexpr (is_stored<T>) return SelectStoredKeys(d, v, static_cast<hn::TFromD<D>>(infinity_bits<T>));
  else return v;
}

// Elements below a bound: where that is NaN, all that is none.
template <class L>
struct SelectBound {
  using D = hn::ScalableTag<L>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  V value;
  bool is_nan;
  HWY_INLINE explicit SelectBound(L bound) : value(hn::Set(D(), bound)), is_nan(false) {
    if constexpr (std::is_floating_point_v<L>) is_nan = std::isnan(bound);
  }
  template <bool Nan>
  HWY_INLINE M Below(V v) const {
    if constexpr (Nan) return hn::Eq(v, v);
    else return hn::Lt(v, value);
  }
  template <bool Nan>
  HWY_INLINE M Above(V v) const {
    if constexpr (Nan) return hn::Lt(v, v);
    else if constexpr (std::is_floating_point_v<L>) return hn::Not(hn::Le(v, value));
    else return hn::Gt(v, value);
  }
};

// Calls take(lanes, which of them are elements) for all elements; with whole vectors `which` is null.
template <class D, class T, class F>
HWY_INLINE void SelectEach(D d, const T* x, std::uint64_t count, const F& take) {
  const std::size_t lanes = hn::Lanes(d);
  std::uint64_t i = 0;
  for (; i + lanes <= count; i += lanes) take(SelectLoad(d, x + i), nullptr);
  if (i == count) return;
  HWY_ALIGN T rest[hn::MaxLanes(d)] = {};
  std::memcpy(rest, x + i, (count - i) * sizeof(T));
  const auto valid = hn::FirstN(d, count - i);
  take(SelectLoad(d, rest), &valid);
}
template <class M>
HWY_INLINE M SelectValid(M mask, const M* valid) {
  return hn::And(mask, *valid);
}
template <class M>
HWY_INLINE M SelectValid(M mask, std::nullptr_t /*all*/) {
  return mask;
}

template <bool NanLow, bool NanHigh, class T, class L>
Narrowed NarrowLoop(const T* x, std::uint64_t count, const SelectBound<L>& low, const SelectBound<L>& high, T* found) {
  const hn::ScalableTag<L> d;
  std::uint64_t below = 0;
  T* to = found;
  SelectEach(d, x, count, [&](auto v, auto valid) HWY_ATTR {
    const auto lower = low.template Below<NanLow>(v);
    const auto inside = SelectValid(hn::Not(hn::Or(lower, high.template Above<NanHigh>(v))), valid);
    below += hn::CountTrue(d, SelectValid(lower, valid));
    if (hn::AllFalse(d, inside)) return;
    SelectStore(Sides(d, v, inside), d, to);
    to += hn::CountTrue(d, inside);
  });
  return {below, static_cast<std::uint64_t>(to - found)};
}
template <class T>
Narrowed Narrow(const T* x, std::uint64_t count, T from, T to, T* found) {
  using L = SelectLane<T, least_lane>;
  const SelectBound<L> low(from);
  const SelectBound<L> high(to);
  if (low.is_nan) return NarrowLoop<true, true>(x, count, low, high, found);
  if (high.is_nan) return NarrowLoop<false, true>(x, count, low, high, found);
  return NarrowLoop<false, false>(x, count, low, high, found);
}

template <class T, class M>
HWY_INLINE std::size_t WritePlaces(M mask, std::size_t first, std::uint32_t* places) {
  std::uint8_t bytes[HWY_MAX_BYTES / 8 + 8] = {};
  const hn::ScalableTag<WorkOf<T>> d;
  hn::StoreMaskBits(d, mask, bytes);
  std::size_t found = 0;
  for (std::size_t i = 0; i < hn::Lanes(d); i += 64) {
    std::uint64_t word = 0;
    for (unsigned b = 0; b < 8; ++b) word |= std::uint64_t{bytes[i / 8 + b]} << 8 * b;
    if (hn::Lanes(d) < 64) word &= (std::uint64_t{1} << hn::Lanes(d)) - 1;
    for (; word != 0; word &= word - 1) {
      places[found++] = static_cast<std::uint32_t>(first + i + static_cast<unsigned>(__builtin_ctzll(word)));
    }
  }
  return found;
}
// `within`: of a vector's lanes, as they are in memory.
template <class T, class F>
std::size_t PlacesLoop(const T* elements, std::size_t count, std::uint32_t* places, const F& within) {
  const hn::ScalableTag<WorkOf<T>> d;
  const auto* const x = SelectWork(elements);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t found = 0;
  std::size_t i = 0;
  // A look at each fourth branch is enough: little is within, as a rule.
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto a = within(hn::LoadU(d, x + i));
    const auto b = within(hn::LoadU(d, x + i + lanes));
    const auto c = within(hn::LoadU(d, x + i + 2 * lanes));
    const auto e = within(hn::LoadU(d, x + i + 3 * lanes));
    if (HWY_LIKELY(hn::AllFalse(d, hn::Or(hn::Or(a, b), hn::Or(c, e))))) continue;
    found += WritePlaces<T>(a, i, places + found);
    found += WritePlaces<T>(b, i + lanes, places + found);
    found += WritePlaces<T>(c, i + 2 * lanes, places + found);
    found += WritePlaces<T>(e, i + 3 * lanes, places + found);
  }
  for (; i < count; ++i) places[found++] = static_cast<std::uint32_t>(i);
  return found;
}
// Floats above `last` that reach `first` are left to the caller.
template <class T>
std::size_t FindWithin(const T* x, std::size_t count, std::uint64_t first, std::uint64_t last, std::uint32_t* places) {
  using W = WorkOf<T>;
  const hn::ScalableTag<W> d;
  const auto bound = [](std::uint64_t key) -> W {
    if constexpr (is_stored<T>) return static_cast<W>(key);
    else return value_of_key<T>(key);
  };
  // Numbers that are compared with: NaN is above all of them, whatever its key.
  const auto vector = [&](std::uint64_t key) {
    return hn::Set(d, bound(std::clamp<std::uint64_t>(key, least_key<T>(), greatest_number_key<T>())));
  };
  const auto low = vector(first);
  const auto high = vector(last);
  const auto reaches = [&](auto v) HWY_ATTR {
    if constexpr (std::is_floating_point_v<T>) return hn::Ge(v, low);
    else return hn::Not(hn::Lt(SelectCompared<T>(d, v), low));
  };
  const auto is_up_to = [&](auto v) HWY_ATTR {
    if constexpr (std::is_floating_point_v<T>) return hn::Le(v, high);
    else return hn::Not(hn::Gt(SelectCompared<T>(d, v), high));
  };
  constexpr std::uint64_t greatest = static_cast<KeyOf<T>>(~KeyOf<T>{0});
  if (first <= least_key<T>() && last < greatest) return PlacesLoop(x, count, places, is_up_to);
  if constexpr (std::is_floating_point_v<T>) {
    if (last == greatest) {  // with NaNs
      return PlacesLoop(x, count, places, [&](auto v) HWY_ATTR { return hn::Not(hn::Lt(v, low)); });
    }
  } else if (last < greatest) {
    return PlacesLoop(x, count, places, [&](auto v) HWY_ATTR { return hn::And(reaches(v), is_up_to(v)); });
  }
  return PlacesLoop(x, count, places, reaches);
}

template <bool Nan, class T, class L>
PartSizes CountLoop(const T* x, std::uint64_t count, const SelectBound<L>& pivot) {
  const hn::ScalableTag<L> d;
  std::uint64_t less = 0;
  std::uint64_t greater = 0;
  SelectEach(d, SelectWork(x), count, [&](auto bits, auto valid) HWY_ATTR {
    const auto v = SelectCompared<T>(d, bits);
    less += hn::CountTrue(d, SelectValid(pivot.template Below<Nan>(v), valid));
    greater += hn::CountTrue(d, SelectValid(pivot.template Above<Nan>(v), valid));
  });
  return {less, count - less - greater};
}
template <class T>
PartSizes Count(const T* x, std::uint64_t count, WorkOf<T> at) {
  using L = SelectLane<T, least_lane>;
  const SelectBound<L> pivot(at);
  return pivot.is_nan ? CountLoop<true>(x, count, pivot) : CountLoop<false>(x, count, pivot);
}

// The lanes of a mask go on at a place of `to`, and nothing is written from `end` on. put(lanes in order, to).
template <class D, class T, class F>
HWY_INLINE void SelectPut(D d, hn::Vec<D> v, hn::Mask<D> mask, T* to, std::uint64_t& at, std::uint64_t end,
                          const F& put) {
  const std::size_t count = std::min<std::uint64_t>(hn::CountTrue(d, mask), end - at);
  if (end - at >= hn::Lanes(d)) {
    put(Sides(d, v, mask), to + at);
  } else if (count != 0) {
    HWY_ALIGN T part[hn::MaxLanes(d)];
    put(Sides(d, v, mask), part);
    std::memcpy(to + at, part, count * sizeof(T));
  }
  at += count;
}

template <bool Nan, class T, class L>
void ValuesLoop(const T* x, std::uint64_t count, const SelectBound<L>& pivot, T* result, PartPlaces& places,
                const PartPlaces& ends) {
  const hn::ScalableTag<L> d;
  WorkOf<T>* const to = SelectWork(result);
  PartPlaces at = places;
  const auto put = [&](auto lanes, WorkOf<T>* there) HWY_ATTR { SelectStore(lanes, d, there); };
  SelectEach(d, SelectWork(x), count, [&](auto bits, auto valid) HWY_ATTR {
    const auto v = SelectCompared<T>(d, bits);
    const auto less = SelectValid(pivot.template Below<Nan>(v), valid);
    const auto greater = SelectValid(pivot.template Above<Nan>(v), valid);
    const auto equal = SelectValid(hn::Not(hn::Or(less, greater)), valid);
    SelectPut(d, bits, less, to, at.less, ends.less, put);
    SelectPut(d, bits, greater, to, at.greater, ends.greater, put);
    if (!hn::AllFalse(d, equal)) SelectPut(d, bits, equal, to, at.equal, ends.equal, put);
  });
  places = at;
}
template <class T>
void Values(const T* x, std::uint64_t count, WorkOf<T> at, T* to, PartPlaces& places, const PartPlaces& ends) {
  using L = SelectLane<T, least_lane>;
  const SelectBound<L> pivot(at);
  return pivot.is_nan ? ValuesLoop<true>(x, count, pivot, to, places, ends)
                      : ValuesLoop<false>(x, count, pivot, to, places, ends);
}

template <bool Nan, class T, class L>
void IndicesLoop(const T* x, std::uint64_t count, const SelectBound<L>& pivot, std::uint64_t first, std::uint64_t* to,
                 PartPlaces& places, const PartPlaces& ends) {
  using Place = std::conditional_t<sizeof(L) == 4, std::uint32_t, std::uint64_t>;
  const hn::ScalableTag<L> d;
  const hn::ScalableTag<Place> dp;
  const hn::ScalableTag<std::uint64_t> dw;
  const auto base = hn::Set(dw, first);
  const auto step = hn::Set(dp, static_cast<Place>(hn::Lanes(dp)));
  auto place = hn::Iota(dp, Place{0});
  PartPlaces at = places;
  const auto put = [&](auto lanes, std::uint64_t* there) HWY_ATTR {
    if constexpr (sizeof(Place) == 8) {
      hn::StoreU(hn::Add(lanes, base), dw, there);
    } else {
#if HWY_TARGET == HWY_SCALAR
      *there = first + hn::GetLane(lanes);
#else
      const hn::Rebind<Place, decltype(dw)> dh;
      hn::StoreU(hn::Add(hn::PromoteTo(dw, hn::LowerHalf(dh, lanes)), base), dw, there);
      hn::StoreU(hn::Add(hn::PromoteTo(dw, hn::UpperHalf(dh, lanes)), base), dw, there + hn::Lanes(dw));
#endif
    }
  };
  SelectEach(d, SelectWork(x), count, [&](auto bits, auto valid) HWY_ATTR {
    const auto v = SelectCompared<T>(d, bits);
    const auto less = SelectValid(pivot.template Below<Nan>(v), valid);
    const auto greater = SelectValid(pivot.template Above<Nan>(v), valid);
    const auto equal = SelectValid(hn::Not(hn::Or(less, greater)), valid);
    SelectPut(dp, place, hn::RebindMask(dp, less), to, at.less, ends.less, put);
    SelectPut(dp, place, hn::RebindMask(dp, greater), to, at.greater, ends.greater, put);
    if (!hn::AllFalse(d, equal)) SelectPut(dp, place, hn::RebindMask(dp, equal), to, at.equal, ends.equal, put);
    place = hn::Add(place, step);
  });
  places = at;
}
template <class T>
void Indices(const T* x, std::uint64_t count, WorkOf<T> at, std::uint64_t first, std::uint64_t* to, PartPlaces& places,
             const PartPlaces& ends) {
  using L = SelectLane<T, sizeof(std::uint32_t)>;
  const SelectBound<L> pivot(at);
  return pivot.is_nan ? IndicesLoop<true>(x, count, pivot, first, to, places, ends)
                      : IndicesLoop<false>(x, count, pivot, first, to, places, ends);
}

void StoredKeys(const std::uint16_t* bits, std::uint64_t count, std::uint16_t infinity, std::uint16_t* keys) {
  const hn::ScalableTag<std::uint16_t> d;
  const std::size_t lanes = hn::Lanes(d);
  std::uint64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(SelectStoredKeys(d, hn::LoadU(d, bits + i), infinity), d, keys + i);
  if (i == count) return;
  HWY_ALIGN std::uint16_t rest[hn::MaxLanes(d)] = {};
  std::memcpy(rest, bits + i, (count - i) * sizeof(std::uint16_t));
  hn::Store(SelectStoredKeys(d, hn::Load(d, rest), infinity), d, rest);
  std::memcpy(keys + i, rest, (count - i) * sizeof(std::uint16_t));
}

template <class T>
constexpr auto narrow_loop() {
  if constexpr (is_stored<T>) return nullptr;
  else return &Narrow<T>;
}
template <class T>
constexpr SelectLoops<T> loops = {narrow_loop<T>(), &FindWithin<T>, &Count<T>, &Values<T>, &Indices<T>};
#define MASU_SELECT(name, T)            \
  const SelectLoops<T>* Loops##name() { \
    return &loops<T>;                   \
  }
MASU_EACH_INTEGER(MASU_SELECT)
MASU_EACH_FLOAT(MASU_SELECT)
#undef MASU_SELECT

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(StoredKeys);
void ordered_keys(const std::uint16_t* bits, std::uint64_t count, std::uint16_t infinity, std::uint16_t* keys) {
  HWY_DYNAMIC_DISPATCH(StoredKeys)(bits, count, infinity, keys);
}

#define MASU_SELECT(name, T)                     \
  HWY_EXPORT(Loops##name);                       \
  template <>                                    \
  const SelectLoops<T>& select_loops() {         \
    return *HWY_DYNAMIC_DISPATCH(Loops##name)(); \
  }
MASU_EACH_INTEGER(MASU_SELECT)
MASU_EACH_FLOAT(MASU_SELECT)
#undef MASU_SELECT

}  // namespace masu::cpu
#endif
