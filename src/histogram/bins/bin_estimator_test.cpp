// SPDX-License-Identifier: Apache-2.0
// NumPy's estimators: against NumPy's numbers, in pieces of any size and order, and where there is little to go by.
#include "elements/stored_float.h"
#include "histogram/bins/bin_estimator_test_data.h"
#include "histogram/bins/bin_rule.h"

#include <masu/bins.h>
#include <masu/histogram.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace masu {
namespace {

// SplitMix64 and the shapes, as tests/tables/bins.py has them.
class EstimatorSamples {
 public:
  explicit EstimatorSamples(std::uint64_t seed) : state_(seed) {}

  double next(int shape) {
    const double a = unit();
    const double b = unit();
    const double c = unit();
    const std::array<double, 4> shapes{a, (a + b + c) / 3, a * a * a * a, std::floor(a * 5) / 5};
    return shapes[static_cast<std::size_t>(shape)];
  }

 private:
  double unit() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  std::uint64_t state_;
};

template <class T>
T from_double(double x) {
  if constexpr (is_stored<T>) {
    return rounded_to<T>(x);
  } else {
    return static_cast<T>(std::is_integral_v<T> ? std::floor(x) : x);
  }
}

std::vector<std::byte> samples(Dtype dtype, std::uint64_t seed, int shape, std::uint64_t n, double lo, double width) {
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    EstimatorSamples random(seed);
    std::vector<std::byte> bytes(n * sizeof(T));
    for (std::uint64_t i = 0; i < n; ++i) {
      const T x = from_double<T>(lo + width * random.next(shape));
      std::memcpy(bytes.data() + i * sizeof(T), &x, sizeof(T));
    }
    return bytes;
  });
}

struct Found {
  Bins bins;
  int passes;
};

// In pieces of `piece` elements, the last one first when `reversed`.
Found estimate(const ArrayView& data, const Bins& bins, std::uint64_t piece, bool reversed = false) {
  BinEstimator estimator(data.dtype, bins);
  const std::uint64_t pieces = (data.count + piece - 1) / piece;
  int passes = 0;
  do {
    ++passes;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const std::uint64_t first = (reversed ? pieces - 1 - i : i) * piece;
      estimator.add(ArrayView(data.dtype, static_cast<const std::byte*>(data.data) + first * size_of(data.dtype),
                              std::min(piece, data.count - first)));
    }
  } while (estimator.next_pass());
  return {estimator.bins(), passes};
}

TEST(BinEstimatorTest, numbers_of_numpy) {
  for (const test::EstimatorCase& c : test::estimator_cases) {
    const std::vector<std::byte> bytes = samples(c.dtype, c.seed, c.shape, c.n, c.lo, c.width);
    const ArrayView data(c.dtype, bytes.data(), c.n);
    const Bins bins =
        c.given ? Bins::automatic(c.estimator, c.lo + c.width / 4, c.lo + c.width / 2) : Bins::automatic(c.estimator);
    const Found found = estimate(data, bins, c.n);
    EXPECT_EQ(found.bins.size(), c.bins) << to_string(c.estimator) << " " << to_string(c.dtype) << " n=" << c.n
                                         << " seed=" << c.seed << " shape=" << c.shape;
    EXPECT_LE(found.passes, 4);
    EXPECT_EQ(estimate(data, bins, c.n / 3 + 1, true).bins.size(), c.bins);
  }
}

template <class T>
std::uint64_t bins_for(const std::vector<T>& data, Estimator estimator) {
  return estimate(ArrayView(data), Bins::automatic(estimator), std::max<std::size_t>(data.size(), 1)).bins.size();
}

constexpr std::array estimators{Estimator::automatic, Estimator::fd,   Estimator::doane,   Estimator::scott,
                                Estimator::stone,     Estimator::rice, Estimator::sturges, Estimator::sqrt};

TEST(BinEstimatorTest, little_to_go_by) {
  for (const Estimator estimator : estimators) {
    EXPECT_EQ(bins_for(std::vector<double>{}, estimator), 1U);
    EXPECT_EQ(bins_for(std::vector<double>{3}, estimator), 1U);
    EXPECT_EQ(bins_for(std::vector<float>(1000, 0.1F), estimator), 1U);
    EXPECT_EQ(bins_for(std::vector<std::int64_t>(10, -5), estimator), 1U);
    EXPECT_EQ(bins_for(std::vector<double>{NAN, INFINITY, -INFINITY}, estimator), 1U);
    EXPECT_EQ(bins_for(std::vector<double>{0.0, -0.0}, estimator), 1U);
  }
  const Found nothing = estimate(ArrayView(std::vector<float>{}), Bins::automatic(Estimator::fd), 1);
  const BinRule rule(nothing.bins, Dtype::f32, false);
  EXPECT_EQ(rule.edge(0), 0);
  EXPECT_EQ(rule.edge(1), 1);
  const Found outside = estimate(ArrayView(std::vector<float>{5}), Bins::automatic(Estimator::fd, 0, 2), 1);
  EXPECT_EQ(outside.bins.size(), 1U);
  EXPECT_EQ(BinRule(outside.bins, Dtype::f32, false).edge(1), 2);
}

TEST(BinEstimatorTest, what_is_not_finite_is_ignored) {
  std::vector<double> data;
  EstimatorSamples random(8);
  for (int i = 0; i < 1000; ++i) data.push_back(random.next(1));
  std::vector<double> mixed = data;
  for (std::size_t i = 0; i < mixed.size(); i += 7) mixed.insert(mixed.begin() + static_cast<std::ptrdiff_t>(i), NAN);
  mixed.push_back(INFINITY);
  mixed.push_back(-INFINITY);
  for (const Estimator estimator : estimators) EXPECT_EQ(bins_for(mixed, estimator), bins_for(data, estimator));
}

TEST(BinEstimatorTest, integers_have_no_narrower_bins_than_one) {
  const std::vector<std::uint8_t> data{0, 0, 0, 1, 2, 3, 3, 4, 5};
  EXPECT_EQ(bins_for(data, Estimator::automatic), 5U);
  const std::vector<std::int32_t> dense(100000, 0);
  std::vector<std::int32_t> two = dense;
  two.back() = 3;
  EXPECT_EQ(bins_for(two, Estimator::sqrt), 3U);
}

// Large enough for threads; the pieces must not matter, and the range of even(n) is the data's.
TEST(BinEstimatorTest, threads_and_pieces_do_not_matter) {
  std::vector<float> data(1 << 21);
  EstimatorSamples random(4);
  for (float& x : data) x = static_cast<float>(random.next(1) * 20 - 5);
  for (const Estimator estimator : {Estimator::automatic, Estimator::scott, Estimator::doane}) {
    const Bins bins = Bins::automatic(estimator);
    const std::uint64_t whole = estimate(ArrayView(data), bins, data.size()).bins.size();
    EXPECT_EQ(estimate(ArrayView(data), bins, 100003).bins.size(), whole);
  }
  const Found even = estimate(ArrayView(data), Bins::even(7), 5000, true);
  EXPECT_EQ(even.passes, 1);
  const BinRule rule(even.bins, Dtype::f32, false);
  EXPECT_EQ(rule.edge(0), static_cast<double>(*std::min_element(data.begin(), data.end())));
  EXPECT_EQ(rule.edge(7), static_cast<double>(*std::max_element(data.begin(), data.end())));
  EXPECT_TRUE(rule.own_arithmetic);
}

TEST(BinEstimatorTest, quartiles_of_wide_keys) {
  // Quartiles -2^62 and 2^62 - 1 of i64: all four digits of 16 bits matter. fd: 2 * iqr / n^(1/3).
  std::vector<std::int64_t> data;
  for (std::int64_t i = 0; i < 1001; ++i) data.push_back((i - 500) * ((std::int64_t{1} << 53) + 12345));
  const double iqr = 500.0 * 9007199254753337.0;
  const double width = 2 * iqr * std::pow(1001.0, -1.0 / 3.0);
  EXPECT_EQ(bins_for(data, Estimator::fd), static_cast<std::uint64_t>(std::ceil(2 * iqr / width)));
  std::shuffle(data.begin(), data.end(), std::mt19937_64(1));
  EXPECT_EQ(estimate(ArrayView(data), Bins::automatic(Estimator::fd), 10).passes, 4);
}

// A range that is wider than the greatest number has the bins of the same shape in a narrower one.
TEST(BinEstimatorTest, wider_than_the_greatest_number) {
  std::vector<double> narrow;
  for (int i = 0; i < 60; ++i) narrow.push_back((i % 2 == 0 ? 1.0 : -1.0) * (1 + i % 7) / 7);
  for (const double scale : {0x1p1022, std::numeric_limits<double>::max()}) {
    std::vector<double> wide;
    for (const double x : narrow) wide.push_back(x * scale);
    for (const Estimator estimator : estimators) {
      EXPECT_EQ(bins_for(wide, estimator), bins_for(narrow, estimator)) << to_string(estimator);
      const Histogram h = histogram(Device::open("cpu"), ArrayView(wide), Bins::automatic(estimator));
      EXPECT_EQ(h.below() + h.above(), 0U);
    }
  }
  // 4 values: sqrt(4) and log2(4) + 1 bins.
  EXPECT_EQ(bins_for(std::vector<double>{-1.7e308, 1.7e308, 0, 0}, Estimator::sqrt), 2U);
  EXPECT_EQ(bins_for(std::vector<double>{-1.7e308, 1.7e308, 0, 0}, Estimator::sturges), 3U);
}

TEST(BinEstimatorTest, near_integers_beyond_the_numbers_of_f64) {
  std::vector<std::int64_t> data(20);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = (std::int64_t{1} << 60) + static_cast<std::int64_t>(i);
  for (const Estimator estimator : estimators) {
    const Histogram h = histogram(Device::open("cpu"), ArrayView(data), Bins::automatic(estimator));
    EXPECT_EQ(h.below() + h.above(), 0U) << to_string(estimator);
    EXPECT_EQ(h.size(), bins_for(data, estimator));
  }
  EXPECT_EQ(bins_for(data, Estimator::sqrt), 5U);  // 19 / (19 / sqrt(20)), rounded up
}

TEST(BinEstimatorTest, histogram_takes_them) {
  std::vector<double> data;
  EstimatorSamples random(2);
  for (int i = 0; i < 5000; ++i) data.push_back(random.next(2));
  const Device cpu = Device::open("cpu");
  const Histogram h = histogram(cpu, ArrayView(data), Bins::automatic(Estimator::fd));
  EXPECT_EQ(h.size(), bins_for(data, Estimator::fd));
  EXPECT_EQ(h.n(), data.size());
  const Buffer<double> buffer = cpu.upload(data);
  EXPECT_EQ(histogram(buffer, Bins::automatic(Estimator::fd)), h);
}

TEST(BinEstimatorTest, refused) {
  EXPECT_THROW(BinEstimator(Dtype::f32, Bins::even(3, 0, 1)), Error);
  BinEstimator estimator(Dtype::f32, Bins::even(3));
  EXPECT_THROW(estimator.add(ArrayView(std::vector<double>{1})), Error);
  EXPECT_THROW(static_cast<void>(estimator.bins()), Error);
  EXPECT_FALSE(estimator.next_pass());
  EXPECT_FALSE(estimator.next_pass());
  EXPECT_EQ(estimator.bins().size(), 3U);
  EXPECT_THROW(estimator.add(ArrayView(std::vector<float>{1})), Error);
  // Two values far from all others make more bins than there can be.
  std::vector<double> data(1000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i);
  data.front() = -1e15;
  EXPECT_THROW(bins_for(data, Estimator::fd), Error);
}

}  // namespace
}  // namespace masu
