// SPDX-License-Identifier: Apache-2.0
// Exact sums of floats, each rounded once, at little more than the cost of adding them.
#pragma once

#include "runtime/half.h"
#include "sum/compensated.h"

#include <masu/interrupt.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

namespace masu_python {

using masu::add_exactly;
using masu::Compensated;

// Up to so many elements, whose sums are made with the GIL.
inline constexpr std::uint64_t short_sum_elements = std::uint64_t{1} << 17;

// The running sums. False where one is not certain.
template <class T>
bool running_sums(const T* x, std::uint64_t count, T* sums) {
  Compensated sum;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % short_sum_elements == 0 && i != 0) masu::check_interrupted();
    sum.add(static_cast<double>(x[i]));
    if (sum.error == 0 && sum.lost == 0) {  // exact so far
      sums[i] = static_cast<T>(sum.sum + 0.0);
      continue;
    }
    const auto rounded = sum.rounded<T>();
    if (!rounded) return false;
    sums[i] = static_cast<T>(*rounded);
  }
  return true;
}

// Of f16, whose sums are doubles as long as they are less than 2^29.
inline bool running_sums(const masu::Half* x, std::uint64_t count, masu::Half* sums) {
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    sum += masu::runtime::to_double(x[i]);
    if (!(std::fabs(sum) < 0x1p29)) return false;
    sums[i] = masu::runtime::to_half(sum + 0.0);
  }
  return true;
}

// The number sum + error + d, |d| <= bound, where only a few bits of it decide: `sum` moved by one bit towards the rest
// where that bit says that there is one (rounding to odd), which is rounded to f32 as the number itself is.
inline std::optional<float> rounded_by_odd(double sum, double error, double bound) noexcept {
  const double rest = add_exactly(sum, error);
  if (!(std::fabs(rest) > bound) || !(std::fabs(sum) <= 0x1p1000)) return std::nullopt;
  const bool odd = (std::bit_cast<std::uint64_t>(sum) & 1) != 0;
  return static_cast<float>(odd ? sum : std::nextafter(sum, rest > 0 ? INFINITY : -INFINITY));
}

// Of f32, which are rounded a block at a time.
inline bool running_sums(const float* x, std::uint64_t count, float* sums) {
  constexpr std::uint64_t block = 512;
  double sum = 0;
  double error = 0;
  double size = 0;  // the sum of the errors' magnitudes, which bounds what their additions lose
  double all[block];
  double errors[block];
  for (std::uint64_t first = 0; first < count; first += block) {
    if (first % short_sum_elements == 0 && first != 0) masu::check_interrupted();
    const std::uint64_t length = std::min(block, count - first);
    std::uint64_t exact = 0;  // that lost nothing
    for (std::uint64_t i = 0; i < length; ++i) {
      error += add_exactly(sum, static_cast<double>(x[first + i]));
      size += std::fabs(error);
      all[i] = sum;
      errors[i] = error;
      exact += static_cast<std::uint64_t>(size == 0);
    }
    const double bound = size * 0x1p-52 + 0x1p-1000;
    float* const to = sums + first;
    for (std::uint64_t i = 0; i < exact; ++i) to[i] = static_cast<float>(all[i]) + 0.0F;
    std::uint32_t unsure = 0;
    for (std::uint64_t i = exact; i < length; ++i) {
      const double total = all[i] + errors[i];
      const double wide = bound + std::fabs(total) * 0x1p-51;
      const auto low = static_cast<float>(total - wide);
      const auto high = static_cast<float>(total + wide);
      unsure |= std::bit_cast<std::uint32_t>(low) ^ std::bit_cast<std::uint32_t>(high);
      unsure |= static_cast<std::uint32_t>(!(std::fabs(total) <= 0x1p1000));
      to[i] = high + 0.0F;
    }
    for (std::uint64_t i = exact; unsure != 0 && i < length; ++i) {
      const auto rounded = masu::certain<float>(all[i], errors[i], bound);
      const std::optional<float> found =
          rounded ? static_cast<float>(*rounded) : rounded_by_odd(all[i], errors[i], bound);
      if (!found) return false;
      to[i] = *found;
    }
  }
  return true;
}

}  // namespace masu_python
