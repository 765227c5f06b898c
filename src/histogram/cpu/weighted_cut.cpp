// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "histogram/cpu/weighted_cut.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using CutD = hn::ScalableTag<double>;
using CutV = hn::Vec<CutD>;

HWY_INLINE CutV CutLoad(const double* x) {
  return hn::LoadU(CutD(), x);
}
HWY_INLINE CutV CutLoad(const float* x) {
  return hn::PromoteTo(CutD(), hn::LoadU(hn::Rebind<float, CutD>(), x));
}

// A weight loses what is no multiple of the high unit where it is added to 1.5 * 2^52 of them, and the difference is
// exact. The rest must not lose anything in the same way.
template <class T>
HWY_INLINE bool CutWeights(const T* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves) {
  const CutD d;
  const std::size_t lanes = hn::Lanes(d);
  const CutV high_unit = hn::Set(d, units.high);
  const CutV low_unit = hn::Set(d, units.low);
  CutV off = hn::Zero(d);
  CutV most = hn::Zero(d);
  const auto cut = [&](CutV x, double* to) HWY_ATTR {
    const CutV high = hn::Sub(hn::Add(x, high_unit), high_unit);
    const CutV low = hn::Sub(x, high);
    off = hn::Or(off, hn::Sub(hn::Sub(hn::Add(low, low_unit), low_unit), low));  // +0 where nothing is lost
    most = hn::Max(most, hn::Abs(x));
    hn::StoreInterleaved2(high, low, d, to);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) cut(CutLoad(weights + i), &halves[i].high);
  if (i < count) {
    HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(double)] = {};
    HWY_ALIGN double parts[2 * HWY_MAX_BYTES / sizeof(double)];
    for (std::size_t k = i; k < count; ++k) rest[k - i] = weights[k];
    cut(CutLoad(rest), parts);
    for (std::size_t k = i; k < count; ++k) halves[k] = {parts[2 * (k - i)], parts[2 * (k - i) + 1]};
  }
  // A maximum may miss a NaN, but that stays in `off`.
  return hn::AllTrue(d, hn::Eq(off, hn::Zero(d))) && hn::GetLane(hn::MaxOfLanes(d, most)) <= units.most;
}

bool CutF64(const double* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves) {
  return CutWeights(weights, count, units, halves);
}
bool CutF32(const float* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves) {
  return CutWeights(weights, count, units, halves);
}

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

HWY_EXPORT(CutF64);
HWY_EXPORT(CutF32);

bool cut_weights(const double* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves) {
  return HWY_DYNAMIC_DISPATCH(CutF64)(weights, count, units, halves);
}
bool cut_weights(const float* weights, std::size_t count, const WeightUnits& units, WeightHalves* halves) {
  return HWY_DYNAMIC_DISPATCH(CutF32)(weights, count, units, halves);
}

}  // namespace masu::cpu
#endif
