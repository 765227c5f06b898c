// SPDX-License-Identifier: Apache-2.0
// Exact running sums of floats, each prefix rounded once.
#pragma once

#include "scan/prefix_quick.h"
#include "sum/fixed_point.h"

#include <masu/dtype.h>

#include <cstdint>
#include <optional>
#include <span>

namespace masu {

// A running sum: the exact total of all that came, and beside it a sum of doubles that is near to it, from which most
// prefixes are rounded.
class PrefixSum {
 public:
  // Adds elements of Half, float or double; where `output` is not null, writes the rounded sum in front of (exclusive)
  // or behind each. `output` may be `input`. `last`: nobody will ask for the sum behind them.
  template <class T>
  void run(const T* input, T* output, std::uint64_t count, bool exclusive, bool last);
  // Adds digits[i] * 2^(32 i - 1088), and numbers that are not finite.
  void add(std::span<const std::int64_t> digits, bool nan, bool infinity, bool minus_infinity);
  // Adds what another one has added.
  void merge(const PrefixSum& later);

 private:
  fixed::Sum total_;
  std::optional<cpu::NearSum> near_ = cpu::NearSum();  // where it is known
};

extern template void PrefixSum::run<Half>(const Half*, Half*, std::uint64_t, bool, bool);
extern template void PrefixSum::run<float>(const float*, float*, std::uint64_t, bool, bool);
extern template void PrefixSum::run<double>(const double*, double*, std::uint64_t, bool, bool);

}  // namespace masu
