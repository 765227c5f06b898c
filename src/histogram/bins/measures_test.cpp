// SPDX-License-Identifier: Apache-2.0
// Density, cumulative counts, equalisation and Otsu's threshold against independent arithmetic.
#include <masu/histogram.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace masu {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

// The histogram of as many values of each bin as `counts` says; bin i holds the whole number i.
Histogram of_counts(const std::vector<std::uint64_t>& counts, const Bins& bins) {
  std::vector<double> data;
  for (std::size_t i = 0; i < counts.size(); ++i) data.insert(data.end(), counts[i], static_cast<double>(i));
  return histogram(Device::open("cpu"), ArrayView(data), bins);
}
Histogram of_counts(const std::vector<std::uint64_t>& counts) {
  return of_counts(counts, Bins::even(counts.size(), 0, static_cast<double>(counts.size())));
}

TEST(MeasuresTest, density_as_numpy_computes_it) {
  // numpy.histogram([0.1, 0.2, 0.2, 0.75, 3], [0, 0.15, 0.3, 0.9], density=True)
  const std::vector<double> data{0.1, 0.2, 0.2, 0.75, 3};
  const Histogram h = histogram(Device::open("cpu"), ArrayView(data), Bins::edges({0, 0.15, 0.3, 0.9}));
  EXPECT_EQ(h.density(), (std::vector<double>{1.6666666666666667, 3.3333333333333335, 0.41666666666666663}));
  // numpy.histogram(numpy.float32([0.1, 0.2, 0.2, 0.75]), 3, density=True): widths of f32.
  const std::vector<float> floats{0.1F, 0.2F, 0.2F, 0.75F};
  const Histogram f = histogram(Device::open("cpu"), ArrayView(floats), Bins::even(3));
  EXPECT_EQ(f.density(), (std::vector<double>{3.4615384297963434, 0.0, 1.1538459845548799}));
  // The same of numpy.float16.
  const std::vector<Half> halves{{0x2e66}, {0x3266}, {0x3266}, {0x3a00}};
  const Histogram g = histogram(Device::open("cpu"), ArrayView(halves), Bins::even(3));
  EXPECT_EQ(g.density(), (std::vector<double>{3.4614084507042255, 0.0, 1.1531531531531531}));
}

TEST(MeasuresTest, density_without_values_or_width) {
  const std::vector<double> data{1, 1};
  const Histogram h = histogram(Device::open("cpu"), ArrayView(data), Bins::edges({0, 1, 1}));
  EXPECT_EQ(h.density().front(), 0);
  EXPECT_EQ(h.density().back(), INFINITY);
  for (const double x : of_counts({0, 0}).density()) EXPECT_TRUE(std::isnan(x));
}

TEST(MeasuresTest, cumulative) {
  EXPECT_EQ(of_counts({3, 0, 2, 1}).cumulative(), (std::vector<std::uint64_t>{3, 3, 5, 6}));
  EXPECT_EQ(of_counts({0}).cumulative(), (std::vector<std::uint64_t>{0}));
}

TEST(MeasuresTest, equalization_known) {
  EXPECT_EQ(equalization_map(of_counts({0, 1, 0, 1, 2}), 4), (std::vector<std::uint16_t>{0, 0, 0, 1, 3}));
  EXPECT_EQ(equalization_map(of_counts({0, 7, 0})), (std::vector<std::uint16_t>{0, 0, 0}));
  EXPECT_EQ(equalization_map(of_counts({1, 1, 1}), 2), (std::vector<std::uint16_t>{0, 1, 1}));  // half up
  EXPECT_EQ(equalization_map(of_counts({5, 5}), 65536), (std::vector<std::uint16_t>{0, 65535}));
}

TEST(MeasuresTest, equalization_is_the_nearest_whole_number) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::uint64_t> counts(1 + random() % 300);
    for (std::uint64_t& count : counts) count = random() % 3 == 0 ? 0 : random() % 50;
    counts.back() += 1;
    const auto levels = static_cast<std::uint32_t>(2 + random() % 65535);
    const std::vector<std::uint16_t> map = equalization_map(of_counts(counts), levels);
    const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    const std::uint64_t least = *std::find_if(counts.begin(), counts.end(), [](auto c) { return c != 0; });
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      sum += counts[i];
      if (sum < least || total == least) {
        EXPECT_EQ(map[i], 0);
        continue;
      }
      // |map - exact| <= 1/2, and the exact value is not map + 1/2.
      const Wide off = Wide{2} * map[i] * (total - least) - Wide{2} * (sum - least) * (levels - 1);
      EXPECT_LE(off, Wide{total - least});
      EXPECT_GT(off, -Wide{total - least});
    }
  }
}

TEST(MeasuresTest, refused) {
  EXPECT_THROW(equalization_map(of_counts({1, 2}), 1), Error);
  EXPECT_THROW(equalization_map(of_counts({1, 2}), 65537), Error);
  EXPECT_THROW(equalization_map(of_counts({0, 0})), Error);
  EXPECT_THROW(otsu_threshold(of_counts({0, 0})), Error);
  EXPECT_THROW(otsu_threshold(of_counts({0, 5, 0})), Error);
  EXPECT_THROW(otsu_threshold(of_counts({1, 5}, Bins::edges({-INFINITY, 1, 2}))), Error);
}

// Every cut of whole-numbered edges, as fractions that 128 bits hold.
std::size_t best_cut(const std::vector<std::uint64_t>& counts, const std::vector<std::int64_t>& edges) {
  std::size_t best = 0;
  UnsignedWide best_square = 0;
  UnsignedWide best_weights = 1;
  for (std::size_t cut = 1; cut < counts.size(); ++cut) {
    Wide w = 0, s = 0, v = 0, t = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      (i < cut ? w : v) += counts[i];
      (i < cut ? s : t) += Wide{edges[i] + edges[i + 1]} * static_cast<std::int64_t>(counts[i]);
    }
    if (w == 0 || v == 0) continue;
    const Wide root = w * t - v * s;
    const auto square = static_cast<UnsignedWide>(root * root);
    const auto weights = static_cast<UnsignedWide>(w * v);
    if (best != 0 && square * best_weights <= best_square * weights) continue;
    best = cut;
    best_square = square;
    best_weights = weights;
  }
  return best;
}

TEST(MeasuresTest, otsu_as_every_cut_compared_exactly) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 400; ++round) {
    const std::size_t n = 2 + random() % 30;
    std::vector<std::uint64_t> counts(n);
    const std::uint64_t most = 1 + random() % 20;
    for (std::uint64_t& count : counts) count = random() % 2 == 0 ? 0 : random() % most;
    counts[random() % n] += 1;
    if (round % 3 == 0) {  // symmetric: equal maxima
      for (std::size_t i = 0; i < n; ++i) counts[n - 1 - i] = counts[i];
    }
    counts.front() += 1;
    counts.back() += 1;
    const std::int64_t offset = round % 2 == 0 ? 0 : -static_cast<std::int64_t>(n / 2);
    std::vector<std::int64_t> edges(n + 1);
    std::iota(edges.begin(), edges.end(), offset);
    std::vector<double> data;
    for (std::size_t i = 0; i < n; ++i) data.insert(data.end(), counts[i], static_cast<double>(edges[i]));
    const Bins bins = Bins::even(n, static_cast<double>(edges.front()), static_cast<double>(edges.back()));
    const Histogram h = histogram(Device::open("cpu"), ArrayView(data), bins);
    ASSERT_EQ(otsu_threshold(h), static_cast<double>(edges[best_cut(counts, edges)])) << "round " << round;
  }
}

TEST(MeasuresTest, otsu_known) {
  EXPECT_EQ(otsu_threshold(of_counts({9, 1, 0, 0, 1, 9})), 2);
  EXPECT_EQ(otsu_threshold(of_counts({1, 1})), 1);
  EXPECT_EQ(otsu_threshold(of_counts({1, 1, 1})), 1);  // the least of two equal maxima
  EXPECT_EQ(otsu_threshold(of_counts({4, 0, 4}, Bins::edges({-1e300, 1e-300, 1, 1e300}))), 1e-300);
}

}  // namespace
}  // namespace masu
