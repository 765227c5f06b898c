// SPDX-License-Identifier: Apache-2.0
#include "histogram/bins/ordinary_bins.h"

#include "elements/order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace masu {
namespace {

template <class T>
bool is_ordinary(T lo, T hi, std::uint64_t bins) {
  constexpr T most = std::numeric_limits<T>::max() / 4;
  constexpr T units = 16 * std::numeric_limits<T>::epsilon();
  constexpr T least = 16 * std::numeric_limits<T>::min();
  const T magnitude = std::max(std::abs(lo), std::abs(hi));
  const T step = (hi - lo) / static_cast<T>(bins);
  const auto is_minus_zero = [](T x) { return x == 0 && std::signbit(x); };
  return magnitude < most && step > least && step > units * magnitude && !is_minus_zero(lo) && !is_minus_zero(hi);
}

}  // namespace

std::int64_t integer_of(Dtype dtype, std::uint64_t bits) noexcept {
  const auto unused = static_cast<unsigned>(64 - 8 * size_of(dtype));
  return is_signed(dtype) ? static_cast<std::int64_t>(bits << unused) >> unused : static_cast<std::int64_t>(bits);
}

std::optional<Bins> ordinary_bins(Dtype dtype, std::uint64_t bins, std::uint64_t least, std::uint64_t greatest) {
  if (dtype == Dtype::f32) {
    const auto lo = std::bit_cast<float>(static_cast<std::uint32_t>(least));
    const auto hi = std::bit_cast<float>(static_cast<std::uint32_t>(greatest));
    if (!is_ordinary(lo, hi, bins)) return std::nullopt;
    return Bins::even(bins, ValueRange{lo, hi, false});
  }
  if (dtype != Dtype::f64 && is_float(dtype)) return std::nullopt;
  const auto is_rounded = [&](std::uint64_t bits) {
    constexpr std::int64_t exact = std::int64_t{1} << 53;
    const std::int64_t value = integer_of(dtype, bits);
    return value >= exact || value <= -exact || (value < 0 && !is_signed(dtype));
  };
  if (dtype != Dtype::f64 && (is_rounded(least) || is_rounded(greatest))) return std::nullopt;
  const auto number = [&](std::uint64_t bits) {
    return dtype == Dtype::f64 ? std::bit_cast<double>(bits) : static_cast<double>(integer_of(dtype, bits));
  };
  const double lo = number(least);
  const double hi = number(greatest);
  if (!is_ordinary(lo, hi, bins)) return std::nullopt;
  return Bins::even(bins, lo, hi);
}

std::optional<Bins> bins_at(const ArrayView& edges) {
  constexpr double exact = 9007199254740992;  // from here on f64 lacks integers
  std::vector<double> limits(edges.count);
  dispatch(edges.dtype, [&]<class T>(TypeTag<T>) {
    const std::span from(static_cast<const T*>(edges.data), edges.count);
    std::ranges::transform(from, limits.begin(), [](T edge) { return to_f64(edge); });
  });
  const bool floats = is_float(edges.dtype);
  const auto is_edge = [&](double edge) { return floats ? !std::isnan(edge) : std::abs(edge) < exact; };
  if (limits.size() < 2 || !std::ranges::all_of(limits, is_edge) || !std::ranges::is_sorted(limits))
    return std::nullopt;
  return Bins::edges(std::move(limits));
}

}  // namespace masu
