// SPDX-License-Identifier: Apache-2.0
// Totals of weights by integers, bit for bit against an exact sum for each.
#include "expect_error.h"

#include <gtest/gtest.h>
#include <masu/sum.h>
#include <masu/weighted_histogram.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace masu {
namespace {

template <class X, class W>
void expect_exact(const std::vector<X>& indices, const std::vector<W>& weights, std::uint64_t least = 0) {
  const auto found = weighted_bincount(ArrayView(indices), ArrayView(weights), least);
  ASSERT_TRUE(found);
  const auto highest = static_cast<std::uint64_t>(*std::max_element(indices.begin(), indices.end()));
  ASSERT_EQ(found->count, std::max(highest + 1, least));
  std::vector<ExactSum> expected(found->count);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    expected[static_cast<std::size_t>(indices[i])].add(static_cast<double>(weights[i]));
  }
  for (std::uint64_t bin = 0; bin < found->count; ++bin) {
    const double total = expected[bin].sum();
    if (std::isnan(total)) {
      EXPECT_TRUE(std::isnan(found->totals[bin])) << bin;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(found->totals[bin]), std::bit_cast<std::uint64_t>(total)) << bin;
    }
  }
}

template <class X>
std::vector<X> indices_below(std::uint64_t bins, std::size_t count) {
  std::mt19937_64 random(count);
  std::vector<X> indices(count);
  for (X& index : indices) index = static_cast<X>(random() % bins);
  return indices;
}

TEST(WeightedBincount, EveryWayOfAdding) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const std::size_t count : {1, 2, 511, 513, 20000}) {
    std::vector<double> near(count);
    std::vector<double> wide(count);
    std::vector<float> narrow(count);
    std::vector<std::int32_t> whole(count);
    for (std::size_t i = 0; i < count; ++i) {
      near[i] = normal(random);
      wide[i] = std::ldexp(normal(random), static_cast<int>(random() % 1200) - 600);
      narrow[i] = static_cast<float>(normal(random));
      whole[i] = static_cast<std::int32_t>(random());
    }
    for (const std::uint64_t bins : {1, 7, 100, 20000}) {  // more elements than bins, and fewer
      expect_exact(indices_below<std::int32_t>(bins, count), near);
      expect_exact(indices_below<std::uint64_t>(bins, count), wide);
      expect_exact(indices_below<std::int64_t>(bins, count), narrow, 30000);
      expect_exact(indices_below<std::uint8_t>(std::min<std::uint64_t>(bins, 200), count), whole);
    }
  }
}

TEST(WeightedBincount, CancellingAndWhatIsNotFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::int8_t> one(4, 0);
  expect_exact(one, std::vector<double>{1e16, 1, 1, -1e16});
  expect_exact(one, std::vector<double>{1e308, 1e308, -1e308, -1e308});
  expect_exact(one, std::vector<double>{5e-324, -0.0, 1e300, -1e300});
  expect_exact(one, std::vector<double>{-0.0, -0.0, -0.0, -0.0});
  expect_exact(std::vector<std::int8_t>{0, 1, 2, 2}, std::vector<double>{infinity, nan, infinity, -infinity});
  expect_exact(std::vector<std::int8_t>{3, 1, 3, 0}, std::vector<double>{-infinity, 1, 2, 3});
}

TEST(WeightedBincount, OnThreads) {
  constexpr std::size_t count = 1200007;
  std::vector<double> weights(count);
  std::mt19937_64 random(9);
  for (double& weight : weights) weight = std::ldexp(static_cast<double>(random() >> 11), -53) - 0.25;
  expect_exact(indices_below<std::uint16_t>(300, count), weights);
}

TEST(WeightedBincount, WhatItLeavesToOthers) {
  const std::vector<double> weights = {1, 2};
  const auto of = [&](const auto& indices, std::uint64_t least = 0) {
    return weighted_bincount(ArrayView(indices), ArrayView(weights), least).has_value();
  };
  EXPECT_TRUE(of(std::vector<std::int32_t>{0, 3}));
  EXPECT_FALSE(of(std::vector<std::int32_t>{0, -1}));
  EXPECT_FALSE(of(std::vector<std::int64_t>{0, std::int64_t{1} << 31}));
  EXPECT_FALSE(of(std::vector<std::uint64_t>{~std::uint64_t{0}, 1}));
  EXPECT_FALSE(of(std::vector<float>{0, 1}));
  EXPECT_FALSE(of(std::vector<std::int32_t>{0, 1}, (std::uint64_t{1} << 31) + 1));
  const std::vector<std::int32_t> none;
  EXPECT_FALSE(weighted_bincount(ArrayView(none), ArrayView(none)));
  const std::vector<std::int32_t> two = {0, 1};
  EXPECT_FALSE(weighted_bincount(ArrayView(two), ArrayView(std::vector<std::int64_t>{1, 2})));
  EXPECT_FALSE(weighted_bincount(ArrayView(two), ArrayView(std::vector<Half>(2))));
  MASU_EXPECT_ERROR((void)weighted_bincount(ArrayView(none), ArrayView(weights)), invalid_argument,
                    "as many elements, got 0 and 2");
}

}  // namespace
}  // namespace masu
