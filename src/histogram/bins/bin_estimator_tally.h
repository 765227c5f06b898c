// SPDX-License-Identifier: Apache-2.0
// What one pass of BinEstimator finds out about the data. Every number is a sum of whole numbers or an exact sum, so
// that neither the order nor the pieces of the data matter.
#pragma once

#include <masu/bins.h>
#include <masu/dtype.h>
#include <masu/exact_sum.h>

#include <cstdint>
#include <vector>

namespace masu {

// Which values count, as keys (elements/order.h), both ends included.
struct KeyLimits {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool none = false;
};
// The finite values.
KeyLimits finite_limits(Dtype dtype);
// The values between the ends of even bins over a given range.
KeyLimits range_limits(Dtype dtype, const Bins& bins);

struct TallyPass {
  Dtype dtype = Dtype::u8;
  KeyLimits limits;
  bool extremes = false;  // how many, the least, the greatest
  bool sum = false;
  bool squares = false;  // the sums of the squares and of the cubes of (x - mean) * scale
  bool cubes = false;
  double mean = 0;
  double scale = 1;
  // How often each digit follows each of these prefixes: the digit is (key >> shift) % 2^digit_bits, the prefix what is
  // before it.
  std::vector<std::uint64_t> prefixes;
  unsigned shift = 0;
  unsigned digit_bits = 0;
};

struct Tally {
  explicit Tally(const TallyPass& pass) : digits(pass.prefixes.size() << pass.digit_bits) {}
  std::uint64_t n = 0;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t greatest = 0;
  ExactSum sum;
  ExactSum squares;
  ExactSum cubes;
  std::vector<std::uint64_t> digits;  // a table for each prefix
  void merge(const Tally& other);
};

// Adds data of the pass's dtype, on all threads where there is much.
void add_to_tally(const TallyPass& pass, const ArrayView& data, Tally& total);

}  // namespace masu
