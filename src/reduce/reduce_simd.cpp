// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce_plan.h"

#include "elements/order.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/reduce_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// How far in front of the loads lines are asked for: the hardware alone does not keep enough on their way.
constexpr std::size_t ahead_bytes = 2048;

// Bounds of one block's elements, both as lanes.
template <class V>
struct Bounds {
  V least;
  V most;
};

// Takes all lanes of a block of at least one vector: the last vector may overlap the one before.
// map: to lanes of the compared type; `low`, `high`: which bounds are kept.
template <bool low, bool high, class D, class Map, class V>
HWY_INLINE Bounds<V> BlockBounds(D d, const hn::TFromD<D>* x, std::size_t count, const Map& map, V most, V least) {
  const std::size_t lanes = hn::Lanes(d);
  V least_0 = most;  // of nothing: the greatest is the least
  V least_1 = most;
  V most_0 = least;
  V most_1 = least;
  std::size_t i = 0;
  const auto take = [&](std::size_t at, V& lower, V& upper) HWY_ATTR {
    hwy::Prefetch(x + at + ahead_bytes / sizeof(x[0]));
    const V v = map(hn::LoadU(d, x + at));
    if constexpr (low) lower = hn::Min(lower, v);
    if constexpr (high) upper = hn::Max(upper, v);
  };
  // Four streams, which memory serves better than one.
  const std::size_t stream = count / (4 * lanes) * lanes;
  for (; i < stream; i += lanes) {
    take(i, least_0, most_0);
    take(i + stream, least_1, most_1);
    take(i + 2 * stream, least_0, most_0);
    take(i + 3 * stream, least_1, most_1);
  }
  for (i = 4 * stream; i + lanes <= count; i += lanes) take(i, least_0, most_0);
  if (i < count) take(count - lanes, least_1, most_1);
  return {hn::Min(least_0, least_1), hn::Max(most_0, most_1)};
}

template <class D, class V>
HWY_INLINE hn::TFromD<D> LeastLane(D d, V v) {
  HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
  hn::Store(v, d, lanes);
  return *std::min_element(lanes, lanes + hn::Lanes(d));
}
template <class D, class V>
HWY_INLINE hn::TFromD<D> GreatestLane(D d, V v) {
  HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
  hn::Store(v, d, lanes);
  return *std::max_element(lanes, lanes + hn::Lanes(d));
}

// Runs through the blocks; a block is looked at closely only where it is outside of `least` and `most` so far.
// note(begin, least, most) tells new bounds to beat, or says that nothing better can come.
template <bool low, bool high, class D, class Map, class Note>
HWY_INLINE void EachBetterBlock(D d, const hn::TFromD<D>* x, std::size_t count, const Map& map, hn::TFromD<D> least,
                                hn::TFromD<D> most, const Note& note) {
  using T = hn::TFromD<D>;
  constexpr std::size_t block = block_bytes / sizeof(T);
  const auto top = hn::Set(d, std::numeric_limits<T>::max());
  const auto bottom = hn::Set(d, std::numeric_limits<T>::lowest());
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::size_t end = std::min(count, begin + block);
    // A short rest takes elements of the block before with it, which are no better than what was met.
    const std::size_t from = end - begin < hn::Lanes(d) ? end - std::min(end, hn::Lanes(d)) : begin;
    const auto bounds = BlockBounds<low, high>(d, x + from, end - from, map, top, bottom);
    bool better = begin == 0;
    if constexpr (low) better = better || !hn::AllFalse(d, hn::Lt(bounds.least, hn::Set(d, least)));
    if constexpr (high) better = better || !hn::AllFalse(d, hn::Lt(hn::Set(d, most), bounds.most));
    if (HWY_UNLIKELY(better)) note(begin, LeastLane(d, bounds.least), GreatestLane(d, bounds.most), least, most);
  }
}

template <class T>
BestBlocks BestIntegers(const T* x, std::size_t count, ReduceOp op) {
  const hn::ScalableTag<T> d;
  BestBlocks found;
  T best[2] = {std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()};
  const auto same = [](auto v) HWY_ATTR { return v; };
  const auto note = [&](std::size_t begin, T least, T most, T& least_bar, T& most_bar) {
    if (least < best[0]) {
      best[0] = least_bar = least;
      found.of[0].begin = begin;
    }
    if (most > best[1]) {
      best[1] = most_bar = most;
      found.of[1].begin = begin;
    }
  };
  if (op == ReduceOp::min) {
    EachBetterBlock<true, false>(d, x, count, same, best[0], best[1], note);
  } else if (op == ReduceOp::max) {
    EachBetterBlock<false, true>(d, x, count, same, best[0], best[1], note);
  } else {
    EachBetterBlock<true, true>(d, x, count, same, best[0], best[1], note);
  }
  found.of[0].rank = ExtremeRule{false, false}(best[0]);
  found.of[1].rank = ExtremeRule{true, false}(best[1]);
  return found;
}

// Floats by their bits: as signed integers, with the magnitude of negative ones turned round, they are in the order of
// their values, -0 just below +0, NaNs at both ends. Counted from one end of the numbers on, and round, all NaNs come
// after them or, counted from what is before that, before them: so one bound sees numbers and NaNs.
template <class T>
struct FloatOrder {
  using Bits = UnsignedOf<sizeof(T)>;
  using Signed = std::make_signed_t<Bits>;
  static constexpr int top = 8 * sizeof(T) - 1;
  static constexpr auto sign = static_cast<Bits>(Bits{1} << top);
  static constexpr auto high = static_cast<Bits>(infinity_bits<T>);   // plus infinity
  static constexpr auto low = static_cast<Bits>(~infinity_bits<T>);   // minus infinity
  static constexpr auto numbers = static_cast<Bits>(high - low + 1);  // how many there are
  // The rank of the number with such an order: both zeros have one.
  static constexpr Bits rank(Bits order, bool largest) {
    const auto raw = static_cast<Bits>(order ^ sign);
    const auto key = static_cast<Bits>(raw < sign ? raw + 1 : raw);
    return largest ? static_cast<Bits>(~key) : key;
  }
};

// Finds the least, or the `largest`; with `both` the least and the greatest, where no NaNs are skipped.
template <bool both, class T>
void FindFloats(const T* elements, std::size_t count, bool largest, bool skip, BestBlocks& found) {
  using F = FloatOrder<T>;
  using Bits = typename F::Bits;
  using Signed = typename F::Signed;
  const hn::ScalableTag<Signed> d;
  const auto magnitude = hn::Set(d, static_cast<Signed>(F::sign - 1));
  // The order that becomes the least number.
  const auto first = static_cast<Bits>((largest ? skip ? F::high : F::low - 1 : skip ? F::low : F::high + 1) ^ F::sign);
  const auto origin = hn::Set(d, static_cast<Signed>(first));
  const auto ordered = [&](auto v) HWY_ATTR { return hn::Xor(v, hn::And(hn::ShiftRight<F::top>(v), magnitude)); };
  const auto up = [&](auto v) HWY_ATTR { return hn::Sub(ordered(v), origin); };
  const auto down = [&](auto v) HWY_ATTR { return hn::Sub(origin, ordered(v)); };
  const auto note = [&](std::size_t begin, Signed least, Signed most, Signed& least_bar, Signed& most_bar) {
    const auto place = static_cast<Bits>(static_cast<Bits>(least) ^ F::sign);  // counted from `first`
    const bool nan = skip ? place >= F::numbers : place < static_cast<Bits>(Bits{0} - F::numbers);
    const auto take = [&](bool greatest, Signed extreme) {
      const auto moved = static_cast<Bits>(extreme);
      const auto order = static_cast<Bits>(largest ? first - moved : moved + first);
      const std::uint64_t rank = nan ? skip ? ~std::uint64_t{0} : 0 : F::rank(order, greatest);
      BestBlock& best = found.of[greatest ? 1 : 0];
      if (begin == 0 || rank < best.rank) best = {rank, begin};
    };
    take(largest, least);
    if (both) take(true, most);
    least_bar = nan && !skip ? std::numeric_limits<Signed>::lowest() : std::min(least_bar, least);
    most_bar = nan ? std::numeric_limits<Signed>::max() : std::max(most_bar, most);
  };
  const auto* x = reinterpret_cast<const Signed*>(elements);
  const auto find = [&](const auto& map) HWY_ATTR {
    EachBetterBlock<true, both>(d, x, count, map, std::numeric_limits<Signed>::max(),
                                std::numeric_limits<Signed>::lowest(), note);
  };
  if (largest) find(down);
  else find(up);
}

// Fewer elements than a vector has are repeated.
template <class T, class F>
HWY_INLINE BestBlocks Padded(const T* x, std::size_t count, const F& best) {
  const hn::ScalableTag<UnsignedOf<sizeof(T)>> d;
  if (count >= hn::Lanes(d)) return best(x, count);
  T all[HWY_MAX_BYTES / sizeof(T)];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) all[i] = x[i % count];
  return best(all, hn::Lanes(d));
}

BestBlocks BestBlocksOf(Dtype dtype, const void* elements, std::size_t count, ReduceOp op, bool skip) {
  return dispatch(dtype, [&]<class T>(TypeTag<T>) {
    return Padded(static_cast<const T*>(elements), count, [&](const T* x, std::size_t size) {
      if constexpr (infinity_bits<T> == 0) {
        return BestIntegers(x, size, op);
      } else {
        BestBlocks found;
        if (op == ReduceOp::minmax && !skip) {
          FindFloats<true>(x, size, false, false, found);
          return found;
        }
        for (int which = 0; which < 2; ++which) {
          if (wants(op, which)) FindFloats<false>(x, size, which == 1, skip, found);
        }
        return found;
      }
    });
  });
}

template <class D, class Test>
HWY_INLINE std::size_t FirstThat(D d, const hn::TFromD<D>* x, std::size_t count, const Test& test) {
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t left = count - i;
    if (left >= lanes) {
      const auto place = hn::FindFirstTrue(d, test(hn::LoadU(d, x + i)));
      if (place >= 0) return i + static_cast<std::size_t>(place);
      continue;
    }
    HWY_ALIGN hn::TFromD<D> last[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
    for (std::size_t lane = 0; lane < lanes; ++lane) last[lane] = x[i + lane % left];
    const auto place = hn::FindFirstTrue(d, test(hn::Load(d, last)));
    if (place >= 0) return i + static_cast<std::size_t>(place);
  }
  return count;
}

template <class T>
std::size_t FirstOfRank(const T* elements, std::size_t count, const ExtremeRule& rule, std::uint64_t rank) {
  using Bits = UnsignedOf<sizeof(T)>;
  constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  const hn::ScalableTag<Bits> d;
  const auto* x = reinterpret_cast<const Bits*>(elements);
  const auto key = static_cast<Bits>(rule.largest ? ~rank : rank);
  const auto equal = [&](Bits bits, Bits care) {
    const auto wanted = hn::Set(d, bits);
    const auto mask = hn::Set(d, care);
    return FirstThat(d, x, count, [&](auto v) HWY_ATTR { return hn::Eq(hn::And(v, mask), wanted); });
  };
  constexpr auto all = static_cast<Bits>(~Bits{0});
  if constexpr (std::is_unsigned_v<T>) {
    return equal(key, all);
  } else if constexpr (std::is_integral_v<T>) {
    return equal(static_cast<Bits>(key ^ sign), all);
  } else {
    if (rank == (rule.skip ? ~std::uint64_t{0} : 0)) {
      const hn::RebindToSigned<decltype(d)> ds;
      const auto magnitude = hn::Set(d, static_cast<Bits>(sign - 1));
      const auto infinity = hn::Set(ds, static_cast<hn::TFromD<decltype(ds)>>(infinity_bits<T>));
      return FirstThat(d, x, count, [&](auto v) HWY_ATTR {
        return hn::RebindMask(d, hn::Gt(hn::BitCast(ds, hn::And(v, magnitude)), infinity));
      });
    }
    if (key == sign) return equal(0, static_cast<Bits>(sign - 1));
    return equal(static_cast<Bits>(key > sign ? key ^ sign : (sign - key) | sign), all);
  }
}

std::uint64_t FirstOf(Dtype dtype, const void* elements, std::size_t count, const ExtremeRule& rule,
                      std::uint64_t rank) {
  return dispatch(dtype, [&](auto tag) -> std::uint64_t {
    return FirstOfRank(static_cast<const typename decltype(tag)::type*>(elements), count, rule, rank);
  });
}

template <class Bits>
std::uint64_t Nonzero(const Bits* x, std::size_t count, Bits care) {
  const hn::ScalableTag<Bits> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto mask = hn::Set(d, care);
  const auto zero = hn::Zero(d);
  std::size_t zeros = 0;
  std::size_t i = 0;
  const auto zeros_at = [&](std::size_t at)
                            HWY_ATTR { return hn::CountTrue(d, hn::Eq(hn::And(hn::LoadU(d, x + at), mask), zero)); };
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    zeros += zeros_at(i) + zeros_at(i + lanes) + zeros_at(i + 2 * lanes) + zeros_at(i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes) zeros += zeros_at(i);
  for (; i < count; ++i) zeros += (x[i] & care) == 0 ? 1 : 0;
  return count - zeros;
}

std::uint64_t NonzeroOf(Dtype dtype, const void* elements, std::size_t count) {
  return dispatch(dtype, [&]<class T>(TypeTag<T>) {
    using Bits = UnsignedOf<sizeof(T)>;
    constexpr auto all = static_cast<Bits>(~Bits{0});
    const Bits care = infinity_bits<T> != 0 ? static_cast<Bits>(all >> 1) : all;  // a zero may have a sign
    return Nonzero(static_cast<const Bits*>(elements), count, care);
  });
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(BestBlocksOf);
HWY_EXPORT(FirstOf);
HWY_EXPORT(NonzeroOf);

BestBlocks best_blocks(Dtype dtype, const void* elements, std::uint64_t count, ReduceOp op, bool skip) {
  return HWY_DYNAMIC_DISPATCH(BestBlocksOf)(dtype, elements, count, op, skip);
}

std::uint64_t first_of_rank(Dtype dtype, const void* elements, std::uint64_t count, const ExtremeRule& rule,
                            std::uint64_t rank) {
  return HWY_DYNAMIC_DISPATCH(FirstOf)(dtype, elements, count, rule, rank);
}

std::uint64_t nonzero_elements(Dtype dtype, const void* elements, std::uint64_t count) {
  return HWY_DYNAMIC_DISPATCH(NonzeroOf)(dtype, elements, count);
}

}  // namespace masu::cpu
#endif
