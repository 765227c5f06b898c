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

// Codes in which zeros are one, and NaNs are one, the greatest: a key with its top bit inverted.
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
Trend TrendOf(Keys<T> key, const T* keys, std::size_t pairs, std::size_t distance) {
  using Code = CodeOf<T>;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto flip = hn::Set(d, key.coding().flip);
  const Code* bits = reinterpret_cast<const Code*>(keys);
  Trend trend;
  constexpr std::size_t vectors = 8;  // between two looks at what was seen
  for (std::size_t i = 0; i < pairs && pairs >= lanes;) {
    i = std::min(i, pairs - lanes);  // the last ones again
    auto drops = hn::Zero(d);        // a lane that is not zero: some key comes before the other one
    auto rises = hn::Zero(d);
    for (std::size_t k = std::min(vectors, (pairs - i) / lanes); k > 0; --k, i += lanes) {
      const auto left = OneCode<T>(d, hn::LoadU(d, bits + i), flip);
      const auto right = OneCode<T>(d, hn::LoadU(d, bits + i + distance), flip);
      drops = hn::Or(drops, hn::VecFromMask(d, hn::Lt(right, left)));
      rises = hn::Or(rises, hn::VecFromMask(d, hn::Lt(left, right)));
    }
    trend.rising = trend.rising && hn::AllTrue(d, hn::Eq(drops, hn::Zero(d)));
    trend.falling = trend.falling && hn::AllTrue(d, hn::Eq(rises, hn::Zero(d)));
    if (!trend.rising && !trend.falling) return trend;
  }
  for (std::size_t i = 0; i < pairs && pairs < lanes; ++i) {
    const auto left = key(keys[i]);
    const auto right = key(keys[i + distance]);
    trend.rising = trend.rising && left <= right;
    trend.falling = trend.falling && left >= right;
  }
  return trend;
}
Trend AnyTrend(const KeyRule& rule, const void* keys, std::size_t count, std::size_t distance) {
  if (count <= distance) return {};
  return with_keys(rule, [&]<class T>(Keys<T> key) {
    return TrendOf(key, static_cast<const T*>(keys), count - distance, distance);
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
KeyRange RangeOf(Keys<T> key, const T* keys, std::size_t count) {
  using Code = CodeOf<T>;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto flip = hn::Set(d, key.coding().flip);
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
    const auto key_of = [](Code code) { return static_cast<KeyOf<T>>(static_cast<KeyOf<T>>(code) ^ key_sign<T>); };
    range.least = key_of(*std::min_element(leasts, leasts + lanes));
    range.greatest = key_of(*std::max_element(greatests, greatests + lanes));
  }
  for (; i < count; ++i) {
    range.least = std::min<std::uint64_t>(range.least, key(keys[i]));
    range.greatest = std::max<std::uint64_t>(range.greatest, key(keys[i]));
  }
  return range;
}
KeyRange AnyRange(const KeyRule& rule, const void* keys, std::size_t count) {
  return with_keys(rule, [&]<class T>(Keys<T> key) { return RangeOf(key, static_cast<const T*>(keys), count); });
}

template <class T>
void NumbersOf(Keys<T> key, const T* keys, std::size_t count, KeyOf<T> least, KeyOf<T>* numbers) {
  using Code = CodeOf<T>;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  const Code* bits = reinterpret_cast<const Code*>(keys);
  // Subtracting the top bit, in place of inverting it, gives the same.
  const auto flip = hn::Set(d, key.coding().flip);
  const auto less = hn::Set(d, static_cast<Code>(static_cast<KeyOf<T>>(least + key_sign<T>)));
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Sub(OneCode<T>(d, hn::LoadU(d, bits + i), flip), less), d, reinterpret_cast<Code*>(numbers + i));
  }
  for (; i < count; ++i) numbers[i] = static_cast<KeyOf<T>>(key(keys[i]) - least);
}
void AnyNumbers(const KeyRule& rule, const void* keys, std::size_t count, std::uint64_t least, void* numbers) {
  with_keys(rule, [&]<class T>(Keys<T> key) {
    NumbersOf(key, static_cast<const T*>(keys), count, static_cast<KeyOf<T>>(least), static_cast<KeyOf<T>*>(numbers));
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

Trend trend_of(const KeyRule& rule, const void* keys, std::size_t count, std::size_t distance) {
  return HWY_DYNAMIC_DISPATCH(AnyTrend)(rule, keys, count, distance);
}
Specials specials_of(Dtype dtype, const void* keys, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(AnySpecials)(dtype, keys, count);
}
KeyRange key_range(const KeyRule& rule, const void* keys, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(AnyRange)(rule, keys, count);
}
void key_numbers(const KeyRule& rule, const void* keys, std::size_t count, std::uint64_t least, void* numbers) {
  HWY_DYNAMIC_DISPATCH(AnyNumbers)(rule, keys, count, least, numbers);
}

}  // namespace masu::cpu
#endif
