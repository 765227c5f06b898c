// SPDX-License-Identifier: Apache-2.0
// Where a quantile lies and what it is, as numpy.quantile computes both (NumPy 2, `q` an array of f64).
#pragma once

#include <masu/dtype.h>
#include <masu/quantile.h>

#include <cstdint>

namespace masu {

// Two neighbours in the sorted order and how far along; or one element.
struct QuantilePlace {
  std::uint64_t previous = 0;
  std::uint64_t next = 0;
  double gamma = 0;
  bool is_element = false;
};
// n >= 1 elements, 0 <= q <= 1.
QuantilePlace quantile_place(QuantileMethod method, std::uint64_t n, double q);

// What is added to n * q where Hyndman and Fan's methods have constants, alpha + q * (1 - alpha - beta).
double quantile_constant(QuantileMethod method, double q);

// The quantile at a place, by the bits of the elements there; zeros and NaNs as they are written in quantile.h.
Quantile quantile_at(Dtype dtype, const QuantilePlace& place, std::uint64_t previous, std::uint64_t next);
// The mean of the two elements in the middle, which are one where their number is odd.
double median_of(Dtype dtype, std::uint64_t lower, std::uint64_t upper, bool one);
// The same with the sign that a zero comes out with.
double mean_of_middle(Dtype dtype, std::uint64_t lower, std::uint64_t upper, bool one);

}  // namespace masu
