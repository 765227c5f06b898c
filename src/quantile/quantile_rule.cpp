// SPDX-License-Identifier: Apache-2.0
#include "quantile/quantile_rule.h"

#include "elements/each_type.h"
#include "elements/order.h"
#include "elements/soft_float.h"
#include "elements/stored_float.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace masu {

namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

constexpr int double_bits = std::numeric_limits<double>::digits;

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

// Beyond 2^53 elements a double may be rounded to a place after the last.
QuantilePlace element(std::uint64_t n, double place) {
  const auto found = place < 0 ? 0 : std::min(static_cast<std::uint64_t>(place), n - 1);
  return {found, found, 0, true};
}

// `previous`, or the place after it where the index is not there.
QuantilePlace element_at_or_after(std::uint64_t n, double index, bool here) {
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

// The magnitude of a finite number as an integer in units of 2^exponent.
template <class T>
std::uint64_t magnitude_of(T x, [[maybe_unused]] int& exponent) {
  if constexpr (is_float(dtype_of<T>)) {
    return soft::number_of(std::bit_cast<std::uint64_t>(std::fabs(to_f64(x))), MASU_DOUBLE_FORMAT, &exponent);
  } else {
    return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  }
}

// x + (y - x) * weight, or y - (y - x) * weight, rounded once; x < y.
template <class T>
double exactly_between(bool from_next, double weight, T x, T y, Dtype result) {
  int exponent_of_x = 0;
  int exponent_of_y = 0;
  const std::uint64_t less = magnitude_of(x, exponent_of_x);
  const std::uint64_t more = magnitude_of(y, exponent_of_y);
  const int exponent = std::min(exponent_of_x, exponent_of_y);
  Wide step = 0;
  if constexpr (is_float(dtype_of<T>)) {  // only reached where x < 0 < y
    step = (static_cast<Wide>(less) << (exponent_of_x - exponent)) +
           (static_cast<Wide>(more) << (exponent_of_y - exponent));
  } else {
    step = static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x);
  }
  const auto in_format = [&](unsigned precision, int least, unsigned bits) {
    const std::uint64_t found = soft::exact_step(
        to_f64(from_next ? y : x) < 0, from_next ? more : less, from_next ? exponent_of_y : exponent_of_x,
        static_cast<std::uint64_t>(step >> 64U), static_cast<std::uint64_t>(step), exponent,
        soft::float_as(std::bit_cast<std::uint64_t>(weight), MASU_DOUBLE_FORMAT, precision, least, bits), from_next,
        precision, least, bits);
    return std::bit_cast<double>(soft::float_as(found, precision, least, bits, MASU_DOUBLE_FORMAT));
  };
  const FloatFormat format = float_format(result);
  return in_format(static_cast<unsigned>(format.precision), format.least, static_cast<unsigned>(8 * size_of(result)));
}

// Whether a dtype of floats holds an integer exactly.
bool has_integer(Dtype dtype, std::uint64_t magnitude) {
  if (magnitude == 0) return true;
  const int width = static_cast<int>(std::bit_width(magnitude));
  const FloatFormat format = float_format(dtype);
  return width - std::countr_zero(magnitude) <= format.precision && width <= format.end;
}

// By NumPy's formula: rounded at each step. An operation on floats below f64 that is computed in f64 and then rounded
// has the same result as one in their dtype, because f64 has more than twice the digits.
double numpys_between(bool from_next, double weight, double a, double b, double difference, Dtype result) {
  const double product = rounded_to(result, difference * weight);
  return from_next ? rounded_to(result, b - product) : rounded_to(result, a + product);
}

template <class T>
T from_bits(std::uint64_t bits) {
  return std::bit_cast<T>(static_cast<KeyOf<T>>(bits));
}

}  // namespace

template <class T>
double value_between(QuantilePoint::Kind kind, double weight, T a, T b, Dtype result) {
  const bool from_next = kind == QuantilePoint::Kind::from_next;
  result = arithmetic_dtype(result);
  weight = rounded_to(result, weight);
  const double x = rounded_to(result, to_f64(a));
  const double y = rounded_to(result, to_f64(b));
  if constexpr (is_float(dtype_of<T>)) {
    if (std::isinf(x) || std::isinf(y)) {
      if (x == y || weight == 0) return from_next ? y : x;
      return std::isinf(x) && std::isinf(y) ? std::numeric_limits<double>::quiet_NaN() : std::isinf(x) ? x : y;
    }
    const double difference = rounded_to(result, rounded_to(arithmetic_dtype(dtype_of<T>), to_f64(b) - to_f64(a)));
    if (!std::isinf(difference)) return numpys_between(from_next, weight, x, y, difference, result);
    if (weight == 0) return from_next ? y : x;
  } else {
    int none = 0;
    const std::uint64_t difference = static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
    const bool fits = difference <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    if (fits && has_integer(result, magnitude_of(a, none)) && has_integer(result, magnitude_of(b, none)) &&
        has_integer(result, difference)) {
      return numpys_between(from_next, weight, x, y, static_cast<double>(difference), result);
    }
    if (difference == 0 || weight == 0) return from_next ? y : x;
  }
  return exactly_between(from_next, weight, a, b, result);
}

#define MASU_INSTANTIATE(name, T) template double value_between<T>(QuantilePoint::Kind, double, T, T, Dtype);
MASU_EACH_INTEGER(MASU_INSTANTIATE)
MASU_EACH_FLOAT(MASU_INSTANTIATE)
#undef MASU_INSTANTIATE

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
      return element_at_or_after(count, index, index == std::floor(index));
    }
    case QuantileMethod::closest_observation: {
      const double index = n * q - 1 - 0.5;
      const double floor = std::floor(index);
      return element_at_or_after(count, index, index == floor && std::fmod(std::fabs(floor), 2) == 1);
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
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (to_f64(a) != to_f64(a) || to_f64(b) != to_f64(b)) return {nan, 0, false};
    const double t = place.gamma;
    const double value = t >= 0.5 ? value_between(QuantilePoint::Kind::from_next, 1 - t, a, b, Dtype::f64)
                                  : value_between(QuantilePoint::Kind::from_previous, t, a, b, Dtype::f64);
    return {canonical(value), 0, false};
  });
}

template <class T>
double mean_of_middle(T a, T b, bool one) {
  // NumPy's sum begins with +0, so that it is no -0; its half may be one.
  if (one) return 0.0 + to_f64(a);
  if constexpr (is_stored<T>) {
    return to_double(rounded_to<T>((0.0 + to_f64(a) + to_f64(b)) / 2));
  } else if constexpr (std::is_floating_point_v<T>) {
    const T sum = T{0} + a + b;
    if (std::isinf(sum) && !std::isinf(a) && !std::isinf(b)) return static_cast<double>(a / 2 + b / 2);
    return static_cast<double>(static_cast<T>(sum / 2));
  } else {
    return static_cast<double>(static_cast<SignedWide>(a) + static_cast<SignedWide>(b)) / 2;  // rounded once
  }
}

#define MASU_INSTANTIATE(name, T) template double mean_of_middle<T>(T, T, bool);
MASU_EACH_INTEGER(MASU_INSTANTIATE)
MASU_EACH_FLOAT(MASU_INSTANTIATE)
#undef MASU_INSTANTIATE

double median_of(Dtype dtype, std::uint64_t lower, std::uint64_t upper, bool one) {
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return canonical(mean_of_middle(from_bits<T>(lower), from_bits<T>(upper), one));
  });
}

}  // namespace masu
