// SPDX-License-Identifier: Apache-2.0
// Data for the histogram's tests: ordinary values mixed with all that is awkward for given even bins.
#pragma once

#include "elements/stored_float.h"

#include <masu/dtype.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

namespace masu::test {

template <class T>
class Samples {
 public:
  // Values around n even bins of [lo, hi]: uniform ones a little past both ends, the edges, their neighbours, and the
  // special values of T.
  Samples(std::uint64_t n, double lo, double hi, std::uint64_t seed = 1) : random_(seed) {
    const double width = (hi - lo) / static_cast<double>(n);
    for (int i = 0; i < 3000; ++i) {
      const double part = static_cast<double>(random_() >> 11) * 0x1p-53;
      add(lo - 2 * width + part * (hi - lo + 4 * width));
    }
    for (std::uint64_t i = 0; i <= n && i < 2000; ++i) {
      const double edge = lo + static_cast<double>(i) * width;
      add(edge);
      if constexpr (std::is_floating_point_v<T>) {
        values_.push_back(std::nextafter(static_cast<T>(edge), std::numeric_limits<T>::max()));
        values_.push_back(std::nextafter(static_cast<T>(edge), std::numeric_limits<T>::lowest()));
      }
    }
    using Limits = std::numeric_limits<T>;
    for (const T special : {Limits::lowest(), Limits::max(), Limits::min(), T{}, static_cast<T>(1)}) {
      values_.push_back(special);
    }
    if constexpr (std::is_floating_point_v<T>) {
      for (const T special : {Limits::denorm_min(), -Limits::denorm_min(), -T{}}) values_.push_back(special);
      for (const T special : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
        not_finite_.push_back(special);
      }
    }
  }

  // `size` of them, drawn at random.
  std::vector<T> take(std::size_t size) const {
    std::vector<T> result(size);
    for (T& x : result) {
      const std::uint64_t pick = random_();
      const bool odd = !not_finite_.empty() && pick % 64 == 0;
      const std::vector<T>& from = odd ? not_finite_ : values_;
      x = from[(pick >> 6) % from.size()];
    }
    return result;
  }

  // Finite values within the range that f32 and f64 differences can hold.
  std::vector<T> finite(std::size_t size) const {
    std::vector<T> result;
    while (result.size() < size) {
      const T x = values_[random_() % values_.size()];
      if (std::abs(static_cast<double>(x)) < 1e30) result.push_back(x);
    }
    return result;
  }

 private:
  // Integers take the whole part; what T cannot hold is left out.
  void add(double x) {
    if constexpr (std::is_integral_v<T>) {
      x = std::floor(x);
      if (x < static_cast<double>(std::numeric_limits<T>::min())) return;
      if (x >= static_cast<double>(std::numeric_limits<T>::max())) return;
    }
    if constexpr (is_stored<T>) values_.push_back(rounded_to<T>(x));
    else values_.push_back(static_cast<T>(x));
  }

  mutable std::mt19937_64 random_;
  std::vector<T> values_;
  std::vector<T> not_finite_;
};

// The plainest way to find a bin, for the tests of rows and of joint histograms, and data of every dtype.

template <class T>
double plain_value(T x) {
  if constexpr (is_stored<T>) return to_double(x);
  else return static_cast<double>(x);
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

// Values around n bins of [lo, hi], with all that is awkward; stored floats are rounded from f32.
template <class T>
std::vector<T> plain_data(std::uint64_t n, double lo, double hi, std::size_t size, std::uint64_t seed = 1) {
  if constexpr (is_stored<T>) {
    std::vector<T> result;
    for (const float x : Samples<float>(n, lo, hi, seed).take(size)) result.push_back(rounded_to<T>(x));
    return result;
  } else {
    return Samples<T>(n, lo, hi, seed).take(size);
  }
}

}  // namespace masu::test
