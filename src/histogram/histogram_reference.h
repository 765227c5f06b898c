// SPDX-License-Identifier: Apache-2.0
// The plain sequential histogram: the oracle of --verify, of selftest and of the tests. It takes the edges as given and
// looks each value up in them; it shares no code with the fast paths. f16 data in even bins goes where NumPy's
// arithmetic puts it, written down once more here.
#pragma once

#include "histogram/bins/bin_rule.h"

#include <masu/dtype.h>
#include <masu/histogram.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace masu::reference {

struct Counts {
  std::vector<std::uint64_t> counts;
  std::uint64_t below = 0;
  std::uint64_t above = 0;
  std::uint64_t nan = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

// What NumPy's arithmetic for f16 data in even bins starts from: the range, and whether it was found in the data.
struct HalfEven {
  double lo = 0;
  double hi = 0;
  bool from_data = false;
};

// That of a rule, where f16 data needs it.
inline std::optional<HalfEven> half_even(const BinRule& rule) {
  if (!rule.stored_guess) return std::nullopt;
  return HalfEven{rule.lo, rule.hi, rule.own_arithmetic};
}

// x as f16 holds it.
inline double rounded_to_half(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1, std::max(exponent - 11, -24));
  const double rounded = std::nearbyint(x / unit) * unit;
  return std::abs(rounded) > 65504 ? std::copysign(INFINITY, x) : rounded;
}

inline double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// The bin of x between the first and the last edge.
inline std::size_t bin_of(double x, std::span<const double> edges, const std::optional<HalfEven>& half) {
  const std::size_t n = edges.size() - 1;
  if (half) {
    const double offset = rounded_to_half(x - rounded_to_half(half->lo));
    double position = offset / (half->hi - half->lo) * static_cast<double>(n);
    if (half->from_data) {
      const auto range = static_cast<float>(rounded_to_half(half->hi - half->lo));
      const double part = rounded_to_half(static_cast<float>(offset) / range);
      position = rounded_to_half(part * rounded_to_half(static_cast<double>(n)));
    }
    const double most = static_cast<double>(n) + 1;
    if (position < most) {  // otherwise NumPy raises an error, and the edges decide
      auto bin = static_cast<std::size_t>(position);
      if (bin == n) bin -= 1;
      if (x < edges[bin]) bin -= 1;
      if (bin != n - 1 && x >= edges[bin + 1]) bin += 1;
      return bin;
    }
  }
  return static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end() - 1, x) - edges.begin() - 1);
}

// Adds `data` (interleaved channels) to `result`, one entry a channel, whose counts have edges.size() - 1 zeros or
// earlier counts. `half_open` says that the last bin does not hold x = e[n]: right_open, and always for Bins::integers.
// `half` is half_even() of the rule, for f16 data.
inline void histogram(const ArrayView& data, std::span<const double> edges, bool half_open, Outside outside,
                      std::span<Counts> result, const std::optional<HalfEven>& half = {}) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::uint64_t i = 0; i < data.count; ++i) {
      T value;
      std::memcpy(&value, static_cast<const char*>(data.data) + i * sizeof(T), sizeof(T));
      Counts& to = result[i % result.size()];
      double x = 0;
      if constexpr (std::is_same_v<T, Half>) {
        x = half_value(value.bits);
      } else if constexpr (std::is_same_v<T, Bfloat16>) {
        x = static_cast<double>(std::bit_cast<float>(std::uint32_t{value.bits} << 16));
      } else {
        x = static_cast<double>(value);
      }
      const bool clamp = outside == Outside::clamp;
      if (std::isnan(x)) {
        ++to.nan;
      } else if (x < edges.front()) {
        ++(clamp ? to.counts.front() : to.below);
      } else if (x > edges.back() || (half_open && x == edges.back())) {
        ++(clamp ? to.counts.back() : to.above);
      } else {
        ++to.counts[bin_of(x, edges, half)];
      }
    }
  });
}

// The histograms of `data` from scratch, one for each channel.
inline std::vector<Counts> histogram(const ArrayView& data, std::span<const double> edges, bool half_open = false,
                                     Outside outside = Outside::drop, unsigned channels = 1,
                                     const std::optional<HalfEven>& half = {}) {
  std::vector<Counts> result(channels);
  for (Counts& counts : result) counts.counts.resize(edges.size() - 1);
  histogram(data, edges, half_open, outside, result, half);
  return result;
}

}  // namespace masu::reference
