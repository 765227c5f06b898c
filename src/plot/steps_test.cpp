// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace masu::plot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Data {
  std::vector<double> edges;
  std::vector<std::uint64_t> counts;
  [[nodiscard]] Series series() const {
    Series result;
    result.bins = axis(edges);
    result.counts = counts;
    return result;
  }
};

Axis over(double lo, double hi, bool logarithmic = false) {
  Axis axis;
  axis.lo = lo;
  axis.hi = hi;
  axis.logarithmic = logarithmic;
  return axis;
}

Data random_data(std::mt19937_64& random, std::size_t bins, bool positive) {
  Data data;
  std::uniform_real_distribution<double> value(positive ? 0.001 : -50, 1000);
  for (std::size_t i = 0; i <= bins; ++i) data.edges.push_back(value(random));
  std::sort(data.edges.begin(), data.edges.end());
  for (std::size_t i = 0; i < bins; ++i) data.counts.push_back(random() % 1000);
  return data;
}

TEST(Steps, FewBinsAreDrawnAsTheyAre) {
  const Data data{{0, 1, 3, 10}, {4, 0, 9}};
  const Steps found = steps(data.series(), over(0, 10), 1000, Quantity::counts, 13);
  ASSERT_EQ(found.steps.size(), 3U);
  EXPECT_DOUBLE_EQ(found.steps[1].left, 0.1);
  EXPECT_DOUBLE_EQ(found.steps[1].right, 0.3);
  EXPECT_EQ(found.steps[2].height, 9);
  EXPECT_EQ(found.highest, 9);
  EXPECT_EQ(found.lowest, 4);
  EXPECT_EQ(found.most_in_column, 1U);
}

// The highest of all bins that share more than an end with the column.
TEST(Steps, ManyBinsShowTheHighestOfEachColumn) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 40; ++round) {
    const bool logarithmic = round % 2 == 1;
    const Data data = random_data(random, 500 + static_cast<std::size_t>(round) * 37, logarithmic);
    const Axis axis = over(data.edges.front(), data.edges.back(), logarithmic);
    constexpr std::uint64_t columns = 100;
    const Steps found = steps(data.series(), axis, columns, Quantity::counts, 1);
    ASSERT_EQ(found.steps.size(), columns);
    for (std::uint64_t column = 0; column < columns; ++column) {
      const double left = axis.value(static_cast<double>(column) / columns);
      const double right = axis.value(static_cast<double>(column + 1) / columns);
      std::uint64_t most = 0;
      for (std::size_t i = 0; i < data.counts.size(); ++i)
        if (data.edges[i] < right && data.edges[i + 1] > left) most = std::max(most, data.counts[i]);
      EXPECT_EQ(found.steps[column].height, static_cast<double>(most)) << round << ", column " << column;
    }
  }
}

TEST(Steps, NoCountIsLostOutOfSight) {
  // One bin of a million is not empty, wherever it is.
  const std::uint64_t bins = 1'000'000;
  std::vector<std::uint64_t> counts(bins);
  Series series;
  series.bins = {bins, [](std::uint64_t i) { return static_cast<double>(i); }, Scale::linear};
  for (const std::uint64_t full : {std::uint64_t{0}, bins / 3, bins - 1}) {
    counts[full] = 5;
    series.counts = counts;
    EXPECT_EQ(steps(series, over(0, static_cast<double>(bins)), 700, Quantity::counts, 5).highest, 5) << full;
    counts[full] = 0;
  }
}

TEST(Steps, DensityAndSums) {
  const Data data{{0, 1, 3, 10}, {4, 2, 14}};
  const Steps density = steps(data.series(), over(0, 10), 100, Quantity::density, 20);
  double integral = 0;
  for (const Step& step : density.steps) integral += step.height * (step.right - step.left) * 10;
  EXPECT_NEAR(integral, 1, 1e-12);
  const Steps sums = steps(data.series(), over(0, 10), 100, Quantity::cumulative, 20);
  EXPECT_EQ(sums.steps[0].height, 4);
  EXPECT_EQ(sums.steps[1].height, 6);
  EXPECT_EQ(sums.steps[2].height, 20);
  // Sums of many bins in few columns end at the sum of all.
  std::mt19937_64 random(4);
  const Data many = random_data(random, 5000, false);
  const auto total = std::accumulate(many.counts.begin(), many.counts.end(), std::uint64_t{0});
  const Steps coarse =
      steps(many.series(), over(many.edges.front(), many.edges.back()), 50, Quantity::cumulative, total);
  EXPECT_EQ(coarse.steps.back().height, static_cast<double>(total));
  EXPECT_TRUE(std::is_sorted(coarse.steps.begin(), coarse.steps.end(),
                             [](const Step& a, const Step& b) { return a.height < b.height; }));
}

TEST(Steps, BinsWithoutAPlaceAreToldOf) {
  const Data data{{-infinity, 0, 1, 2, infinity}, {7, 1, 2, 70}};
  EXPECT_EQ(placed(data.series().bins, false).first, 1U);
  EXPECT_EQ(placed(data.series().bins, false).end, 3U);
  EXPECT_EQ(steps(data.series(), over(0, 2), 100, Quantity::counts, 80).unplaced, 77U);
  EXPECT_EQ(steps(data.series(), over(1, 2, true), 100, Quantity::counts, 80).unplaced, 78U);
  const Data nothing{{-infinity, infinity}, {3}};
  EXPECT_EQ(placed(nothing.series().bins, false).end, 0U);
  EXPECT_EQ(steps(nothing.series(), over(0, 1), 100, Quantity::counts, 3).unplaced, 3U);
}

TEST(Steps, EqualRatiosAreALogarithmicAxis) {
  std::vector<double> even;
  std::vector<double> ratios;
  for (int i = 0; i <= 50; ++i) {
    even.push_back(1 + i * 20);
    ratios.push_back(std::pow(10, -3 + i * 0.12));
  }
  EXPECT_FALSE(is_logarithmic(axis(even)));
  EXPECT_TRUE(is_logarithmic(axis(ratios)));
  EXPECT_TRUE(is_logarithmic(axis({1, 10, 100, 1000})));
  EXPECT_FALSE(is_logarithmic(axis({0, 10, 100, 1000})));
  BinAxis asked = axis(even);
  asked.scale = Scale::logarithmic;
  EXPECT_TRUE(is_logarithmic(asked));
}

TEST(Steps, ARangeHasALength) {
  for (const auto& [lo, hi] : {std::pair{0.0, 0.0}, {5.0, 5.0}, {1e300, 1e300}, {1e-300, 1e-300}, {-3.0, -3.0}}) {
    const auto [from, to] = widened(lo, hi, false);
    EXPECT_LT(from, to);
    EXPECT_LE(from, lo);
    EXPECT_GE(to, hi);
  }
  EXPECT_EQ(widened(1, 2, false), std::pair(1.0, 2.0));
  EXPECT_LT(widened(3, 3, true).first, 3);
}

}  // namespace
}  // namespace masu::plot
