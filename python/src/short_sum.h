// SPDX-License-Identifier: Apache-2.0
// Exact running sums of few floats, rounded once, at the cost of adding them: the rounding errors of the additions are
// added up beside, and where what is not known of them could change the result, there is none, and masu's accumulators
// find it.
//
// Method: T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26(6), 2005.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace masu_python {

// Up to so many elements; the bound below holds for far more.
inline constexpr std::uint64_t short_sum_elements = 4096;

class ShortSum {
 public:
  void add(double x) noexcept { add_error(add_exactly(sum_, x)); }
  // The exact sum rounded to T, or nothing where that is not certain.
  template <class T>
  [[nodiscard]] std::optional<double> rounded() const noexcept {
    if (!std::isfinite(sum_) || !std::isfinite(error_)) return std::nullopt;
    double sum = sum_;
    const double rest = add_exactly(sum, error_);
    if (!std::isfinite(sum)) return std::nullopt;
    // What was lost was added up with roundings of its own, and so are these bounds.
    const double bound = 2 * lost_ + (lost_ + std::fabs(rest)) * 0x1p-50;
    if (lost_ != 0 && (sum + (rest + bound) != sum || sum + (rest - bound) != sum)) return std::nullopt;
    if (!std::is_same_v<T, double> && (rest != 0 || lost_ != 0)) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      if (static_cast<T>(std::nextafter(sum, -infinity)) != static_cast<T>(std::nextafter(sum, infinity))) {
        return std::nullopt;
      }
    }
    return static_cast<double>(static_cast<T>(sum)) + 0.0;
  }

 private:
  // Adds, and returns what the rounding took away.
  static double add_exactly(double& sum, double x) noexcept {
    const double before = sum;
    sum += x;
    const double part = sum - before;
    return (before - (sum - part)) + (x - part);
  }
  void add_error(double error) noexcept { lost_ += std::fabs(add_exactly(error_, error)); }

  double sum_ = 0;
  double error_ = 0;
  double lost_ = 0;
};

// The running sums. False where one is not certain.
template <class T>
bool short_running_sums(const T* x, std::uint64_t count, T* sums) noexcept {
  ShortSum sum;
  for (std::uint64_t i = 0; i < count; ++i) {
    sum.add(static_cast<double>(x[i]));
    const std::optional<double> rounded = sum.rounded<T>();
    if (!rounded) return false;
    sums[i] = static_cast<T>(*rounded);
  }
  return true;
}

}  // namespace masu_python
