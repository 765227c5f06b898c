// SPDX-License-Identifier: Apache-2.0
// What the Python package calls for few elements agrees with the public functions.
#include "histogram/cpu/little_data.h"

#include <masu/histogram.h>
#include <masu/weighted_histogram.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace masu {
namespace {

const Device& cpu() {
  static const Device device = Device::open("cpu");
  return device;
}

TEST(LittleData, NumbersAreCounted) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {1, 2, 7, 64, 1000}) {
    std::vector<std::uint64_t> numbers(count);
    std::uint64_t greatest = 0;
    for (std::uint64_t& number : numbers) greatest = std::max(greatest, number = random() % 50);
    EXPECT_EQ(greatest_of(numbers), greatest);
    std::vector<std::int64_t> counts(50);
    count_numbers(numbers, counts.data());
    const Histogram expected = histogram(cpu(), ArrayView(numbers), Bins::integers(50));
    EXPECT_EQ(std::vector<std::uint64_t>(counts.begin(), counts.end()),
              std::vector<std::uint64_t>(expected.counts().begin(), expected.counts().end()));
    numbers[count / 2] = static_cast<std::uint64_t>(-3);
    EXPECT_EQ(greatest_of(numbers), static_cast<std::uint64_t>(-3));
  }
}

TEST(LittleData, EvenBinsAreTakenWhereTheirEdgesAreThose) {
  std::vector<double> edges = bin_edges(Bins::even(10, 0, 3), Dtype::f64);
  EXPECT_EQ(bins_with_edges({0, 3, false}, false, edges, Dtype::f64, false)->kind(), Bins::Kind::even);
  edges[4] = std::nextafter(edges[4], 9);
  EXPECT_EQ(bins_with_edges({0, 3, false}, false, edges, Dtype::f64, false)->kind(), Bins::Kind::edges);
  EXPECT_FALSE(bins_with_edges({0, 3, false}, false, edges, Dtype::f16, false));
  EXPECT_TRUE(bins_with_edges({0, 3, false}, false, edges, Dtype::f16, true));
  // f32 edges of data, f64 edges of a column of several.
  edges = bin_edges(Bins::even(7, ValueRange{0, 1, false}), Dtype::f32);
  EXPECT_EQ(bins_with_edges({0, 1, false}, true, edges, Dtype::f32, false)->kind(), Bins::Kind::even);
  EXPECT_EQ(bins_with_edges({0, 1, false}, false, edges, Dtype::f32, true)->kind(), Bins::Kind::edges);
  // Bins without width, which the library refuses.
  const double end = std::nextafter(1.0, 2);
  EXPECT_EQ(bins_with_edges({1, end, false}, false, std::vector<double>{1, 1, end}, Dtype::f64, false)->kind(),
            Bins::Kind::edges);
}

TEST(LittleData, EdgesThatAreNoUse) {
  EXPECT_TRUE(EdgeSearch(ArrayView(std::vector{0.0, 1.0, 1.0, 2.0})).are_usable());
  EXPECT_FALSE(EdgeSearch(ArrayView(std::vector{0.0, 2.0, 1.0, 3.0})).are_usable());
  EXPECT_FALSE(EdgeSearch(ArrayView(std::vector{1.0, 1.0})).are_usable());
  EXPECT_FALSE(EdgeSearch(ArrayView(std::vector{0.0, std::numeric_limits<double>::infinity()})).are_usable());
}

template <class T, class W>
void compare_weights(std::size_t count, std::uint64_t bins, bool as_doubles) {
  std::mt19937_64 random(count + bins);
  std::vector<T> x(count);
  std::vector<T> y(count);
  std::vector<W> weights(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<T>(static_cast<double>(random() % 1300) - 100);
    y[i] = static_cast<T>(static_cast<double>(random() % 64) / 4);
    weights[i] = static_cast<W>(std::ldexp(static_cast<double>(random() % 4096), static_cast<int>(random() % 20)));
    if (std::is_floating_point_v<W> && random() % 900 == 0) weights[i] = static_cast<W>(HUGE_VAL);
  }
  const std::vector<double> edges = bin_edges(Bins::even(bins, 0, 1000), Dtype::f64);
  const std::vector<double> others{0, 1, 2.5, 4, 10};
  const EdgeSearch searches[] = {EdgeSearch(ArrayView(edges)), EdgeSearch(ArrayView(others))};
  const Bins between[] = {Bins::edges(edges), Bins::edges(others)};
  const ArrayView columns[] = {ArrayView(x), ArrayView(y)};
  for (const std::size_t used : {1, 2}) {
    const WeightedHistogram expected = weighted_joint_histogram(
        cpu(), std::span(columns).first(used), ArrayView(weights), std::span(between).first(used), {.wrap = true});
    const std::uint64_t all = expected.totals().size();
    const auto check = [&]<class Total>(std::span<const Total> wanted) {
      std::vector<Total> totals(all, Total{7});
      weigh_few(std::span(columns).first(used), std::span(searches).first(used), ArrayView(weights),
                {dtype_of<Total>, totals.data(), all});
      EXPECT_EQ(totals, std::vector<Total>(wanted.begin(), wanted.end())) << count << " in " << all;
    };
    if (as_doubles || std::is_floating_point_v<W>) check(expected.totals());
    else if (std::is_signed_v<W>) check(expected.signed_totals());
    else check(expected.unsigned_totals());
  }
}

TEST(LittleData, TotalsOfWeights) {
  for (const std::size_t count : {0, 1, 10, 257, 1100, 5000}) {
    for (const std::uint64_t bins : {1, 10, 300, 40000}) {
      compare_weights<double, double>(count, bins, false);
      compare_weights<float, float>(count, bins, false);
      compare_weights<std::int32_t, std::int64_t>(count, bins, false);
      compare_weights<std::int16_t, std::uint8_t>(count, bins, false);
      compare_weights<double, std::int32_t>(count, bins, true);
    }
  }
}

}  // namespace
}  // namespace masu
