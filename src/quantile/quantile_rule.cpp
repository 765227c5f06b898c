// SPDX-License-Identifier: Apache-2.0
#include "quantile/quantile_rule.h"

#include "elements/order.h"
#include "runtime/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace masu {

namespace {

// Hyndman and Fan's constants of the methods that have them.
struct Constants {
  double alpha;
  double beta;
};

Constants constants_of(QuantileMethod method) {
  switch (method) {
    case QuantileMethod::interpolated_inverted_cdf: return {0, 1};
    case QuantileMethod::hazen: return {0.5, 0.5};
    case QuantileMethod::median_unbiased: return {1 / 3.0, 1 / 3.0};
    case QuantileMethod::normal_unbiased: return {3 / 8.0, 3 / 8.0};
    default: return {0, 0};
  }
}

// Beyond 2^53 elements a double may be rounded to a place behind the last.
QuantilePlace element(std::uint64_t n, double place) {
  const auto found = place < 0 ? 0 : std::min(static_cast<std::uint64_t>(place), n - 1);
  return {found, found, 0, true};
}

// `previous`, or the place behind it where the index is not there.
QuantilePlace element_at_or_behind(std::uint64_t n, double index, bool here) {
  return element(n, std::floor(index) + (here ? 0 : 1));
}

QuantilePlace between(std::uint64_t n, double index) {
  QuantilePlace place;
  if (index >= static_cast<double>(n - 1)) {
    place.previous = place.next = n - 1;
    place.gamma = index + 1;  // NumPy takes place -1; both neighbours are the same there
    return place;
  }
  if (index < 0) {
    place.gamma = index;
    return place;
  }
  const double floor = std::floor(index);
  place.previous = std::min(static_cast<std::uint64_t>(floor), n - 1);
  place.next = std::min(place.previous + 1, n - 1);
  place.gamma = index - floor;
  return place;
}

QuantilePlace averaged(std::uint64_t n, double index) {
  QuantilePlace place = between(n, index);
  place.gamma = place.gamma == 0 ? 0.5 : 1;
  return place;
}

QuantilePlace middle(std::uint64_t n, double index) {
  QuantilePlace place = between(n, index);
  place.gamma = index == std::floor(index) ? 0 : 0.5;
  return place;
}

double canonical(double x) {
  if (x != x) return std::numeric_limits<double>::quiet_NaN();
  return x == 0 ? 0.0 : x;
}

// b - a in the dtype; of integers exactly, as a <= b.
template <class T>
double difference(T a, T b) {
  if constexpr (std::is_same_v<T, Half>) {
    return runtime::to_double(runtime::to_half(runtime::to_double(b) - runtime::to_double(a)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(static_cast<T>(b - a));
  } else {
    return static_cast<double>(static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a));
  }
}

template <class T>
T from_bits(std::uint64_t bits) {
  return std::bit_cast<T>(static_cast<KeyOf<T>>(bits));
}

}  // namespace

double quantile_constant(QuantileMethod method, double q) {
  const Constants c = constants_of(method);
  return c.alpha + q * (1 - c.alpha - c.beta);
}

QuantilePlace quantile_place(QuantileMethod method, std::uint64_t count, double q) {
  const auto n = static_cast<double>(count);
  const double spread = static_cast<double>(count - 1) * q;
  // The middle exactly, of any number of elements: below 2^53 of them, where doubles are exact, the same.
  if (q == 0.5 && method == QuantileMethod::lower) return {(count - 1) / 2, (count - 1) / 2, 0, true};
  if (q == 0.5 && method == QuantileMethod::higher) return {count / 2, count / 2, 0, true};
  switch (method) {
    case QuantileMethod::inverted_cdf: {
      const double index = n * q - 1;
      return element_at_or_behind(count, index, index == std::floor(index));
    }
    case QuantileMethod::closest_observation: {
      const double index = n * q - 1 - 0.5;
      const double floor = std::floor(index);
      return element_at_or_behind(count, index, index == floor && std::fmod(std::fabs(floor), 2) == 1);
    }
    case QuantileMethod::averaged_inverted_cdf: return averaged(count, n * q - 1);
    case QuantileMethod::interpolated_inverted_cdf:
    case QuantileMethod::hazen:
    case QuantileMethod::weibull:
    case QuantileMethod::median_unbiased:
    case QuantileMethod::normal_unbiased: return between(count, n * q + quantile_constant(method, q) - 1);
    case QuantileMethod::linear: return between(count, spread);
    case QuantileMethod::lower: return element(count, std::floor(spread));
    case QuantileMethod::higher: return element(count, std::ceil(spread));
    case QuantileMethod::midpoint: return middle(count, 0.5 * (std::floor(spread) + std::ceil(spread)));
    case QuantileMethod::nearest: return element(count, std::nearbyint(spread));
  }
  return {};
}

Quantile quantile_at(Dtype dtype, const QuantilePlace& place, std::uint64_t previous, std::uint64_t next) {
  return dispatch(dtype, [&](auto tag) -> Quantile {
    using T = typename decltype(tag)::type;
    const T a = from_bits<T>(previous);
    const T b = from_bits<T>(next);
    if (place.is_element) return {canonical(to_f64(a)), previous, true};
    const double step = difference(a, b);
    const double t = place.gamma;
    const double value = t >= 0.5 ? to_f64(b) - step * (1 - t) : to_f64(a) + step * t;
    return {canonical(value), 0, false};
  });
}

double mean_of_middle(Dtype dtype, std::uint64_t lower, std::uint64_t upper, bool one) {
  return dispatch(dtype, [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    const T a = from_bits<T>(lower);
    const T b = from_bits<T>(upper);
    // NumPy's sum begins with +0, so that it is no -0; its half may be one.
    if (one) return 0.0 + to_f64(a);
    if constexpr (std::is_same_v<T, Half>) {
      const float sum = 0.0F + static_cast<float>(to_f64(a)) + static_cast<float>(to_f64(b));
      return runtime::to_double(runtime::to_half(static_cast<double>(sum / 2)));
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(static_cast<T>((T{0} + a + b) / 2));
    } else {
      return (static_cast<double>(a) + static_cast<double>(b)) / 2;
    }
  });
}

double median_of(Dtype dtype, std::uint64_t lower, std::uint64_t upper, bool one) {
  return canonical(mean_of_middle(dtype, lower, upper, one));
}

}  // namespace masu
