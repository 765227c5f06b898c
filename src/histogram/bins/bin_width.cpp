// SPDX-License-Identifier: Apache-2.0
#include "histogram/bins/bin_estimator_state.h"

#include "runtime/half.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace masu {

double rounded_to(Dtype dtype, double x) noexcept {
  if (dtype == Dtype::f32) return static_cast<double>(static_cast<float>(x));
  return dtype == Dtype::f16 ? runtime::to_double(runtime::to_half(x)) : x;
}

double quotient_in(Dtype dtype, double x, double y) noexcept {
  if (dtype != Dtype::f32 && dtype != Dtype::f16) return x / y;
  return rounded_to(dtype, static_cast<double>(static_cast<float>(x) / static_cast<float>(y)));
}

namespace {

struct Width {
  double value;
  bool own;  // a number of the dtype; f64 otherwise
};

double count(const BinStatistics& data) {
  return static_cast<double>(data.n);
}

Width square_root(const BinStatistics& data) {
  return {data.spread / std::sqrt(count(data)), false};
}

Width sturges(const BinStatistics& data) {
  return {data.spread / (std::log2(count(data)) + 1.0), false};
}

Width rice(const BinStatistics& data) {
  const double bins = 2.0 * std::pow(count(data), 1.0 / 3);
  return {quotient_in(data.dtype, data.spread, rounded_to(data.dtype, bins)), true};
}

Width scott(const BinStatistics& data) {
  const double factor = std::pow(24.0 * std::pow(std::numbers::pi, 0.5) / count(data), 1.0 / 3.0);
  const double deviation = rounded_to(data.dtype, data.deviation);
  return {rounded_to(data.dtype, rounded_to(data.dtype, factor) * deviation), true};
}

Width stone(const BinStatistics& data) {
  if (data.smoothest == 0) return {0, false};
  return {quotient_in(data.dtype, data.spread, static_cast<double>(data.smoothest)), true};
}

Width doane(const BinStatistics& data) {
  const double n = count(data);
  if (data.n <= 2 || !(rounded_to(data.dtype, data.deviation) > 0)) return {0, false};
  const double expected = std::sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)));
  const double skew = std::abs(rounded_to(data.dtype, data.skew));
  return {data.spread / (1.0 + std::log2(n) + std::log2(1.0 + skew / expected)), false};
}

Width freedman_diaconis(const BinStatistics& data) {
  return {2.0 * data.quartile_range * std::pow(count(data), -1.0 / 3.0), false};
}

Width automatic(const BinStatistics& data) {
  const double relaxed = std::max(freedman_diaconis(data).value, square_root(data).value / 2);
  return {std::min(relaxed, sturges(data).value), false};
}

// In the order of Estimator.
constexpr std::array<Width (*)(const BinStatistics&), 8> widths{automatic, freedman_diaconis, doane,      scott, stone,
                                                                rice,      sturges,           square_root};

}  // namespace

double bins_of_width(Estimator estimator, const BinStatistics& data, double delta, bool given) noexcept {
  Width width = widths[static_cast<std::size_t>(estimator)](data);
  if (width.value == 0) return 1;
  if (!is_float(data.dtype) && width.value < 1) width.value = 1;
  return std::ceil(width.own && !given ? quotient_in(data.dtype, delta, width.value) : delta / width.value);
}

}  // namespace masu
