// SPDX-License-Identifier: Apache-2.0
// Loops that only read the keys.
#include "sort/cpu/sort_simd.h"
#include "sort/sort_job.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sort/cpu/sort_simd_keys.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Codes in which zeros are one, and NaNs are one, the greatest: sort_key() with its top bit inverted.
template <class T, class D, class V = hn::Vec<D>>
HWY_INLINE V OneCode(D d, V bits, V flip) {
  using Code = hn::TFromD<D>;
  if constexpr (std::is_integral_v<T>) {
    return hn::Xor(bits, flip);
  } else {
    const V greatest = hn::Set(d, std::numeric_limits<Code>::max());
    const V magnitude = hn::And(bits, greatest);
    const V negative = hn::BroadcastSignBit(bits);
    // Two's complement of the magnitude where the sign is set, so that -0 is 0.
    const V value = hn::Sub(hn::Xor(magnitude, negative), negative);
    const auto nan = hn::Gt(magnitude, hn::Set(d, static_cast<Code>(infinity_bits<T>)));
    return hn::Xor(hn::IfThenElse(nan, greatest, value), flip);
  }
}

template <class T>
Trend TrendOf(const T* keys, std::size_t count, Order order) {
  using Code = CodeOf<T>;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto flip = hn::Set(d, coding_of<T>(order).flip);
  const Code* bits = reinterpret_cast<const Code*>(keys);
  Trend trend;
  std::size_t i = 0;
  constexpr std::size_t vectors = 8;  // between two looks at what was seen
  while (i + vectors * lanes + 1 <= count) {
    auto drops = hn::Zero(d);  // a lane that is not zero: some key comes before the one on its left
    auto rises = hn::Zero(d);
    for (std::size_t k = 0; k < vectors; ++k, i += lanes) {
      const auto left = OneCode<T>(d, hn::LoadU(d, bits + i), flip);
      const auto right = OneCode<T>(d, hn::LoadU(d, bits + i + 1), flip);
      drops = hn::Or(drops, hn::VecFromMask(d, hn::Lt(right, left)));
      rises = hn::Or(rises, hn::VecFromMask(d, hn::Lt(left, right)));
    }
    trend.rising = trend.rising && hn::AllTrue(d, hn::Eq(drops, hn::Zero(d)));
    trend.falling = trend.falling && hn::AllTrue(d, hn::Eq(rises, hn::Zero(d)));
    if (!trend.rising && !trend.falling) return trend;
  }
  for (; i + 1 < count; ++i) {
    const auto left = sort_key(keys[i], order);
    const auto right = sort_key(keys[i + 1], order);
    trend.rising = trend.rising && left <= right;
    trend.falling = trend.falling && left >= right;
  }
  return trend;
}
Trend AnyTrend(Dtype dtype, const void* keys, std::size_t count, Order order) {
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return TrendOf(static_cast<const T*>(keys), count, order);
  });
}

template <class T>
HWY_INLINE Specials SpecialsOf(const T* keys, std::size_t count) {
  using Code = CodeOf<T>;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const Code* bits = reinterpret_cast<const Code*>(keys);
  const auto greatest = hn::Set(d, std::numeric_limits<Code>::max());
  const auto infinity = hn::Set(d, static_cast<Code>(infinity_bits<T>));
  const auto sign = hn::Set(d, std::numeric_limits<Code>::min());
  auto nan = hn::MaskFromVec(hn::Zero(d));
  auto negative = nan;
  auto positive = nan;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, bits + i);
    nan = hn::Or(nan, hn::Gt(hn::And(v, greatest), infinity));
    negative = hn::Or(negative, hn::Eq(v, sign));
    positive = hn::Or(positive, hn::Eq(v, hn::Zero(d)));
  }
  Specials specials = {!hn::AllFalse(d, negative), !hn::AllFalse(d, positive), !hn::AllFalse(d, nan)};
  for (; i < count; ++i) {
    specials.nan |= (bits[i] & std::numeric_limits<Code>::max()) > static_cast<Code>(infinity_bits<T>);
    specials.negative_zero |= bits[i] == std::numeric_limits<Code>::min();
    specials.positive_zero |= bits[i] == 0;
  }
  return specials;
}
Specials AnySpecials(Dtype dtype, const void* keys, std::size_t count) {
  return dispatch(dtype, [&](auto tag) -> Specials {
    using T = typename decltype(tag)::type;
    if constexpr (is_float_type<T>) return SpecialsOf(static_cast<const T*>(keys), count);
    else return {};
  });
}

template <class T>
KeyRange RangeOf(const T* keys, std::size_t count, Order order) {
  using Code = CodeOf<T>;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto flip = hn::Set(d, coding_of<T>(order).flip);
  const Code* bits = reinterpret_cast<const Code*>(keys);
  KeyRange range = {~std::uint64_t{0}, 0};
  std::size_t i = 0;
  if (count >= lanes) {
    auto least = hn::Set(d, std::numeric_limits<Code>::max());
    auto greatest = hn::Set(d, std::numeric_limits<Code>::min());
    for (; i + lanes <= count; i += lanes) {
      const auto code = OneCode<T>(d, hn::LoadU(d, bits + i), flip);
      least = hn::Min(least, code);
      greatest = hn::Max(greatest, code);
    }
    HWY_ALIGN Code leasts[hn::MaxLanes(decltype(d)())];
    HWY_ALIGN Code greatests[hn::MaxLanes(decltype(d)())];
    hn::Store(least, d, leasts);
    hn::Store(greatest, d, greatests);
    using Key = UnsignedOf<sizeof(T)>;
    constexpr Key sign = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
    range.least = static_cast<Key>(static_cast<Key>(*std::min_element(leasts, leasts + lanes)) ^ sign);
    range.greatest = static_cast<Key>(static_cast<Key>(*std::max_element(greatests, greatests + lanes)) ^ sign);
  }
  for (; i < count; ++i) {
    const std::uint64_t key = sort_key(keys[i], order);
    range.least = std::min(range.least, key);
    range.greatest = std::max(range.greatest, key);
  }
  return range;
}
KeyRange AnyRange(Dtype dtype, const void* keys, std::size_t count, Order order) {
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return RangeOf(static_cast<const T*>(keys), count, order);
  });
}

template <class T, class Key = UnsignedOf<sizeof(T)>>
void NumbersOf(const T* keys, std::size_t count, Order order, Key least, Key* numbers) {
  using Code = CodeOf<T>;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const Code* bits = reinterpret_cast<const Code*>(keys);
  // Subtracting the top bit, in place of inverting it, gives the same.
  constexpr Key sign = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  const auto flip = hn::Set(d, coding_of<T>(order).flip);
  const auto less = hn::Set(d, static_cast<Code>(static_cast<Key>(least + sign)));
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Sub(OneCode<T>(d, hn::LoadU(d, bits + i), flip), less), d, reinterpret_cast<Code*>(numbers + i));
  }
  for (; i < count; ++i) numbers[i] = static_cast<Key>(sort_key(keys[i], order) - least);
}
void AnyNumbers(Dtype dtype, const void* keys, std::size_t count, Order order, std::uint64_t least, void* numbers) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Key = UnsignedOf<sizeof(T)>;
    NumbersOf(static_cast<const T*>(keys), count, order, static_cast<Key>(least), static_cast<Key*>(numbers));
  });
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(AnyTrend);
HWY_EXPORT(AnySpecials);
HWY_EXPORT(AnyRange);
HWY_EXPORT(AnyNumbers);

Trend trend_of(Dtype dtype, const void* keys, std::size_t count, Order order) {
  return HWY_DYNAMIC_DISPATCH(AnyTrend)(dtype, keys, count, order);
}
Specials specials_of(Dtype dtype, const void* keys, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(AnySpecials)(dtype, keys, count);
}
KeyRange key_range(Dtype dtype, const void* keys, std::size_t count, Order order) {
  return HWY_DYNAMIC_DISPATCH(AnyRange)(dtype, keys, count, order);
}
void key_numbers(Dtype dtype, const void* keys, std::size_t count, Order order, std::uint64_t least, void* numbers) {
  HWY_DYNAMIC_DISPATCH(AnyNumbers)(dtype, keys, count, order, least, numbers);
}

}  // namespace masu::cpu
#endif
