// SPDX-License-Identifier: Apache-2.0
// Places of quantiles where doubles no longer tell all whole numbers apart, and what lies between two elements where
// NumPy's formula wraps round, overflows or loses digits.
#include "quantile/quantile_rule.h"
#include "elements/stored_float.h"

#include <masu/quantile.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

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
          if (q == 1 && count <= exact) {
            EXPECT_EQ(place.next, count - 1) << to_string(method) << ' ' << count;
          }
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

template <class T>
double at(std::vector<T> data, double q) {
  return quantiles(Device::open("cpu"), ArrayView(data), {&q, 1}).front();
}
template <class T>
double middle(std::vector<T> data) {
  return median(Device::open("cpu"), ArrayView(data));
}

TEST(QuantileRule, IntegersNeitherWrapNorLoseDigits) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr auto odd = static_cast<std::int64_t>(exact) + 1;
  constexpr std::uint64_t most = ~std::uint64_t{0};
  EXPECT_EQ(at<std::int8_t>({127, -128}, 0.5), -0.5);
  EXPECT_EQ(at<std::int16_t>({32767, -1}, 0.5), 16383);
  EXPECT_EQ(at<std::int32_t>({2147483647, -2147483647 - 1}, 0.25), -1073741824.25);
  EXPECT_EQ(at<std::int64_t>({odd, odd + 2}, 0.5), 0x1p53 + 2);
  EXPECT_EQ(at<std::int64_t>({-odd - 2, -odd}, 0.5), -0x1p53 - 2);
  EXPECT_EQ(at<std::int64_t>({Limits::min(), Limits::max()}, 0.5), -0.5);
  EXPECT_EQ(at<std::int64_t>({Limits::min(), Limits::max()}, 0.75), 0x1p62);
  EXPECT_EQ(at<std::int64_t>({Limits::min(), Limits::max()}, 0x1p-70), -0x1p63);
  EXPECT_EQ(at<std::uint64_t>({0, most}, 0.5), 0x1p63);
  EXPECT_EQ(at<std::uint64_t>({0, most}, 0x1p-300), 0x1p-236);
  // 2^53 + 1 lies between two doubles: the least step beyond it decides.
  EXPECT_EQ(at<std::int64_t>({odd, odd + 4}, 0x1p-300), 0x1p53 + 2);
  EXPECT_EQ(at<std::int64_t>({odd, Limits::max()}, 0), 0x1p53);
  EXPECT_EQ(middle<std::int64_t>({odd, odd + 1}), 0x1p53 + 2);
  EXPECT_EQ(middle<std::uint64_t>({most, most - 1}), 0x1p64);
  EXPECT_EQ(middle<std::int64_t>({Limits::min(), Limits::min()}), -0x1p63);
}

TEST(QuantileRule, FloatsDoNotOverflow) {
  constexpr double most = std::numeric_limits<double>::max();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr float single = std::numeric_limits<float>::max();
  EXPECT_EQ(at<double>({-most, most}, 0.5), 0);
  EXPECT_EQ(at<double>({-most, most}, 0.25), -most / 2);
  EXPECT_EQ(at<double>({-most, most}, 1), most);
  EXPECT_EQ(at<float>({-single, single}, 0.75), single / 2);
  EXPECT_EQ(at<Half>({rounded_to<Half>(-65504), rounded_to<Half>(65504)}, 0.75), 32752);
  EXPECT_EQ(at<double>({-most, 0x1p1023}, 0.5), (0x1p1023 - most) / 2);
  EXPECT_EQ(middle<double>({most, most}), most);
  EXPECT_EQ(middle<float>({single, single / 2}), 0.75F * single);
  EXPECT_EQ(at<double>({0, infinity}, 0), 0);
  EXPECT_EQ(at<double>({0, infinity}, 0.5), infinity);
  EXPECT_EQ(at<double>({-infinity, 0}, 0.5), -infinity);
  EXPECT_EQ(at<double>({-infinity, 0}, 1), 0);
  for (const double q : {0.0, 0.3, 0.5, 1.0}) EXPECT_EQ(at<double>({infinity, infinity}, q), infinity);
  EXPECT_TRUE(std::isnan(at<double>({-infinity, infinity}, 0.5)));
  EXPECT_EQ(at<double>({-infinity, infinity}, 0), -infinity);
  EXPECT_EQ(at<double>({-infinity, infinity}, 1), infinity);
  EXPECT_TRUE(std::isnan(at<double>({infinity, std::nan("")}, 1)));
}

TEST(QuantileRule, LiesBetween) {
  std::mt19937_64 random(3);
  for (int turn = 0; turn < 20'000; ++turn) {
    const auto a = static_cast<std::int64_t>(random());
    const auto b = static_cast<std::int64_t>(random() >> (random() % 64));
    const double t = std::ldexp(std::generate_canonical<double, 53>(random), -static_cast<int>(random() % 90));
    const double value = at<std::int64_t>({a, b}, t);
    EXPECT_LE(value, static_cast<double>(std::max(a, b)));
    EXPECT_GE(value, static_cast<double>(std::min(a, b)));
  }
}

}  // namespace
}  // namespace masu
