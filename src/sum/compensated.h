// SPDX-License-Identifier: Apache-2.0
// Sums of doubles, with the rounding errors of their additions added up beside them. If a bound on the unknown rest
// proves how the exact sum rounds, that is the result; otherwise a long accumulator has to find it.
//
// Method: T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26(6), 2005.
#pragma once

#include "elements/stored_float.h"

#include <cmath>
#include <optional>
#include <type_traits>

namespace masu {

// Adds, and returns what the rounding took away, which is exact.
inline double add_exactly(double& sum, double x) noexcept {
  const double before = sum;
  sum += x;
  const double part = sum - before;
  return (before - (sum - part)) + (x - part);
}

// The number as a T that it is rounded to.
template <class T>
double rounded_as(double x) noexcept {
  const T rounded = rounded_to<T>(x);
  if constexpr (is_stored<T>) return to_double(rounded);
  else return static_cast<double>(rounded);
}

// The number sum + error + d, |d| <= bound, rounded to T; nothing where that is not certain. An exact zero is +0.
template <class T>
std::optional<double> certain(double sum, double error, double bound) noexcept {
  if (!(std::fabs(sum) <= 0x1p1000) || !(std::fabs(error) <= 0x1p1000) || !(bound <= 0x1p1000)) return std::nullopt;
  const double rest = add_exactly(sum, error);
  if constexpr (std::is_same_v<T, double>) {
    if (bound == 0) return sum + 0.0;
    // Wider by what the two additions below round.
    const double wide = bound + (std::fabs(rest) + bound) * 0x1p-50;
    if (sum + (rest + wide) != sum || sum + (rest - wide) != sum) return std::nullopt;
    return sum + 0.0;
  } else {
    if (bound == 0 && rest == 0) return rounded_as<T>(sum) + 0.0;
    const double wide = (bound + std::fabs(rest)) * (1 + 0x1p-50) + std::fabs(sum) * 0x1p-51 + 0x1p-1070;
    const double low = rounded_as<T>(sum - wide);
    const double high = rounded_as<T>(sum + wide);
    // Both zeros are equal: a sum so close to zero is not known.
    if (low != high || low == 0) return std::nullopt;
    return low;
  }
}

struct Compensated {
  double sum = 0;
  double error = 0;  // the sum of the additions' errors, rounded
  double lost = 0;   // the sum of the magnitudes of what its roundings took away

  void add(double x) noexcept { add_error(add_exactly(sum, x)); }
  void add_error(double x) noexcept { lost += std::fabs(add_exactly(error, x)); }
  // How far the exact sum can be from sum + error: twice, as `lost` is rounded too.
  [[nodiscard]] double bound() const noexcept { return lost == 0 ? 0 : 2 * lost + 0x1p-1074; }
  template <class T>
  [[nodiscard]] std::optional<double> rounded() const noexcept {
    return certain<T>(sum, error, bound());
  }
};

}  // namespace masu
