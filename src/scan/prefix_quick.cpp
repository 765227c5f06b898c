// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_cpu.h"

#include "runtime/half.h"
#include "sum/compensated.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/prefix_quick.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using PD = hn::CappedTag<double, 8>;
using PV = hn::Vec<PD>;

// Of a block: sums in front of each element and behind the last, what the additions have lost, and that added up. The
// elements begin in place of `errors`, the results end in place of `lost`.
struct Prefixes {
  static constexpr std::size_t size = quick_prefix_elements + 1 + HWY_MAX_BYTES / sizeof(double);
  HWY_ALIGN double sums[size];
  HWY_ALIGN double errors[size];
  HWY_ALIGN double lost[size];
};

// Far from what overflows.
template <class T>
inline constexpr double most_sum = std::is_same_v<T, double> ? 0x1p1020 : 0x1p120;

// What the rounded sum of two numbers lacks, exactly.
HWY_INLINE PV Lost(PV a, PV b, PV sum) {
  const PV part = hn::Sub(sum, a);
  return hn::Add(hn::Sub(a, hn::Sub(sum, part)), hn::Sub(b, part));
}

// Numbers that are halves, or at least 2^16, as halves.
HWY_INLINE void ToHalves(const double* x, std::size_t count, Half* y) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(x[i]);
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(std::fabs(number) * 0x1p-112F) >> 13;
    const std::uint32_t sign = std::bit_cast<std::uint32_t>(number) >> 16 & 0x8000U;
    y[i].bits = static_cast<std::uint16_t>(std::min(magnitude, std::uint32_t{0x7c00}) | sign);
  }
}
// To a whole number of the unit that halves of this size have.
HWY_INLINE PV RoundedToHalf(PV x) {
  const PD d;
  const PV power = hn::And(x, hn::BitCast(d, hn::Set(hn::RebindToUnsigned<PD>(), 0x7ff0000000000000)));
  const PV cut = hn::Mul(hn::Max(hn::Mul(power, hn::Set(d, 0x1p-10)), hn::Set(d, 0x1p-24)), hn::Set(d, 0x1.8p52));
  return hn::Sub(hn::Add(x, cut), cut);
}
template <class T>
HWY_INLINE PV RoundedTo(PV x) {
  if constexpr (std::is_same_v<T, Half>) {
    return RoundedToHalf(x);
  } else if constexpr (std::is_same_v<T, double>) {
    return x;
  } else {
    return hn::PromoteTo(PD(), hn::DemoteTo(hn::Rebind<T, PD>(), x));
  }
}

// The sums sum + error + d, |d| <= bound, rounded to T; `sure` stays where that is certain. As certain() has it, for
// `bound` > 0 or 0 alike.
template <class T>
HWY_INLINE PV Rounded(PV sum, PV error, PV bound, hn::Mask<PD>& sure) {
  const PD d;
  const PV zero = hn::Zero(d);
  const PV total = hn::Add(sum, error);
  const PV rest = Lost(sum, error, total);
  if constexpr (std::is_same_v<T, double>) {
    const PV wide = hn::Add(bound, hn::Mul(hn::Add(hn::Abs(rest), bound), hn::Set(d, 0x1p-50)));
    const auto same =
        hn::And(hn::Eq(hn::Add(total, hn::Add(rest, wide)), total), hn::Eq(hn::Add(total, hn::Sub(rest, wide)), total));
    sure = hn::And(sure, hn::Or(same, hn::Eq(bound, zero)));
    return hn::Add(total, zero);
  } else {
    const PV wide = hn::Add(hn::Add(hn::Mul(hn::Add(bound, hn::Abs(rest)), hn::Set(d, 1 + 0x1p-50)),
                                    hn::Mul(hn::Abs(total), hn::Set(d, 0x1p-51))),
                            hn::Set(d, 0x1p-1070));
    const auto exact = hn::And(hn::Eq(bound, zero), hn::Eq(rest, zero));
    const PV low = RoundedTo<T>(hn::IfThenElse(exact, total, hn::Sub(total, wide)));
    const PV high = RoundedTo<T>(hn::Add(total, wide));
    sure = hn::And(sure, hn::Or(exact, hn::And(hn::Eq(low, high), hn::Ne(low, zero))));
    return hn::Add(low, zero);
  }
}

template <class T>
bool QuickPrefixes(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state) {
  const PD d;
  const std::size_t lanes = hn::Lanes(d);
  const PV zero = hn::Zero(d);
  Prefixes at;
  double sum = state.sum;
  double error = add_exactly(sum, state.error);
  at.sums[0] = sum;
  const auto run = [&](const auto* from) HWY_ATTR {
    for (std::size_t i = 0; i < count; ++i) {
      at.errors[i] = static_cast<double>(from[i]);
      sum += at.errors[i];
      at.sums[i + 1] = sum;
    }
  };
  if constexpr (std::is_same_v<T, Half>) {
    float floats[quick_prefix_elements];
    for (std::size_t i = 0; i < count; ++i) floats[i] = runtime::to_float(x[i]);
    run(floats);
  } else {
    run(x);
  }
  for (std::size_t i = count; i < count + lanes; ++i) {  // so that vectors may be whole
    at.errors[i] = 0;
    at.sums[i + 1] = sum;
  }

  // What the additions have lost.
  auto none = hn::Eq(zero, zero);
  auto inside = none;
  const PV largest = hn::Set(d, most_sum<T>);
  for (std::size_t i = 0; i < count; i += lanes) {
    const PV after = hn::LoadU(d, at.sums + i + 1);
    const PV lost = Lost(hn::Load(d, at.sums + i), hn::Load(d, at.errors + i), after);
    hn::Store(lost, d, at.lost + i);
    none = hn::And(none, hn::Eq(lost, zero));
    inside = hn::And(inside, hn::Le(hn::Abs(after), largest));
  }
  if (!hn::AllTrue(d, inside)) return false;
  double bound = state.bound;
  const bool exact = hn::AllTrue(d, none) && error == 0 && bound == 0;
  if (hn::AllTrue(d, none)) {
    std::fill_n(at.errors, count + 1 + lanes, error);
  } else {
    at.errors[0] = error;
    for (std::size_t i = 0; i < count; ++i) at.errors[i + 1] = error += at.lost[i];
    std::fill_n(at.errors + count + 1, lanes, error);
    PV lost = zero;  // by the additions of errors
    for (std::size_t i = 0; i < count; i += lanes) {
      const PV before = hn::Load(d, at.errors + i);
      lost = hn::Add(lost, hn::Abs(Lost(before, hn::Load(d, at.lost + i), hn::LoadU(d, at.errors + i + 1))));
    }
    // Twice, as their sum is rounded itself.
    const double unknown = hn::GetLane(hn::SumOfLanes(d, lost));
    if (unknown != 0) bound += 2 * unknown + 0x1p-1074;
  }

  auto sure = inside;
  const PV bounds = hn::Set(d, bound);
  const std::size_t first = exclusive ? 0 : 1;
  for (std::size_t i = 0; i < count; i += lanes) {
    const PV sums = hn::LoadU(d, at.sums + first + i);
    const PV errors = hn::LoadU(d, at.errors + first + i);
    hn::Store(exact ? RoundedTo<T>(sums) : Rounded<T>(sums, errors, bounds, sure), d, at.lost + i);
  }
  if (!hn::AllTrue(d, sure)) return false;
  if constexpr (std::is_same_v<T, Half>) {
    ToHalves(at.lost, count, y);
  } else {
    std::copy_n(at.lost, count, y);
  }
  state = {sum, error, bound};
  return true;
}

bool QuickPrefixesF16(const Half* x, Half* y, std::size_t count, bool exclusive, NearSum& state) {
  return QuickPrefixes(x, y, count, exclusive, state);
}
bool QuickPrefixesF32(const float* x, float* y, std::size_t count, bool exclusive, NearSum& state) {
  return QuickPrefixes(x, y, count, exclusive, state);
}
bool QuickPrefixesF64(const double* x, double* y, std::size_t count, bool exclusive, NearSum& state) {
  return QuickPrefixes(x, y, count, exclusive, state);
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(QuickPrefixesF16);
HWY_EXPORT(QuickPrefixesF32);
HWY_EXPORT(QuickPrefixesF64);

bool quick_prefixes(const Half* x, Half* y, std::size_t count, bool exclusive, NearSum& state) {
  return HWY_DYNAMIC_DISPATCH(QuickPrefixesF16)(x, y, count, exclusive, state);
}
bool quick_prefixes(const float* x, float* y, std::size_t count, bool exclusive, NearSum& state) {
  return HWY_DYNAMIC_DISPATCH(QuickPrefixesF32)(x, y, count, exclusive, state);
}
bool quick_prefixes(const double* x, double* y, std::size_t count, bool exclusive, NearSum& state) {
  return HWY_DYNAMIC_DISPATCH(QuickPrefixesF64)(x, y, count, exclusive, state);
}

}  // namespace masu::cpu
#endif
