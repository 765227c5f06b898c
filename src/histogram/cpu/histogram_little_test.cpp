// SPDX-License-Identifier: Apache-2.0
// What the Python package calls beside the public functions agrees with the public functions.
#include "histogram/cpu/little_data.h"

#include <masu/histogram.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
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

}  // namespace
}  // namespace masu
