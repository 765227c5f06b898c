// SPDX-License-Identifier: Apache-2.0
// The plainest way to find a bin, for the tests of rows and of joint histograms, and data of every dtype.
#pragma once

#include "histogram/histogram_test_data.h"
#include "runtime/half.h"

#include <masu/dtype.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace masu::test {

inline double plain_value(Half x) {
  return runtime::to_double(x);
}
template <class T>
double plain_value(T x) {
  return static_cast<double>(x);
}

enum class Place { bin, below, above, nan };
struct Plain {
  Place place;
  std::size_t bin = 0;
};

// Looks at one edge after the other.
inline Plain plain_bin(double x, std::span<const double> edges, bool half_open, bool clamp) {
  const std::size_t last = edges.size() - 2;
  if (std::isnan(x)) return {Place::nan};
  if (x < edges.front()) return clamp ? Plain{Place::bin, 0} : Plain{Place::below};
  if (x > edges.back() || (half_open && x == edges.back()))
    return clamp ? Plain{Place::bin, last} : Plain{Place::above};
  std::size_t bin = 0;
  while (bin < last && x >= edges[bin + 1]) ++bin;
  return {Place::bin, bin};
}

// Values around n bins of [lo, hi], with all that is awkward; f16 ones are rounded from f32.
template <class T>
std::vector<T> plain_data(std::uint64_t n, double lo, double hi, std::size_t size, std::uint64_t seed = 1) {
  if constexpr (std::is_same_v<T, Half>) {
    std::vector<T> result;
    for (const float x : Samples<float>(n, lo, hi, seed).take(size)) result.push_back(runtime::to_half(x));
    return result;
  } else {
    return Samples<T>(n, lo, hi, seed).take(size);
  }
}

}  // namespace masu::test
