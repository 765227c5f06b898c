// SPDX-License-Identifier: Apache-2.0
// Running sums of floats by additions of doubles whose errors are added up beside them. A bound on what is still not
// known proves the rounding of a prefix: almost always, for a tenth of the work of a long number.
#pragma once

#include <masu/dtype.h>

#include <cstddef>

namespace masu::cpu {

// A sum that is sum + error + d, |d| <= bound.
struct NearSum {
  double sum = 0;
  double error = 0;
  double bound = 0;
};

inline constexpr std::size_t quick_prefix_elements = 1024;

// Writes the sums in front of (exclusive) or behind each of at most that many elements, and moves `state` behind the
// last. Where one prefix's rounding is not certain, returns false and has changed nothing. `y` may be `x`. Only where
// quick_arithmetic().
bool quick_prefixes(const Half* x, Half* y, std::size_t count, bool exclusive, NearSum& state);
bool quick_prefixes(const float* x, float* y, std::size_t count, bool exclusive, NearSum& state);
bool quick_prefixes(const double* x, double* y, std::size_t count, bool exclusive, NearSum& state);

}  // namespace masu::cpu
