// SPDX-License-Identifier: Apache-2.0
#include "histogram/bins/bin_rule.h"

#include "histogram/bins/logarithmic_edges_test_data.h"

#include <masu/bins.h>
#include <masu/error.h>
#include <masu/histogram.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace masu {
namespace {

TEST(LogarithmicEdgesTest, rounded_as_rational_arithmetic_says) {
  for (const test::LogarithmicCase& c : test::logarithmic_cases) {
    std::uint64_t digest = 0xcbf29ce484222325;
    for (const double edge : logarithmic_edges(c.n, c.lo, c.hi)) {
      digest = (digest ^ std::bit_cast<std::uint64_t>(edge)) * 0x100000001b3;
    }
    EXPECT_EQ(digest, c.edges) << c.n << " " << c.lo << ":" << c.hi;
  }
}

TEST(LogarithmicEdgesTest, whole_powers_are_exact) {
  EXPECT_EQ(logarithmic_edges(3, 1, 1000), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(logarithmic_edges(4, 2, 32), (std::vector<double>{2, 4, 8, 16, 32}));
  EXPECT_EQ(logarithmic_edges(2, 9, 25), (std::vector<double>{9, 15, 25}));
  EXPECT_EQ(logarithmic_edges(1, 0.1, 0.3), (std::vector<double>{0.1, 0.3}));
  const std::vector<double> decades = logarithmic_edges(22, 1, 1e22);
  double power = 1;
  for (const double edge : decades) {
    EXPECT_EQ(edge, power);
    power *= 10;
  }
  const std::vector<double> binary = logarithmic_edges(2097, std::numeric_limits<double>::denorm_min(), 0x1p1023);
  for (int i = 0; i <= 2097; ++i) ASSERT_EQ(binary[static_cast<std::size_t>(i)], std::ldexp(1, i - 1074));
}

TEST(LogarithmicEdgesTest, many_edges_are_near_the_library_s_and_symmetric) {
  // (lo, hi) times a power of two gives the same edges times that power; each is within rounding of exp and log.
  const std::uint64_t n = 20000;
  const std::vector<double> edges = logarithmic_edges(n, 0.003, 5e6);
  const std::vector<double> scaled = logarithmic_edges(n, 0.003 * 0x1p-700, 5e6 * 0x1p-700);
  for (std::uint64_t i = 0; i <= n; ++i) {
    ASSERT_EQ(edges[i], scaled[i] * 0x1p700);
    const double part = static_cast<double>(i) / static_cast<double>(n);
    ASSERT_NEAR(edges[i] / (0.003 * std::exp(std::log(5e6 / 0.003) * part)), 1, 1e-13);
  }
  EXPECT_TRUE(std::is_sorted(edges.begin(), edges.end()));
}

TEST(LogarithmicEdgesTest, bins_of_them) {
  const std::vector<double> data{0.5, 1, 9.99, 10, 99, 100, 1000, 1001, -1, 0};
  const Histogram h = histogram(Device::open("cpu"), ArrayView(data), Bins::logarithmic(3, 1, 1000));
  EXPECT_EQ(std::vector<std::uint64_t>(h.counts().begin(), h.counts().end()), (std::vector<std::uint64_t>{2, 2, 2}));
  EXPECT_EQ(h.below(), 3U);
  EXPECT_EQ(h.above(), 1U);
}

TEST(LogarithmicEdgesTest, refused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(Bins::logarithmic(0, 1, 2), Error);
  EXPECT_THROW(Bins::logarithmic(3, 0, 2), Error);
  EXPECT_THROW(Bins::logarithmic(3, -1, 2), Error);
  EXPECT_THROW(Bins::logarithmic(3, 2, 2), Error);
  EXPECT_THROW(Bins::logarithmic(3, 2, 1), Error);
  EXPECT_THROW(Bins::logarithmic(3, nan, 1), Error);
  EXPECT_THROW(Bins::logarithmic(3, 1, nan), Error);
  EXPECT_THROW(Bins::logarithmic(3, 1, INFINITY), Error);
  EXPECT_THROW(Bins::logarithmic(2, 1, std::nextafter(1, 2)), Error);
  EXPECT_THROW(Bins::logarithmic(100, 1, 1 + 1e-14), Error);
  EXPECT_THROW(Bins::logarithmic(std::uint64_t{1} << 31, 1, 1 + 1e-8), Error);  // told without computing them
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_THROW(Bins::logarithmic(10, least, 10 * least), Error);
  EXPECT_EQ(Bins::logarithmic(1, least, 2 * least).size(), 1U);
}

}  // namespace
}  // namespace masu
