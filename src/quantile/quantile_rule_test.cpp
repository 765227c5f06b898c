// SPDX-License-Identifier: Apache-2.0
// Places of quantiles where doubles no longer tell all whole numbers apart.
#include "quantile/quantile_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace masu {
namespace {

constexpr std::uint64_t exact = std::uint64_t{1} << 53;

TEST(QuantileRule, PlacesAreThoseOfElements) {
  for (int number = 0; number <= static_cast<int>(QuantileMethod::nearest); ++number) {
    const auto method = static_cast<QuantileMethod>(number);
    for (const std::uint64_t about : {std::uint64_t{3}, exact, 2 * exact, 4 * exact, std::uint64_t{1} << 63}) {
      for (std::uint64_t count = about - 2; count < about + 8; ++count) {
        for (const double q : {0.0, 0x1p-60, 0.25, 0.5, 1 - 0x1p-53, 1.0}) {
          const QuantilePlace place = quantile_place(method, count, q);
          EXPECT_LT(place.next, count) << to_string(method) << ' ' << q;
          EXPECT_LE(place.previous, place.next) << to_string(method) << ' ' << q;
          if (q == 1 && count <= exact) EXPECT_EQ(place.next, count - 1) << to_string(method) << ' ' << count;
        }
      }
    }
  }
}

TEST(QuantileRule, TheMiddleIsExact) {
  for (const std::uint64_t about :
       {std::uint64_t{2}, std::uint64_t{1} << 40, exact, 8 * exact, std::uint64_t{1} << 63}) {
    for (std::uint64_t count = about - 1; count < about + 9; ++count) {
      EXPECT_EQ(quantile_place(QuantileMethod::lower, count, 0.5).previous, (count - 1) / 2);
      EXPECT_EQ(quantile_place(QuantileMethod::higher, count, 0.5).previous, count / 2);
      if (count > exact) continue;
      // NumPy's rule.
      const double spread = static_cast<double>(count - 1) * 0.5;
      EXPECT_EQ(static_cast<double>((count - 1) / 2), std::floor(spread));
      EXPECT_EQ(static_cast<double>(count / 2), std::ceil(spread));
    }
  }
}

}  // namespace
}  // namespace masu
