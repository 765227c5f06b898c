// SPDX-License-Identifier: Apache-2.0
// Joint histograms on every device against the plainest count.
#include "all_dtypes.h"
#include "each_device.h"
#include "expect_error.h"
#include "histogram/each_strategy_test.h"
#include "histogram/histogram_test_data.h"

#include <masu/joint_histogram.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu {
namespace {

using test::plain_data;

class JointHistogramTest : public test::EachDevice {
 protected:
  template <class T>
  void expect_same(const JointHistogram& found, const std::vector<std::vector<T>>& columns,
                   const std::vector<Bins>& bins, const HistogramOptions& options = {}) {
    const std::size_t d = columns.size();
    std::vector<std::vector<double>> edges;
    std::size_t cells = 1;
    for (unsigned k = 0; k < d; ++k) {
      edges.push_back(found.edges(k));
      cells *= found.size(k);
    }
    std::vector<std::uint64_t> counts(cells);
    std::uint64_t outside = 0;
    std::uint64_t nan = 0;
    for (std::size_t i = 0; i < columns.front().size(); ++i) {
      std::size_t cell = 0;
      bool is_nan = false;
      bool is_outside = false;
      for (std::size_t k = 0; k < d; ++k) {
        const bool half_open = options.right_open || bins[k].kind() == Bins::Kind::integers;
        const test::Plain at =
            test::plain_bin(test::plain_value(columns[k][i]), edges[k], half_open, options.outside == Outside::clamp);
        is_nan = is_nan || at.place == test::Place::nan;
        is_outside = is_outside || at.place != test::Place::bin;
        cell = cell * (edges[k].size() - 1) + at.bin;
      }
      ++(is_nan ? nan : is_outside ? outside : counts[cell]);
    }
    ASSERT_EQ(found.dimensions(), d);
    ASSERT_TRUE(std::ranges::equal(found.counts(), counts)) << to_string(dtype_of<T>) << " columns " << d;
    ASSERT_EQ(found.outside(), outside);
    ASSERT_EQ(found.nan(), nan);
    ASSERT_EQ(found.n(), columns.front().size());
  }

  // Columns and points in host memory, and columns in device memory.
  template <class T>
  void expect_counts(const std::vector<std::vector<T>>& columns, const std::vector<Bins>& bins,
                     const HistogramOptions& options = {}) {
    std::vector<ArrayView> views;
    std::vector<Buffer<T>> buffers;
    for (const std::vector<T>& column : columns) {
      views.emplace_back(column);
      buffers.push_back(device.upload(column));
    }
    std::vector<const BufferBase*> pointers;
    for (const Buffer<T>& buffer : buffers) pointers.push_back(&buffer);
    const JointHistogram found = joint_histogram(device, views, bins, options);
    expect_same(found, columns, bins, options);
    EXPECT_EQ(joint_histogram(pointers, dtype_of<T>, bins, options), found);
    if (std::ranges::any_of(bins, &Bins::needs_data)) return;
    std::vector<T> points;
    for (std::size_t i = 0; i < columns.front().size(); ++i) {
      for (const std::vector<T>& column : columns) points.push_back(column[i]);
    }
    JointHistogramAccumulator accumulator(device, dtype_of<T>, bins, options);
    accumulator.add_interleaved(ArrayView(points));
    EXPECT_EQ(accumulator.result(), found);
  }

  template <class T>
  static std::vector<std::vector<T>> columns(std::size_t d, std::size_t size, double lo = -3, double hi = 90) {
    std::vector<std::vector<T>> result;
    for (std::size_t k = 0; k < d; ++k) result.push_back(plain_data<T>(40, lo, hi, size, k + 1));
    return result;
  }
};
MASU_ON_EACH_DEVICE(JointHistogramTest);

// What racecheck has the time for.
TEST_P(JointHistogramTest, Little) {
  const std::vector<std::vector<float>> columns(2, plain_data<float>(20, 0, 1, 5003));
  for (const Strategy strategy : {Strategy::automatic, Strategy::global}) {
    expect_counts(columns, {Bins::even(20, 0, 1), Bins::even(30, 0, 1)}, {.strategy = strategy});
  }
}

const Bins awkward = Bins::edges({-1e300, -7.5, -1, -0.0, 0.0, 0.5, 1, 1, 2, 3.25, 60, 60});

TEST_P(JointHistogramTest, TwoColumnsOfEveryTypeAndSize) {
  for (const Dtype dtype : test::all_dtypes) {
    if (dtype == Dtype::f64 && !device.info().fp64) continue;
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const std::size_t size : {0, 1, 2, 17, 255, 256, 257, 4099, 33000}) {
        expect_counts(columns<T>(2, size), {Bins::even(10, -3, 90), awkward});
      }
    });
  }
}

TEST_P(JointHistogramTest, OneToEightColumns) {
  const std::vector<Bins> kinds{Bins::even(7, 0, 80),          awkward,
                                Bins::logarithmic(5, 0.5, 64), Bins::even(2, -1, 1),
                                Bins::even(3, 0, 1),           Bins::edges({-2, 30, 50}),
                                Bins::logarithmic(2, 1, 90),   Bins::even(1, -3, 90)};
  for (std::size_t d = 1; d <= 8; ++d) {
    const std::vector<Bins> bins(kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(d));
    expect_counts(columns<float>(d, 5003), bins);
    expect_counts(columns<std::int16_t>(d, 5003), bins, {.outside = Outside::clamp});
    if (device.info().fp64) expect_counts(columns<double>(d, 1021), bins, {.right_open = true});
  }
}

TEST_P(JointHistogramTest, IntegersWithOtherBins) {
  expect_counts(columns<std::int32_t>(3, 4099), {Bins::integers(50), Bins::even(9, -3, 90), awkward});
  expect_counts(columns<std::uint8_t>(2, 4099), {Bins::integers(256), Bins::integers(100)});
  expect_counts(columns<std::uint64_t>(2, 999), {Bins::integers(80), Bins::integers(3)}, {.outside = Outside::clamp});
}

TEST_P(JointHistogramTest, GivenRangesKeepDoubleEdgesForFloats) {
  // The edge 0.1 * 3 of f64 lies between two floats: as f32 it would be one of them.
  const JointHistogram found = joint_histogram(device, {ArrayView(std::vector<float>{0.5F})}, {Bins::even(10, 0, 1)});
  EXPECT_EQ(found.edges(0)[3], 3 * 0.1);
  std::vector<float> x;
  for (int i = 0; i <= 100; ++i) {
    const auto e = static_cast<float>(i / 100.0);
    x.insert(x.end(), {e, std::nextafter(e, -1.0F), std::nextafter(e, 2.0F)});
  }
  std::vector<float> y(x.rbegin(), x.rend());
  expect_counts<float>({x, y}, {Bins::even(100, 0, 1), Bins::even(10, 0, 1)});
}

TEST_P(JointHistogramTest, BinsOverEachColumn) {
  std::vector<std::vector<float>> data(2);
  std::mt19937_64 random(8);
  for (int i = 0; i < 5000; ++i) {
    data[0].push_back(static_cast<float>(random() % 1000) / 8);
    data[1].push_back(-static_cast<float>(random() % 77));
  }
  expect_counts(data, {Bins::even(13), Bins::even(7)});
  data[1].assign(5000, 2.5F);
  expect_counts(data, {Bins::even(13), Bins::even(4)});
}

TEST_P(JointHistogramTest, GridsOfEverySize) {
  const auto data = columns<float>(2, 30011, 0, 1);
  for (const std::uint64_t n : {1, 10, 50, 100, 300, 1500}) {
    expect_counts(data, {Bins::even(n, 0, 1), Bins::even(n + 1, 0, 1)});
  }
}

TEST_P(JointHistogramTest, NanBeforeOutside) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> data{{NAN, 5, NAN, 0.5F, inf, 0.5F, -1}, {5, NAN, 0.5F, 0.5F, 0.5F, -inf, NAN}};
  for (const Outside outside : {Outside::drop, Outside::clamp}) {
    expect_counts(data, {Bins::even(2, 0, 1), Bins::even(3, 0, 1)}, {.outside = outside});
  }
  const JointHistogram found =
      joint_histogram(device, {ArrayView(data[0]), ArrayView(data[1])}, {Bins::even(2, 0, 1), Bins::even(3, 0, 1)});
  EXPECT_EQ(found.nan(), 4U);
  EXPECT_EQ(found.outside(), 2U);
}

TEST_P(JointHistogramTest, EveryStrategyThatFits) {
  const auto data = columns<float>(2, 30011, 0, 1);
  for (const std::uint64_t n : {20, 400}) {
    test::each_strategy(2, [&](Strategy strategy) {
      expect_counts(data, {Bins::even(n, 0, 1), Bins::even(n, 0, 1)}, {.strategy = strategy});
    });
  }
}

TEST_P(JointHistogramTest, PiecesMergeDensityAndStreams) {
  const std::vector<Bins> bins{Bins::even(8, 0, 1), Bins::edges({0, 0.25, 0.5, 2})};
  const auto data = columns<float>(2, 20000, 0, 1);
  const std::vector<ArrayView> views{ArrayView(data[0]), ArrayView(data[1])};
  const JointHistogram whole = joint_histogram(device, views, bins);
  JointHistogramAccumulator accumulator(device, Dtype::f32, bins);
  JointHistogram merged = accumulator.result();
  for (std::size_t first = 0; first < 20000; first += 7001) {
    const std::size_t size = std::min<std::size_t>(7001, 20000 - first);
    const std::vector<ArrayView> part{ArrayView(std::span(data[0]).subspan(first, size)),
                                      ArrayView(std::span(data[1]).subspan(first, size))};
    accumulator.add(part);
    merged.merge(joint_histogram(device, part, bins));
  }
  EXPECT_EQ(accumulator.result(), whole);
  EXPECT_EQ(merged, whole);
  EXPECT_THROW(merged.merge(joint_histogram(device, views, std::vector<Bins>{bins[1], bins[0]})), Error);

  double integral = 0;
  const std::vector<double> density = whole.density();
  for (std::size_t cell = 0; cell < density.size(); ++cell) {
    const std::vector<double> y = whole.edges(1);
    integral += density[cell] / 8 * (y[cell % 3 + 1] - y[cell % 3]);
  }
  EXPECT_NEAR(integral, 1, 1e-12);

  Stream stream(device);
  const Buffer<float> x = device.upload(data[0]);
  const Buffer<float> y = device.upload(data[1]);
  const std::vector<const BufferBase*> buffers{&x, &y};
  JointHistogramAccumulator on_stream(device, Dtype::f32, bins);
  on_stream.add_buffers(buffers, Dtype::f32, &stream);
  on_stream.add_buffers(buffers, Dtype::f32, &stream);
  stream.finish();
  JointHistogram twice = whole;
  twice.merge(whole);
  EXPECT_EQ(on_stream.result(), twice);
}

TEST_P(JointHistogramTest, MisalignedMemory) {
  const auto data = columns<std::uint16_t>(2, 3000);
  const Buffer<std::uint16_t> x = device.upload(data[0]);
  const Buffer<std::uint16_t> y = device.upload(data[1]);
  const std::vector<Bins> bins{Bins::even(9, 0, 90), Bins::integers(70)};
  for (const std::size_t first : {1, 3, 8}) {
    const std::size_t size = 2900;
    const std::vector<std::vector<std::uint16_t>> part{{data[0].begin() + static_cast<std::ptrdiff_t>(first),
                                                        data[0].begin() + static_cast<std::ptrdiff_t>(first + size)},
                                                       {data[1].begin() + 2, data[1].begin() + 2 + size}};
    const Buffer<std::uint16_t> a = x.slice(first, size);
    const Buffer<std::uint16_t> b = y.slice(2, size);
    const std::vector<const BufferBase*> buffers{&a, &b};
    expect_same(joint_histogram(buffers, Dtype::u16, bins), part, bins);
  }
}

TEST_P(JointHistogramTest, ValuesThatNoBinReaches) {
  const auto data = columns<std::int16_t>(2, 3000);
  expect_counts(data, {Bins::even(4, 1e6, 2e6), Bins::even(5, 0, 90)});
  expect_counts(data, {Bins::even(5, 0, 90), Bins::even(4, -2e6, -1e6)}, {.outside = Outside::clamp});
}

TEST_P(JointHistogramTest, BadInput) {
  const std::vector<float> x(5);
  const std::vector<float> y(6);
  const std::vector<double> z(5);
  const Bins bins = Bins::even(4, 0, 1);
  const auto joint = [&](std::vector<ArrayView> columns, std::vector<Bins> of, HistogramOptions options = {}) {
    return joint_histogram(device, columns, of, options);
  };
  const ArrayView vx(x);
  MASU_EXPECT_ERROR(joint({}, {}), invalid_argument, "columns must be 1 to 8, got 0");
  MASU_EXPECT_ERROR(joint(std::vector<ArrayView>(9, vx), std::vector<Bins>(9, bins)), invalid_argument, "got 9");
  MASU_EXPECT_ERROR(joint({vx}, {bins, bins}), invalid_argument, "one for each of the bins");
  MASU_EXPECT_ERROR(joint({vx, ArrayView(y)}, {bins, bins}), invalid_argument, "same length, got 5 and 6");
  MASU_EXPECT_ERROR(joint({vx, ArrayView(z)}, {bins, bins}), invalid_argument, "must be f32");
  MASU_EXPECT_ERROR(joint({vx, vx}, {bins, bins}, {.channels = 2}), invalid_argument, "channels must be 1, got 2");
  MASU_EXPECT_ERROR(joint({vx, vx}, {Bins::even(1U << 16, 0, 1), Bins::even(1U << 15 | 1, 0, 1)}), invalid_argument,
                    "at most 2^31 joint bins");
  MASU_EXPECT_ERROR(JointHistogramAccumulator(device, Dtype::f32, std::vector<Bins>{Bins::even(3)}), invalid_argument,
                    "bins");
  JointHistogramAccumulator accumulator(device, Dtype::f32, std::vector<Bins>{bins, bins});
  MASU_EXPECT_ERROR(accumulator.add_interleaved(vx), invalid_argument, "2 columns must divide the elements, got 5");
  const JointHistogram found = joint({vx, vx}, {bins, bins});
  MASU_EXPECT_ERROR((void)found.size(2), invalid_argument, "column must be < 2, got 2");
  MASU_EXPECT_ERROR((void)found.edges(7), invalid_argument, "column must be < 2, got 7");
}

// As in functions that must not throw; what lies outside the bins is 0.
TEST(HistogramResults, OnesOfNothingNeedNoMemory) {
  static_assert(std::is_nothrow_default_constructible_v<Histogram>);
  static_assert(std::is_nothrow_default_constructible_v<JointHistogram>);
  const Histogram one;
  EXPECT_EQ(one.size() + one.n() + one.below() + one.above() + one.nan(), 0U);
  const JointHistogram joint;
  EXPECT_EQ(joint.n() + joint.outside() + joint.nan(), 0U);
}

}  // namespace
}  // namespace masu
