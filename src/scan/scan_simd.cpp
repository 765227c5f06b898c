// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_cpu.h"

#include "elements/order.h"
#include "scan/scan_plan.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/scan_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// How far ahead of the loads lines are prefetched.
constexpr std::size_t ahead_bytes = 2048;

// Operations on unsigned lanes whose identity is 0, which shifts bring in.
struct Adding {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
  template <class Bits>
  static Bits scalar(Bits a, Bits b) {
    return static_cast<Bits>(a + b);
  }
};
struct Greater {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
  template <class Bits>
  static Bits scalar(Bits a, Bits b) {
    return std::max(a, b);
  }
};

#if HWY_TARGET != HWY_SCALAR  // which has no vectors of 16 bytes
// Prefixes within a vector of 16 bytes.
template <class D, class V, class Op>
HWY_INLINE V Prefixes(D d, V v, const Op& op) {
  constexpr std::size_t size = sizeof(hn::TFromD<D>);
  if constexpr (size <= 1) v = op(v, hn::ShiftLeftBytes<1>(d, v));
  if constexpr (size <= 2) v = op(v, hn::ShiftLeftBytes<2>(d, v));
  if constexpr (size <= 4) v = op(v, hn::ShiftLeftBytes<4>(d, v));
  return op(v, hn::ShiftLeftBytes<8>(d, v));
}

// The last lane in all lanes, for lanes of any size.
template <class D, class V>
HWY_INLINE V LastLane(D d, V v) {
  constexpr std::size_t size = sizeof(hn::TFromD<D>);
  const hn::Full128<std::uint8_t> bytes;
  HWY_ALIGN std::uint8_t places[16];
  for (std::size_t i = 0; i < 16; ++i) places[i] = static_cast<std::uint8_t>(16 - size + i % size);
  return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(bytes, v), hn::Load(bytes, places)));
}

#endif

// Lanes of 64 bits with the values of narrower ones.
template <class D, class V>
HWY_INLINE auto Widened(D /*d*/, V v) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(std::uint64_t)) {
    return v;
  } else {
    const hn::Rebind<hwy::MakeWide<hn::TFromD<D>>, D> twice;
    return Widened(twice, hn::PromoteTo(twice, v));
  }
}

// Lanes of the elements from `input` on, which may be narrower.
template <class D, class From>
HWY_INLINE hn::Vec<D> LoadWidened(D d, const From* input) {
  if constexpr (sizeof(From) == sizeof(hn::TFromD<D>)) {
    return hn::LoadU(d, input);
  } else {
    const hn::Rebind<From, D> narrow;
    return hn::BitCast(d, Widened(narrow, hn::LoadU(narrow, input)));
  }
}

// Elements are flipped by `flip` on their way in and out. A carry goes on from vector to vector by one operation: what
// a vector adds to it is ready before its turn.
template <bool exclusive, class From, class Bits, class Op>
Bits ScanIntegers(const From* input, Bits* output, std::size_t count, Bits flip, Bits state,
                  [[maybe_unused]] const Op& op) {
  auto last = static_cast<Bits>(state ^ flip);
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Full128<Bits> d;
  constexpr std::size_t lanes = 16 / sizeof(Bits);
  const auto mask = hn::Set(d, flip);
  auto carry = hn::Set(d, last);
  const auto step = [&](std::size_t at) HWY_ATTR {
    const auto prefixes = Prefixes(d, hn::Xor(LoadWidened(d, input + at), mask), op);
    const auto before = exclusive ? hn::ShiftLeftBytes<sizeof(Bits)>(d, prefixes) : prefixes;
    hn::StoreU(hn::Xor(op(before, carry), mask), d, output + at);
    carry = op(carry, LastLane(d, prefixes));
  };
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    hwy::Prefetch(input + i + ahead_bytes / sizeof(From));
    step(i);
    step(i + lanes);
    step(i + 2 * lanes);
    step(i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes) step(i);
  last = hn::GetLane(carry);
#endif
  for (; i < count; ++i) {
    const Bits next = Op::scalar(last, static_cast<Bits>(static_cast<Bits>(input[i]) ^ flip));
    output[i] = static_cast<Bits>((exclusive ? last : next) ^ flip);
    last = next;
  }
  return static_cast<Bits>(last ^ flip);
}

template <class From, class Bits, class Op>
Bits TotalIntegers(const From* input, std::size_t count, Bits flip, Bits state, const Op& op) {
  const hn::ScalableTag<Bits> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto mask = hn::Set(d, flip);
  auto a = hn::Zero(d);
  auto b = a;
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    a = op(a, hn::Xor(LoadWidened(d, input + i), mask));
    b = op(b, hn::Xor(LoadWidened(d, input + i + lanes), mask));
  }
  HWY_ALIGN Bits all[HWY_MAX_BYTES / sizeof(Bits)];
  hn::Store(op(a, b), d, all);
  Bits total = static_cast<Bits>(state ^ flip);
  for (std::size_t lane = 0; lane < lanes; ++lane) total = Op::scalar(total, all[lane]);
  for (; i < count; ++i) total = Op::scalar(total, static_cast<Bits>(static_cast<Bits>(input[i]) ^ flip));
  return static_cast<Bits>(total ^ flip);
}

// Extremes of floats change rarely: a block in which nothing is better is not looked at closely. The order of the bits
// decides what is better. It has two zeros, so some blocks are looked at without need.
template <class T>
class FloatExtreme {
 public:
  using Bits = UnsignedOf<sizeof(T)>;
  using Signed = std::make_signed_t<Bits>;
  static constexpr std::size_t block = 256;

  FloatExtreme(ScanOp op, Bits state) : rule_{op == ScanOp::max, false} { take(state); }

  // Takes elements; if `write`, writes the states before or after each.
  template <bool write>
  void run(const Bits* input, Bits* output, std::size_t count, bool exclusive) {
    for (std::size_t begin = 0; begin < count; begin += block) {
      const std::size_t size = std::min(block, count - begin);
      if (!has_better(input + begin, size)) {
        if constexpr (write) std::fill_n(output + begin, size, state_);
        continue;
      }
      for (std::size_t i = begin; i < begin + size; ++i) {
        const Bits before = state_;
        const Bits x = input[i];
        if (rule_(std::bit_cast<T>(x)) < rank_) take(x);
        if constexpr (write) output[i] = exclusive ? before : state_;
      }
    }
  }
  [[nodiscard]] Bits state() const { return state_; }

 private:
  static constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  static Signed ordered(Bits bits) {
    return static_cast<Signed>((bits & sign) != 0 ? bits ^ static_cast<Bits>(sign - 1) : bits);
  }
  void take(Bits bits) {
    state_ = bits;
    rank_ = rule_(std::bit_cast<T>(bits));
    // Outside of these is what is better: NaNs lie at both ends.
    low_ = rule_.largest ? ordered(static_cast<Bits>(infinity_bits<T> | sign)) : ordered(bits);
    high_ = rule_.largest ? ordered(bits) : ordered(static_cast<Bits>(infinity_bits<T>));
  }
  bool has_better(const Bits* x, std::size_t count) const {
    if (rank_ == 0) return false;
    const hn::ScalableTag<Signed> d;
    const std::size_t lanes = hn::Lanes(d);
    const auto magnitude = hn::Set(d, static_cast<Signed>(sign - 1));
    auto least = hn::Set(d, low_);
    auto most = hn::Set(d, high_);
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      const auto v = hn::LoadU(d, reinterpret_cast<const Signed*>(x) + i);
      const auto order = hn::Xor(v, hn::And(hn::ShiftRight<8 * sizeof(T) - 1>(v), magnitude));
      least = hn::Min(least, order);
      most = hn::Max(most, order);
    }
    bool better = !hn::AllTrue(d, hn::And(hn::Eq(least, hn::Set(d, low_)), hn::Eq(most, hn::Set(d, high_))));
    for (; i < count; ++i) better = better || ordered(x[i]) < low_ || ordered(x[i]) > high_;
    return better;
  }

  ExtremeRule rule_;
  Bits state_ = 0;
  std::uint64_t rank_ = 0;
  Signed low_ = 0;
  Signed high_ = 0;
};

// What makes the operation the greatest of unsigned numbers.
template <class T>
UnsignedOf<sizeof(T)> FlipOf(ScanOp op) {
  using Bits = UnsignedOf<sizeof(T)>;
  const auto sign = static_cast<Bits>(std::is_signed_v<T> ? Bits{1} << (8 * sizeof(T) - 1) : 0);
  return op == ScanOp::max ? sign : static_cast<Bits>(~sign);
}

// Whether a sum may have more bits than its elements.
template <class T>
constexpr bool is_widened = std::is_integral_v<T> && sizeof(T) < sizeof(std::uint64_t);

std::uint64_t ScanOf(Dtype from, Dtype dtype, ScanOp op, bool exclusive, const void* input, void* output,
                     std::size_t count, std::uint64_t state) {
  return dispatch(from, [&]<class T>(TypeTag<T>) -> std::uint64_t {
    using Bits = UnsignedOf<sizeof(T)>;
    const auto scanned = [&](const auto* x, auto flip, const auto& operation) -> std::uint64_t {
      using Result = decltype(flip);
      auto* y = static_cast<Result*>(output);
      const auto first = static_cast<Result>(state);
      return exclusive ? ScanIntegers<true>(x, y, count, flip, first, operation)
                       : ScanIntegers<false>(x, y, count, flip, first, operation);
    };
    if constexpr (is_widened<T>) {
      if (size_of(dtype) != sizeof(T)) return scanned(static_cast<const T*>(input), std::uint64_t{0}, Adding());
    }
    const auto* x = static_cast<const Bits*>(input);
    if constexpr (has_infinity<T>) {
      FloatExtreme<T> extreme(op, static_cast<Bits>(state));
      extreme.template run<true>(x, static_cast<Bits*>(output), count, exclusive);
      return extreme.state();
    } else {
      return op == ScanOp::sum ? scanned(x, Bits{0}, Adding()) : scanned(x, FlipOf<T>(op), Greater());
    }
  });
}

std::uint64_t TotalOf(Dtype from, Dtype dtype, ScanOp op, const void* input, std::size_t count, std::uint64_t state) {
  return dispatch(from, [&]<class T>(TypeTag<T>) -> std::uint64_t {
    using Bits = UnsignedOf<sizeof(T)>;
    if constexpr (is_widened<T>) {
      if (size_of(dtype) != sizeof(T)) {
        return TotalIntegers(static_cast<const T*>(input), count, std::uint64_t{0}, state, Adding());
      }
    }
    const auto* x = static_cast<const Bits*>(input);
    const auto first = static_cast<Bits>(state);
    if constexpr (has_infinity<T>) {
      FloatExtreme<T> extreme(op, first);
      extreme.template run<false>(x, nullptr, count, false);
      return extreme.state();
    } else if (op == ScanOp::sum) {
      return TotalIntegers(x, count, Bits{0}, first, Adding());
    } else {
      return TotalIntegers(x, count, FlipOf<T>(op), first, Greater());
    }
  });
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(ScanOf);
HWY_EXPORT(TotalOf);

std::uint64_t scan_elements(Dtype from, Dtype dtype, ScanOp op, bool exclusive, const void* input, void* output,
                            std::uint64_t count, std::uint64_t state) {
  return HWY_DYNAMIC_DISPATCH(ScanOf)(from, dtype, op, exclusive, input, output, count, state);
}

std::uint64_t scan_total(Dtype from, Dtype dtype, ScanOp op, const void* input, std::uint64_t count,
                         std::uint64_t state) {
  return HWY_DYNAMIC_DISPATCH(TotalOf)(from, dtype, op, input, count, state);
}

}  // namespace masu::cpu
#endif
