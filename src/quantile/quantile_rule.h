// SPDX-License-Identifier: Apache-2.0
// Where a quantile lies and what it is, as numpy.quantile computes both (NumPy 2, `q` an array of f64).
#pragma once

#include <masu/dtype.h>
#include <masu/quantile.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace masu {

// Two neighbours in the sorted order and how far along; or one element.
struct QuantilePlace {
  std::uint64_t previous = 0;
  std::uint64_t next = 0;
  double gamma = 0;
  bool is_element = false;
};
// n >= 1 elements, 0 <= q <= 1.
MASU_EXPORT QuantilePlace quantile_place(QuantileMethod method, std::uint64_t n, double q);

// What is added to n * q where Hyndman and Fan's methods have constants, alpha + q * (1 - alpha - beta).
double quantile_constant(QuantileMethod method, double q);

// The number between two elements a <= b that are not NaN, rounded to a dtype of floats, as f64, by the rule in
// quantile.h. `weight` is that of the element that `kind` does not name; it is rounded here.
template <class T>
double value_between(QuantilePoint::Kind kind, double weight, T a, T b, Dtype result);

// The quantile at a place, by the bits of the elements there; zeros and NaNs as they are written in quantile.h.
MASU_EXPORT Quantile quantile_at(Dtype dtype, const QuantilePlace& place, std::uint64_t previous, std::uint64_t next);
// The mean of the two elements in the middle, which are one where their number is odd.
double median_of(Dtype dtype, std::uint64_t lower, std::uint64_t upper, bool one);
// The same of elements, with the sign that a zero comes out with.
template <class T>
double mean_of_middle(T lower, T upper, bool one);

// Which elements quantiles are made of, and how.

// Throws invalid_argument for a q that is not within 0 … 1.
void check_quantiles(std::span<const double> q);

// The quantiles of n elements, by the keys at places() of them.
class Quantiles {
 public:
  Quantiles(Dtype dtype, QuantileMethod method, std::uint64_t n, std::span<const double> q);
  [[nodiscard]] std::span<const std::uint64_t> places() const noexcept { return places_; }
  // The last of them is there only since NaN stands there, if there is any.
  [[nodiscard]] bool last_is_for_nan() const noexcept { return last_is_for_nan_; }
  // `key(i)`: of places()[i].
  void append(const std::function<std::uint64_t(std::size_t)>& key, std::vector<Quantile>& result) const;

 private:
  Dtype dtype_;
  std::vector<QuantilePlace> wanted_;
  std::vector<std::uint64_t> places_;
  bool last_is_for_nan_ = false;
};

}  // namespace masu
