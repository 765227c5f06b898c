// SPDX-License-Identifier: Apache-2.0
// How wide the bins of NumPy's estimators are (numpy/lib/_histograms_impl.py), from statistics of the data. Where NumPy
// computes in f32 or f16 because the data are, so does this.
#pragma once

#include <masu/bins.h>

#include <cstdint>

namespace masu {

struct BinStatistics {
  Dtype dtype = Dtype::f64;
  std::uint64_t n = 0;          // values in the range, at least one
  double spread = 0;            // greatest - least, in the dtype
  double deviation = 0;         // scott, doane: the standard deviation, before it is rounded to the dtype
  double skew = 0;              // doane: the mean of the cubes of what is (x - mean) / deviation
  double quartile_range = 0;    // auto, fd
  std::uint64_t smoothest = 0;  // stone: the number of bins of the least estimated error; 0 where there is no spread
};

// x rounded to the dtype; integers: x.
double rounded_to(Dtype dtype, double x) noexcept;
// x / y as NumPy divides two numbers of the dtype; integers: in f64.
double quotient_in(Dtype dtype, double x, double y) noexcept;

// The bins that the estimator's width makes of a range `delta` wide; not a number, or more than there can be, where it
// says nothing. `given`: the range came from the caller, and is f64.
double bins_of_width(Estimator estimator, const BinStatistics& data, double delta, bool given) noexcept;

}  // namespace masu
