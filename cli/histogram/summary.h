// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <masu/exact_sum.h>
#include <masu/histogram.h>

#include <cstdint>
#include <string>

namespace masu::cli {

// What is known of integer data before it is counted: the limits of its dtype, or those found in it.
struct Bounds {
  double least;
  double greatest;
};
Bounds dtype_bounds(Dtype dtype);

// True when the data are integers and every bin holds exactly one value of them: bin i edge(0) + i.
bool one_value_per_bin(const Histogram& histogram, Bins::Kind kind, bool half_open, const Bounds& bounds);

// The least and the greatest finite value of one channel, and the exact mean of the finite values.
class Summary {
 public:
  // Looks at channel `channel` of `channels` of a piece of the data.
  void add(const ArrayView& data, unsigned channel, unsigned channels);
  // The same from a histogram without outsiders of which one_value_per_bin() holds.
  void add(const Histogram& histogram);

  // Makes it that of the data of all ranks, which come here together.
  void merge_ranks();

  // "0:255" in the shortest form that reads back; "-" when there is no finite value.
  [[nodiscard]] std::string range() const;
  [[nodiscard]] std::string mean() const;

 private:
  template <class T>
  void add_values(const T* values, std::uint64_t pixels, unsigned channels);

  Dtype dtype_ = Dtype::f64;
  std::uint64_t lo_ = 0;  // the bits of a value of dtype_
  std::uint64_t hi_ = 0;
  ExactSum sum_;
};

}  // namespace masu::cli
