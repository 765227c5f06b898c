// SPDX-License-Identifier: Apache-2.0
// Sums of finite doubles, or of products of two, whatever their exponents: mantissas are added as integers, those of
// one sign and exponent in one place.
#pragma once

#include "sum/fixed_point.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace masu::cpu {

template <std::size_t fields, int lowest_exponent, int mantissa_bits>
class Buckets {
 public:
  static constexpr std::uint64_t most = std::uint64_t{1} << std::min(128 - mantissa_bits, 40);

  [[nodiscard]] fixed::Wide* places() const noexcept { return sums_.get(); }
  // To be called before more than `most` numbers came.
  template <class Total>
  void give(Total& total) {
    for (std::size_t i = 0; i < 2 * fields; ++i) {
      const fixed::Wide sum = sums_[i];
      if (sum == 0) continue;
      const int exponent = lowest_exponent + static_cast<int>(i / 2);
      total.add(static_cast<std::uint64_t>(sum), exponent, i % 2 != 0);
      const auto high = static_cast<std::uint64_t>(sum >> 64);
      if (high != 0) total.add(high, exponent + 64, i % 2 != 0);
      sums_[i] = 0;
    }
  }

 private:
  std::unique_ptr<fixed::Wide[]> sums_ = std::make_unique<fixed::Wide[]>(2 * fields);
};

inline constexpr int field_bits = 52;
inline constexpr std::uint64_t field_mask = 2047;

struct DoubleParts {
  std::uint64_t mantissa;
  std::uint64_t field;  // of a subnormal number as of the smallest normal one: 0
  std::uint64_t negative;
  explicit DoubleParts(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t of_exponent = bits >> field_bits & field_mask;
    const std::uint64_t normal = of_exponent != 0 ? 1 : 0;
    mantissa = (bits & ((std::uint64_t{1} << field_bits) - 1)) | normal << field_bits;
    field = of_exponent - normal;
    negative = bits >> 63;
  }
};

class DoubleBuckets : public Buckets<2047, -1074, 53> {
 public:
  static void add(fixed::Wide* places, double x) {
    const DoubleParts parts(x);
    places[parts.field << 1 | parts.negative] += parts.mantissa;
  }
};

class ProductBuckets : public Buckets<4093, -2148, 106> {
 public:
  static void add(fixed::Wide* places, double x, double y) {
    const DoubleParts a(x);
    const DoubleParts b(y);
    places[(a.field + b.field) << 1 | (a.negative ^ b.negative)] += static_cast<fixed::Wide>(a.mantissa) * b.mantissa;
  }
};

}  // namespace masu::cpu
