// SPDX-License-Identifier: Apache-2.0
// Plain loops without branches, which the compiler turns into vectors, compiled once for each instruction set.
#include "convert/convert_plan.h"
#include "elements/dtypes.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

// Three sets of x86-64 are enough: the loops gain little from what lies between.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convert/convert_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::HWY_NAMESPACE {
namespace {

// Between integers. `bad` is not 0 where something does not fit; the result is as near as can be, or, where it wraps,
// what is left of the bits.
template <class S, class T>
unsigned IntegersLoop(const S* HWY_RESTRICT in, T* HWY_RESTRICT out, std::size_t count) {
  constexpr S low = std::is_unsigned_v<S> || (std::is_signed_v<T> && sizeof(T) >= sizeof(S))
                        ? std::numeric_limits<S>::min()
                        : static_cast<S>(std::numeric_limits<T>::min());
  constexpr S high = sizeof(T) > sizeof(S) || (sizeof(T) == sizeof(S) && std::is_unsigned_v<T>)
                         ? std::numeric_limits<S>::max()
                         : static_cast<S>(std::numeric_limits<T>::max());
  S wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const S x = in[i];
    const S enough = x > low ? x : low;
    const S fit = enough < high ? enough : high;
    wrong = static_cast<S>(wrong | (x ^ fit));
    out[i] = static_cast<T>(fit);  // NOLINT(bugprone-signed-char-misuse): i8 is a number here
  }
  return wrong != 0 ? 1 : 0;
}

template <class S, class T>
unsigned PlainLoop(const S* HWY_RESTRICT in, T* HWY_RESTRICT out, std::size_t count) {
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): i8 is a number here
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<T>(in[i]);
  return 0;
}

// What fits lies between `below` and `above`. It is brought between two floats that surely do, and converted, where the
// type is narrow by way of i32.
template <class F, class T>
unsigned ToIntegerLoop(const F* HWY_RESTRICT in, T* HWY_RESTRICT out, std::size_t count) {
  using Way = std::conditional_t<(sizeof(T) < 4), std::int32_t, T>;
  using Bits = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;
  constexpr int digits = std::numeric_limits<F>::digits;
  constexpr int bits = std::numeric_limits<T>::digits;
  constexpr T most = std::numeric_limits<T>::max();
  constexpr F least = static_cast<F>(std::numeric_limits<T>::min());
  constexpr std::uint64_t half = static_cast<std::uint64_t>(most) / 2 + 1;
  constexpr F above = static_cast<F>(half) * F{2};
  // The floats in front of these; but 1 less is enough where floats lie closer.
  constexpr F step = static_cast<F>(std::uint64_t{1} << (bits < digits ? 0 : bits - digits));
  constexpr F last = above - step;
  constexpr F below = least - (std::is_unsigned_v<T> || bits < digits ? F{1} : 2 * step);
  Bits wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const F x = in[i];
    F c = x > least ? x : least;
    c = c < last ? c : last;
    Way made = static_cast<Way>(c);
    if constexpr (bits >= digits) made = x >= above ? static_cast<Way>(most) : made;
    made = std::isnan(x) ? Way{0} : made;
    out[i] = static_cast<T>(made);
    wrong |= x > below ? Bits{0} : Bits{1};
    wrong |= x < above ? Bits{0} : Bits{1};
  }
  return wrong != 0 ? 1 : 0;
}

// To nearest; the largest finite one, or infinity where it wraps, for what overflows.
template <bool Wrap>
unsigned NarrowLoop(const double* HWY_RESTRICT in, float* HWY_RESTRICT out, std::size_t count) {
  constexpr double limit = 0x1.ffffffp127;
  unsigned wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = in[i];
    const double magnitude = std::fabs(x);
    const bool overflows = magnitude >= limit && magnitude <= std::numeric_limits<double>::max();
    const float y = static_cast<float>(x);
    const float most = x < 0 ? -std::numeric_limits<float>::max() : std::numeric_limits<float>::max();
    out[i] = overflows && !Wrap ? most : y;
    wrong |= overflows ? 1U : 0U;
  }
  return wrong;
}

#undef MASU_HALF_INSTRUCTIONS
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#define MASU_HALF_INSTRUCTIONS 1
namespace hn = hwy::HWY_NAMESPACE;
#else
#define MASU_HALF_INSTRUCTIONS 0
#endif

template <class H>
void FromStoredSingly(const std::uint16_t* HWY_RESTRICT in, float* HWY_RESTRICT out, std::size_t count) {
  constexpr FloatFormat format = float_format(dtype_of<H>);
  constexpr int moved = 24 - format.precision;
  constexpr auto infinity = static_cast<std::uint32_t>(infinity_bits<H> << moved);
  constexpr auto scale = static_cast<float>(power_of_two(128 - format.end));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = in[i];
    const std::uint32_t magnitude = (bits & 0x7fffU) << moved;
    // As a float it is `scale` times too small; exact for subnormals, too.
    const auto value = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * scale);
    const std::uint32_t quiet = magnitude > infinity ? 0x7fc00000U : 0x7f800000U;
    const std::uint32_t made = magnitude >= infinity ? magnitude | quiet : value;
    out[i] = std::bit_cast<float>(made | (bits & 0x8000U) << 16);
  }
}

// To nearest even, from float or double.
template <class H, bool Wrap, class F>
unsigned ToStoredSingly(const F* HWY_RESTRICT in, std::uint16_t* HWY_RESTRICT out, std::size_t count) {
  using Bits = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;
  constexpr FloatFormat format = float_format(dtype_of<H>);
  constexpr int fraction = std::numeric_limits<F>::digits - 1;
  constexpr int gone = fraction - (format.precision - 1);
  constexpr Bits sign = Bits{1} << (8 * sizeof(F) - 1);
  constexpr Bits infinity = std::bit_cast<Bits>(std::numeric_limits<F>::infinity());
  constexpr Bits own_infinity = infinity_bits<H>;
  constexpr Bits own_fraction = (Bits{1} << (format.precision - 1)) - 1;
  constexpr Bits limit = std::bit_cast<Bits>(static_cast<F>(overflow_of(format)));
  constexpr Bits normal = std::bit_cast<Bits>(static_cast<F>(power_of_two(format.least + format.precision - 1)));
  constexpr F magic = static_cast<F>(power_of_two(format.least + fraction));  // its last place is the least number
  unsigned wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Bits bits = std::bit_cast<Bits>(in[i]);
    const Bits magnitude = bits & ~sign;
    const Bits odd = magnitude >> gone & 1U;
    const Bits large = (magnitude - (normal - (Bits{1} << fraction)) + ((Bits{1} << (gone - 1)) - 1 + odd)) >> gone;
    // The hardware rounds what is added to the magic number.
    const Bits small = std::bit_cast<Bits>(std::bit_cast<F>(magnitude) + magic) - std::bit_cast<Bits>(magic);
    const Bits nan = own_infinity | (own_fraction + 1) >> 1 | (magnitude >> gone & own_fraction);
    const bool overflows = magnitude >= limit && magnitude < infinity;
    Bits made = magnitude < normal ? small : large;
    made = magnitude >= limit ? own_infinity - (overflows && !Wrap ? 1 : 0) : made;
    made = magnitude > infinity ? nan : made;
    out[i] = static_cast<std::uint16_t>(made | (bits & sign) >> (8 * sizeof(F) - 16));
    wrong |= overflows ? 1U : 0U;
  }
  return wrong;
}

template <class H>
inline constexpr bool has_instructions = float_format(dtype_of<H>).precision == 11;  // of IEEE binary16

template <class H>
void FromStoredLoop(const std::uint16_t* HWY_RESTRICT in, float* HWY_RESTRICT out, std::size_t count) {
  std::size_t i = 0;
#if MASU_HALF_INSTRUCTIONS
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  for (; has_instructions<H> && i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(in + i))), d, out + i);
  }
#endif
  FromStoredSingly<H>(in + i, out + i, count - i);
}

template <class H, bool Wrap, class F>
unsigned ToStoredLoop(const F* HWY_RESTRICT in, std::uint16_t* HWY_RESTRICT out, std::size_t count) {
  std::size_t i = 0;
  unsigned wrong = 0;
#if MASU_HALF_INSTRUCTIONS
  if constexpr (has_instructions<H> && sizeof(F) == sizeof(float)) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    const auto limit = hn::Set(d, static_cast<float>(overflow_of(float_format(dtype_of<H>))));
    const auto greatest = hn::Set(d, std::numeric_limits<float>::max());
    const auto most = hn::Set(d, static_cast<float>(greatest_of(float_format(dtype_of<H>))));
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      auto x = hn::LoadU(d, in + i);
      const auto magnitude = hn::Abs(x);
      const auto overflows = hn::And(hn::Ge(magnitude, limit), hn::Le(magnitude, greatest));
      if (!hn::AllFalse(d, overflows)) {
        wrong = 1;
        if (!Wrap) x = hn::IfThenElse(overflows, hn::CopySign(most, x), x);
      }
      hn::StoreU(hn::DemoteTo(half, x), half, reinterpret_cast<hwy::float16_t*>(out + i));
    }
  }
#endif
  return wrong | ToStoredSingly<H, Wrap>(in + i, out + i, count - i);
}

// Integers of 4 bytes go to stored floats that are as great by way of doubles.
template <class S, class T>
inline constexpr bool goes_by_doubles = sizeof(S) == sizeof(float) && float_format(dtype_of<T>).end > 32;

// Far beyond the greatest stored float all integers are alike, and those up to there are floats.
template <class S>
unsigned TowardsStoredLoop(const S* HWY_RESTRICT in, float* HWY_RESTRICT out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (sizeof(S) <= 2) {
      out[i] = static_cast<float>(in[i]);
    } else {
      constexpr S high = 100000;
      constexpr S low = std::is_signed_v<S> ? static_cast<S>(-100000) : S{0};
      const S x = in[i];
      out[i] = static_cast<float>(static_cast<std::int32_t>(x < low ? low : x > high ? high : x));
    }
  }
  return 0;
}

// The loops of one pair. S and T as they lie in memory, stored floats as u16; buffers take what lies between.
template <class S, class T>
unsigned Convert(const S* in, T* out, std::size_t count, bool wrap) {
  constexpr bool from_float = std::is_floating_point_v<S>;
  constexpr bool to_float = std::is_floating_point_v<T>;
  if constexpr (!from_float && !to_float) {
    if (wrap) return PlainLoop(in, out, count);
    return IntegersLoop(in, out, count);
  } else if constexpr (from_float && !to_float) {
    return ToIntegerLoop(in, out, count);
  } else if constexpr (std::is_same_v<S, double> && std::is_same_v<T, float>) {
    return wrap ? NarrowLoop<true>(in, out, count) : NarrowLoop<false>(in, out, count);
  } else {
    return PlainLoop(in, out, count);
  }
}

template <class H, class F>
unsigned ToStored(const F* in, std::uint16_t* out, std::size_t count, bool wrap) {
  return wrap ? ToStoredLoop<H, true>(in, out, count) : ToStoredLoop<H, false>(in, out, count);
}

template <class S, class T>
unsigned ConvertPair(const void* in, void* out, std::size_t count, bool wrap) {
  alignas(64) float floats[convert_block];
  if constexpr (std::is_same_v<S, T>) {
    return 0;  // copies are made elsewhere
  } else if constexpr (is_stored<S>) {
    const auto* halves = static_cast<const std::uint16_t*>(in);
    if constexpr (std::is_same_v<T, float>) {
      FromStoredLoop<S>(halves, static_cast<float*>(out), count);
      return 0;
    } else {
      FromStoredLoop<S>(halves, floats, count);
      if constexpr (is_stored<T>) return ToStored<T>(floats, static_cast<std::uint16_t*>(out), count, wrap);
      else return Convert(floats, static_cast<T*>(out), count, wrap);
    }
  } else if constexpr (is_stored<T>) {
    auto* halves = static_cast<std::uint16_t*>(out);
    if constexpr (std::is_floating_point_v<S>) {
      return ToStored<T>(static_cast<const S*>(in), halves, count, wrap);
    } else if constexpr (goes_by_doubles<S, T>) {
      alignas(64) double doubles[convert_block];
      PlainLoop(static_cast<const S*>(in), doubles, count);
      return ToStored<T>(doubles, halves, count, wrap);
    } else {
      TowardsStoredLoop(static_cast<const S*>(in), floats, count);
      return ToStored<T>(floats, halves, count, wrap);
    }
  } else {
    return Convert(static_cast<const S*>(in), static_cast<T*>(out), count, wrap);
  }
}

unsigned ConvertAny(Dtype source, Dtype target, const void* in, void* out, std::size_t count, bool wrap) {
  return dispatch(source, [&](auto from) {
    return dispatch(target, [&](auto to) {
      return ConvertPair<typename decltype(from)::type, typename decltype(to)::type>(in, out, count, wrap);
    });
  });
}

}  // namespace
}  // namespace masu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu {

HWY_EXPORT(ConvertAny);

bool has_fast_way(const ConvertRule& rule) noexcept {
  if (!rule.target.is_float) return !rule.source.is_float || rule.overflow != Overflow::wrap;
  // Integers go to stored floats by way of floats, which hold those of 16 bits and all that do not overflow, or of
  // doubles, which hold those of 32 bits.
  if (!rule.source.is_float && is_stored_float(rule.target_dtype) && rule.source.bits > 32 && !rule.limited)
    return false;
  if (rule.rounding == Rounding::nearest_even) return true;
  // What is exact is rounded nowhere.
  const unsigned digits = rule.source.is_float ? rule.source.fraction + 1 : rule.source.bits;
  return digits <= rule.target.fraction + 1 && !rule.limited;
}

bool convert_fast(const ConvertRule& rule, const void* in, void* out, std::size_t count) noexcept {
  const bool wrap = rule.overflow == Overflow::wrap;
  const unsigned wrong = HWY_DYNAMIC_DISPATCH(ConvertAny)(rule.source_dtype, rule.target_dtype, in, out, count, wrap);
  return wrong != 0 && !wrap;
}

}  // namespace masu
#endif
