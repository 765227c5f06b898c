// SPDX-License-Identifier: Apache-2.0
// Sums of doubles, with the rounding errors of their additions added up beside them. If a bound on the unknown rest
// proves how the exact sum rounds, that is the result; otherwise a long accumulator has to find it.
//
// Method: T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26(6), 2005.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
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
    if (bound == 0 && rest == 0) return static_cast<double>(static_cast<T>(sum)) + 0.0;
    const double wide = (bound + std::fabs(rest)) * (1 + 0x1p-50) + std::fabs(sum) * 0x1p-51 + 0x1p-1070;
    const T low = static_cast<T>(sum - wide);
    const T high = static_cast<T>(sum + wide);
    // Both zeros are equal: a sum so close to zero is not known.
    if (low != high || low == 0) return std::nullopt;
    return static_cast<double>(low);
  }
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
// The next number towards zero of a positive one.
template <class T>
T below(T x) noexcept {
  return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(x) - 1);
}

// The number sum + error + d, |d| <= bound, divided by `count` < 2^52 and rounded to T; nothing where that is not
// certain. Always inlined, as is certain_root: where the instructions of the caller have it, an fma is one of them.
template <class T>
[[gnu::always_inline]] inline std::optional<double> certain_quotient(double sum, double error, double bound,
                                                                     double count) noexcept {
  if (sum == 0 && error == 0 && bound == 0) return 0.0;
  if (!(std::fabs(sum) <= 0x1p1000) || !(std::fabs(error) <= 0x1p1000) || !(bound <= 0x1p1000)) return std::nullopt;
  constexpr double least = std::is_same_v<T, double> ? 0x1p-900 : 0x1p-100;
  // Rounded several times, so it may be a neighbour that is right; of doubles rarely, as what the quotient leaves is
  // divided, too.
  double quotient = (sum + error) / count;
  if constexpr (std::is_same_v<T, double>) quotient += (std::fma(-quotient, count, sum) + error) * (1 / count);
  T found = static_cast<T>(quotient);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const T size = std::fabs(found);
    if (!(size >= least) || !(size <= std::numeric_limits<T>::max() / 2)) break;
    // What the quotient leaves of the dividend.
    const double product = static_cast<double>(found) * count;
    double rest = sum;
    double inexact = std::fabs(add_exactly(rest, -product));
    inexact += std::fabs(add_exactly(rest, -std::fma(static_cast<double>(found), count, -product)));
    inexact += std::fabs(add_exactly(rest, error)) + bound;
    const double lost = (std::fabs(sum - product) + std::fabs(product) * 0x1p-53 + std::fabs(error)) * 0x1p-51;
    const double half = (static_cast<double>(size) - static_cast<double>(below(size))) / 2 * count;
    if (std::fabs(rest) + bound + lost < half * (1 - 0x1p-50)) return static_cast<double>(found);
    // Halfway between two numbers: the one whose last bit is 0.
    const bool is_half = inexact == 0 && std::fabs(rest) == half;
    if (is_half && (std::bit_cast<BitsOf<T>>(size) & 1) == 0) return static_cast<double>(found);
    constexpr T infinity = std::numeric_limits<T>::infinity();
    found = std::nextafter(found, rest > 0 ? infinity : -infinity);
    if (is_half) return static_cast<double>(found);
  }
  return std::nullopt;
}

// The root of the number sum + error + d, |d| <= bound, divided by `count` < 2^52, rounded to T; nothing where that is
// not certain.
template <class T>
[[gnu::always_inline]] inline std::optional<double> certain_root(double sum, double error, double bound,
                                                                 double count) noexcept {
  if (!(sum > 0) || !(sum <= 0x1p1000) || !(std::fabs(error) <= 0x1p1000) || !(bound <= 0x1p1000)) return std::nullopt;
  constexpr double least = std::is_same_v<T, double> ? 0x1p-400 : 0x1p-100;
  constexpr double most = std::is_same_v<T, double> ? 0x1p450 : 0x1p100;
  T found = static_cast<T>(std::sqrt((sum + error) / count));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto root = static_cast<double>(found);
    if (!(root >= least) || !(root <= most)) break;
    // What count * root * root leaves of the dividend.
    const double square = root * root;
    const double product = square * count;
    const double more = std::fma(square, count, -product) + std::fma(root, root, -square) * count;
    const double rest = (sum - product) - more + error;
    const double lost = (std::fabs(sum - product) + product * 0x1p-51 + std::fabs(error)) * 0x1p-50;
    // The number lies between the squares of root - half a gap and root + half a gap, of which the former is nearer.
    const double half_gap = (root - static_cast<double>(below(found))) / 2;
    const double room = (2 * root - half_gap) * half_gap * count * (1 - 0x1p-49);
    if (std::fabs(rest) + bound + lost < room) return root;
    found = std::nextafter(found, rest > 0 ? std::numeric_limits<T>::infinity() : T{0});
  }
  return std::nullopt;
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
