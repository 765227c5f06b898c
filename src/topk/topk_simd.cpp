// SPDX-License-Identifier: Apache-2.0
#include "topk/topk_cpu.h"

#include "elements/each_type.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "topk/topk_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// 16-bit floats as integers in the order of their values.
template <class D, class V>
HWY_INLINE V ordered(D d, V bits) {
  return hn::Xor(bits, hn::And(hn::ShiftRight<15>(bits), hn::Set(d, std::int16_t{0x7fff})));
}

// What passes for each kind of element.
template <class T>
struct Test {
  using C = typename Threshold<T>::Compared;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  explicit Test(const Threshold<T>& threshold)
      : low(hn::Set(d, threshold.low)),
        high(hn::Set(d, threshold.high)),
        largest(threshold.largest),
        nan_passes(threshold.nan_passes) {}
  HWY_INLINE auto operator()(V x) const {
    if constexpr (is_stored<T>) {
      const V value = ordered(d, x);
      const auto inside = hn::Not(hn::Or(hn::Lt(value, low), hn::Gt(value, high)));
      if (!nan_passes) return inside;
      constexpr auto least =
          static_cast<std::int16_t>(~infinity_bits<T>);  // minus infinity; NaNs with a sign lie below
      return hn::Or(inside, hn::Lt(value, hn::Set(d, least)));
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!largest) return hn::Le(x, high);
      return nan_passes ? hn::Not(hn::Lt(x, low)) : hn::Ge(x, low);
    } else {
      return largest ? hn::Not(hn::Lt(x, low)) : hn::Not(hn::Gt(x, high));
    }
  }
  D d;
  V low;
  V high;
  bool largest;
  bool nan_passes;
};

template <class T, class M>
HWY_INLINE std::size_t WritePlaces(M mask, std::size_t first, std::uint32_t* places) {
  std::uint8_t bytes[HWY_MAX_BYTES / 8 + 8] = {};
  const hn::ScalableTag<typename Threshold<T>::Compared> d;
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

template <class T>
HWY_INLINE std::size_t Find(const T* values, std::size_t count, const Threshold<T>& threshold, std::uint32_t* places) {
  using C = typename Threshold<T>::Compared;
  const hn::ScalableTag<C> d;
  const Test<T> test(threshold);
  const auto* x = reinterpret_cast<const C*>(values);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t found = 0;
  std::size_t i = 0;
  // A look at each fourth branch is enough: little passes, as a rule.
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto a = test(hn::LoadU(d, x + i));
    const auto b = test(hn::LoadU(d, x + i + lanes));
    const auto c = test(hn::LoadU(d, x + i + 2 * lanes));
    const auto e = test(hn::LoadU(d, x + i + 3 * lanes));
    if (HWY_LIKELY(hn::AllFalse(d, hn::Or(hn::Or(a, b), hn::Or(c, e))))) continue;
    found += WritePlaces<T>(a, i, places + found);
    found += WritePlaces<T>(b, i + lanes, places + found);
    found += WritePlaces<T>(c, i + 2 * lanes, places + found);
    found += WritePlaces<T>(e, i + 3 * lanes, places + found);
  }
  for (; i < count; ++i) places[found++] = static_cast<std::uint32_t>(i);
  return found;
}

#define MASU_FIND(name, T)                                                                                      \
  std::size_t Find##name(const T* x, std::size_t count, const Threshold<T>& threshold, std::uint32_t* places) { \
    return Find(x, count, threshold, places);                                                                   \
  }
MASU_EACH_INTEGER(MASU_FIND)
MASU_EACH_FLOAT(MASU_FIND)
#undef MASU_FIND

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

template <class T>
Threshold<T>::Threshold(const Ranking& ranking, std::uint64_t least_rank) : largest(ranking.largest) {
  constexpr std::uint64_t most = static_cast<KeyOf<T>>(~KeyOf<T>{0});
  // The key of the last element that passes.
  std::uint64_t key = ranking.largest ? least_rank : most - least_rank;
  low = std::numeric_limits<Compared>::lowest();
  high = std::numeric_limits<Compared>::max();
  if constexpr (is_float_type<T>) {
    constexpr std::uint64_t infinity = infinity_key<T>();
    constexpr std::uint64_t zero = key_sign<T>;
    nan_passes = ranking.nan_first || least_rank == 0;
    key = std::clamp(key, zero - infinity_bits<T>, infinity);
    if constexpr (is_stored<T>) {
      // -0 is one below +0, which no key is, and NaN passes where no end is.
      const auto distance = static_cast<std::int32_t>(key) - static_cast<std::int32_t>(zero);
      const auto value = static_cast<std::int16_t>(distance < 0 ? distance - 1 : distance);
      const auto end = static_cast<std::int16_t>(infinity - zero);
      low = static_cast<std::int16_t>(-end - 1);
      high = end;
      if (ranking.largest) {
        low = key == zero ? static_cast<std::int16_t>(value - 1) : value;
        if (nan_passes) high = std::numeric_limits<std::int16_t>::max();
      } else {
        high = value;
        if (nan_passes) high = std::numeric_limits<std::int16_t>::max();
      }
    } else {
      (ranking.largest ? low : high) = value_of_key<T>(key);
      if (least_rank == 0) {  // everything passes: nothing is below NaN
        largest = true;
        low = std::numeric_limits<T>::quiet_NaN();
      }
    }
  } else {
    (ranking.largest ? low : high) = value_of_key<T>(key);
  }
}

#define MASU_FOUND(name, T)                                                                                          \
  HWY_EXPORT(Find##name);                                                                                            \
  template <>                                                                                                        \
  std::size_t find_passing<T>(const T* x, std::size_t count, const Threshold<T>& threshold, std::uint32_t* places) { \
    return HWY_DYNAMIC_DISPATCH(Find##name)(x, count, threshold, places);                                            \
  }                                                                                                                  \
  template struct Threshold<T>;
MASU_EACH_INTEGER(MASU_FOUND)
MASU_EACH_FLOAT(MASU_FOUND)
#undef MASU_FOUND

}  // namespace masu::cpu
#endif
