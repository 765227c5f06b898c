// SPDX-License-Identifier: Apache-2.0
// Rows on every device against the plainest count: types, shapes, pieces that cut rows and pixels, bad input.
#include "all_dtypes.h"
#include "each_device.h"
#include "expect_error.h"
#include "histogram/each_strategy_test.h"
#include "histogram/histogram_test_data.h"

#include <masu/row_histogram.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace masu {
namespace {

using test::plain_data;

class RowHistogramTest : public test::EachDevice {
 protected:
  template <class T>
  void expect_rows(const RowHistograms& found, const std::vector<T>& data, bool half_open,
                   const HistogramOptions& options = {}) {
    const std::uint64_t rows = found.rows();
    const unsigned channels = options.channels;
    const std::uint64_t length = data.size() / rows;
    const std::vector<double> edges = found.edges();
    ASSERT_EQ(found.channels(), channels);
    ASSERT_EQ(edges.size(), found.size() + 1);
    std::vector<std::uint64_t> counts(rows * channels * found.size());
    std::vector<std::uint64_t> outside(rows * channels * 3);
    for (std::size_t i = 0; i < data.size(); ++i) {
      const std::size_t table = i / length * channels + i % channels;
      const test::Plain at =
          test::plain_bin(test::plain_value(data[i]), edges, half_open, options.outside == Outside::clamp);
      if (at.place == test::Place::bin) {
        ++counts[table * found.size() + at.bin];
      } else {
        ++outside[table * 3 + static_cast<std::size_t>(at.place) - 1];
      }
    }
    ASSERT_TRUE(std::ranges::equal(found.counts(), counts))
        << to_string(dtype_of<T>) << " rows " << rows << " of " << length << " channels " << channels << " bins "
        << found.size();
    for (std::uint64_t r = 0; r < rows; ++r) {
      for (unsigned c = 0; c < channels; ++c) {
        const std::uint64_t* of = outside.data() + (r * channels + c) * 3;
        ASSERT_EQ(found.below(r, c), of[0]);
        ASSERT_EQ(found.above(r, c), of[1]);
        ASSERT_EQ(found.nan(r, c), of[2]);
      }
    }
  }

  // Host data and device data.
  template <class T>
  void expect_counts(const std::vector<T>& data, std::uint64_t rows, const Bins& bins,
                     const HistogramOptions& options = {}) {
    const bool half_open = options.right_open || bins.kind() == Bins::Kind::integers;
    const RowHistograms found = row_histograms(device, ArrayView(data), rows, bins, options);
    expect_rows(found, data, half_open, options);
    const Buffer<T> buffer = device.upload(data);
    expect_rows(row_histograms(buffer, rows, bins, options), data, half_open, options);
  }
};
MASU_ON_EACH_DEVICE(RowHistogramTest);

const std::vector<double> awkward_edges{-1e300, -7.5, -1, -0.0, 0.0, 0.5, 1, 1, 2, 3.25, 100, 100, 1e18, 1e19};

TEST_P(RowHistogramTest, EveryTypeAndManyShapes) {
  struct Shape {
    std::uint64_t rows, length;
  };
  for (const Dtype dtype : test::all_dtypes) {
    if (dtype == Dtype::f64 && !device.info().fp64) continue;
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const Shape shape :
           {Shape{1, 1}, {1, 4099}, {7, 1}, {3, 17}, {16, 64}, {13, 251}, {2, 5003}, {64, 4096 / 16}}) {
        const std::vector<T> data = plain_data<T>(13, -10, 110, shape.rows * shape.length, shape.rows);
        expect_counts(data, shape.rows, Bins::edges(awkward_edges));
        if constexpr (!std::is_same_v<T, Half>) expect_counts(data, shape.rows, Bins::even(100, -10, 110));
        if constexpr (std::is_integral_v<T>) expect_counts(data, shape.rows, Bins::integers(100));
      }
    });
  }
}

TEST_P(RowHistogramTest, HalfInEvenBinsIsWhatEachRowGives) {
  const std::vector<Half> data = plain_data<Half>(20, -3, 9, 5 * 1009);
  const RowHistograms found = row_histograms(device, data, 5, Bins::even(20, -3, 9));
  for (std::uint64_t r = 0; r < 5; ++r) {
    const auto row = std::span(data).subspan(r * 1009, 1009);
    EXPECT_EQ(found.histogram(r), histogram(Device::open("cpu"), row, Bins::even(20, -3, 9)));
  }
}

TEST_P(RowHistogramTest, ChannelsClampAndRightOpen) {
  for (const unsigned channels : {2U, 3U, 4U, 16U}) {
    const auto bytes = plain_data<std::uint8_t>(256, 0, 256, std::size_t{11} * 37 * channels);
    expect_counts(bytes, 11, Bins::integers(256), {.channels = channels});
    const auto floats = plain_data<float>(9, 0, 1, std::size_t{11} * 37 * channels);
    for (const bool right_open : {false, true}) {
      for (const Outside outside : {Outside::drop, Outside::clamp}) {
        expect_counts(floats, 11, Bins::even(9, 0, 1),
                      {.right_open = right_open, .outside = outside, .channels = channels});
      }
    }
  }
}

TEST_P(RowHistogramTest, ManyRowsOfFewElements) {
  const bool slow = device.kind() != DeviceKind::cpu;  // a row takes a work-group
  const std::uint64_t rows = slow ? (std::uint64_t{1} << 20) + 3 : 2'100'003;
  const auto bytes = plain_data<std::uint8_t>(4, 0, 4, 3 * rows);
  const RowHistograms found = row_histograms(device, bytes, rows, Bins::even(3, 1, 255));
  expect_rows(found, bytes, false);
  EXPECT_EQ(RowHistograms::from_bytes(found.bytes()), found);
}

// Around the parts that a row of bytes is counted in, and the longest row that is; most rows begin at odd addresses.
TEST_P(RowHistogramTest, BytesOfEveryLength) {
  for (const std::uint64_t length :
       {15, 31, 480, 511, 512, 4095, 4096, 4352, 7679, 7681, 7712, 8161, 8192, 65535, 65536}) {
    const auto bytes = plain_data<std::uint8_t>(256, 0, 256, 5 * length);
    expect_counts(bytes, 5, Bins::integers(256));
    // Every 16th vector has one value: all that a work-item counts, but for one byte in two rows.
    std::vector<std::uint8_t> vectors(5 * length);
    for (std::size_t i = 0; i < vectors.size(); ++i)
      vectors[i] = static_cast<std::uint8_t>(37 * (i % length / 16 % 16));
    for (const std::size_t row : {1, 4}) vectors[row * length + length / 3] ^= 1;
    expect_counts(vectors, 5, Bins::integers(256));
    const std::vector<std::uint8_t> equal(5 * length, 255);
    expect_counts(equal, 5, Bins::integers(256));
  }
  const auto bytes = plain_data<std::int8_t>(256, -128, 128, 40000 * 65);
  expect_counts(bytes, 40000, Bins::even(100, -100, 100));
}

TEST_P(RowHistogramTest, LongRowsAndManyBins) {
  const auto bytes = plain_data<std::uint8_t>(256, 0, 256, 3 * 5'000'011);
  const RowHistograms found = row_histograms(device, bytes, 3, Bins::integers(256));
  for (std::uint64_t r = 0; r < 3; ++r) {
    std::vector<std::uint64_t> counts(256);
    for (std::size_t i = 0; i < 5'000'011; ++i) ++counts[bytes[r * 5'000'011 + i]];
    EXPECT_TRUE(std::ranges::equal(found.counts(r), counts));
  }
  const auto numbers = plain_data<std::uint32_t>(100000, 0, 100000, 3 * 20011);
  const RowHistograms wide = row_histograms(device, numbers, 3, Bins::integers(300000));
  for (std::uint64_t r = 0; r < 3; ++r) {
    std::vector<std::uint64_t> counts(300000);
    std::uint64_t above = 0;
    for (std::size_t i = 0; i < 20011; ++i) {
      const std::uint32_t x = numbers[r * 20011 + i];
      ++(x < 300000 ? counts[x] : above);
    }
    EXPECT_TRUE(std::ranges::equal(wide.counts(r), counts));
    EXPECT_EQ(wide.above(r), above);
  }
}

TEST_P(RowHistogramTest, EveryStrategyThatFits) {
  const auto bytes = plain_data<std::uint8_t>(256, 0, 256, 19 * 1021);
  const auto floats = plain_data<float>(50, 0, 1, 19 * 1021);
  test::each_strategy(3, [&](Strategy strategy) {
    expect_counts(bytes, 19, Bins::integers(256), {.strategy = strategy});
    expect_counts(floats, 19, Bins::even(50, 0, 1), {.strategy = strategy});
  });
}

// What racecheck has the time for: each kernel.
TEST_P(RowHistogramTest, Little) {
  const auto bytes = plain_data<std::uint8_t>(256, 0, 256, 3 * 8161);
  const auto floats = plain_data<float>(50, 0, 1, 3 * 1021);
  for (const Strategy strategy : {Strategy::global, Strategy::private_, Strategy::local, Strategy::lanes,
                                  Strategy::packed, Strategy::partitioned}) {
    try {
      expect_counts(floats, 3, Bins::even(50, 0, 1), {.strategy = strategy});
      expect_counts(bytes, 3, Bins::integers(256), {.strategy = strategy});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    }
  }
  expect_counts(floats, 3, Bins::edges(awkward_edges));
  for (const unsigned channels : {3U, 4U}) {
    const auto pixels = plain_data<std::uint8_t>(256, 0, 256, std::size_t{5} * 1037 * channels);
    expect_counts(pixels, 5, Bins::integers(256), {.channels = channels});
    expect_counts(plain_data<float>(9, 0, 1, std::size_t{5} * 137 * channels), 5, Bins::even(9, 0, 1),
                  {.channels = channels});
  }
  const std::vector<Half> halves = plain_data<Half>(20, -3, 9, 5 * 1009);
  EXPECT_EQ(row_histograms(device, halves, 5, Bins::even(20, -3, 9)).histogram(0),
            histogram(Device::open("cpu"), std::span(halves).first(1009), Bins::even(20, -3, 9)));
}

TEST_P(RowHistogramTest, LittleInManyBins) {
  const auto numbers = plain_data<std::uint32_t>(100000, 0, 100000, 3 * 20011);
  expect_counts(numbers, 3, Bins::integers(300000));
  expect_counts(plain_data<float>(60000, 0, 1, 30011), 1, Bins::even(60000, 0, 1));
}

TEST_P(RowHistogramTest, BinsFromAllOfTheData) {
  std::vector<float> data(4 * 1000);
  std::iota(data.begin(), data.end(), -17.0F);
  const RowHistograms found = row_histograms(device, data, 4, Bins::even(8));
  EXPECT_EQ(found.edges().front(), -17.0);
  EXPECT_EQ(found.edges().back(), 3982.0);
  expect_rows(found, data, false);
}

TEST_P(RowHistogramTest, PiecesCutRowsAndPixels) {
  std::mt19937_64 random(3);
  const Bins bins = Bins::even(30, 0, 1);
  for (const unsigned channels : {1U, 3U, 4U}) {
    const std::uint64_t rows = 9;
    const std::uint64_t length = std::uint64_t{103} * channels;
    const std::vector<float> data = plain_data<float>(30, 0, 1, rows * length);
    const HistogramOptions options{.channels = channels};
    const Buffer<float> buffer = device.upload(data);
    RowHistogramAccumulator accumulator(device, Dtype::f32, bins, rows, length, options);
    std::vector<float> given;
    for (std::size_t first = 0; first < data.size();) {
      const std::size_t size =
          std::min<std::size_t>(random() % (length + length / 2) + random() % 2, data.size() - first);
      if (random() % 2 == 0) {
        accumulator.add(ArrayView(std::span(data).subspan(first, size)));
      } else {
        accumulator.add_buffer(buffer.slice(first, size), Dtype::f32);
      }
      first += size;
      // What has not come is not counted.
      if (random() % 4 != 0) continue;
      const RowHistograms so_far = accumulator.result();
      std::uint64_t counted = std::accumulate(so_far.counts().begin(), so_far.counts().end(), std::uint64_t{0});
      for (std::uint64_t r = 0; r < rows; ++r) {
        for (unsigned c = 0; c < channels; ++c) counted += so_far.below(r, c) + so_far.above(r, c) + so_far.nan(r, c);
      }
      ASSERT_EQ(counted, first);
    }
    expect_rows(accumulator.result(), data, false, options);
    EXPECT_THROW(accumulator.add(ArrayView(std::span(data).first(1))), Error);
  }
}

TEST_P(RowHistogramTest, MisalignedMemory) {
  const auto data = plain_data<std::uint16_t>(60, 0, 70, 5000);
  const Buffer<std::uint16_t> buffer = device.upload(data);
  for (const std::size_t first : {1, 3, 7, 8}) {
    const std::size_t length = 4 * ((data.size() - 2 * first) / 4);
    const auto part = std::span(data).subspan(first, length);
    const std::vector<std::uint16_t> copy(part.begin(), part.end());
    expect_rows(row_histograms(device, part, 4, Bins::even(60, 0, 70)), copy, false);
    expect_rows(row_histograms(buffer.slice(first, length), 4, Bins::even(60, 0, 70)), copy, false);
  }
}

TEST_P(RowHistogramTest, ValuesThatNoBinReachesAndNoElements) {
  const std::vector<std::int16_t> numbers{-300, 0, 7, 32767, -32768, 5};
  expect_counts(numbers, 3, Bins::even(4, 1e6, 2e6));
  expect_counts(numbers, 2, Bins::even(4, -2e6, -1e6), {.outside = Outside::clamp});
  const RowHistograms empty = row_histograms(device, std::vector<float>{}, 5, Bins::even(3, 0, 1));
  EXPECT_EQ(empty.rows(), 5U);
  EXPECT_EQ(std::accumulate(empty.counts().begin(), empty.counts().end(), std::uint64_t{0}), 0U);
}

TEST_P(RowHistogramTest, OneRowAsAHistogram) {
  const auto data = plain_data<float>(20, 0, 1, 4000);
  const RowHistograms rows = row_histograms(device, data, 4, Bins::even(20, 0, 1));
  for (std::uint64_t r = 0; r < 4; ++r) {
    const Histogram one = rows.histogram(r);
    EXPECT_EQ(one, histogram(device, std::span(data).subspan(r * 1000, 1000), Bins::even(20, 0, 1)));
    EXPECT_EQ(one.n(), 1000U);
    EXPECT_EQ(one.edges(), rows.edges());
  }
  MASU_EXPECT_ERROR((void)rows.histogram(4), invalid_argument, "row must be < 4");
  MASU_EXPECT_ERROR((void)rows.counts(0, 1), invalid_argument, "channel < 1");
  MASU_EXPECT_ERROR((void)rows.nan(~0ULL), invalid_argument, "row must be < 4");
}

TEST_P(RowHistogramTest, BadInput) {
  const std::vector<float> data(12);
  const Bins bins = Bins::even(4, 0, 1);
  const ArrayView view(data);
  MASU_EXPECT_ERROR(row_histograms(device, view, 0, bins), invalid_argument, "rows must be 1 to 4294967296, got 0");
  MASU_EXPECT_ERROR(row_histograms(device, view, (1ULL << 32) + 1, bins), invalid_argument, "got 4294967297");
  MASU_EXPECT_ERROR(row_histograms(device, view, 5, bins), invalid_argument, "must divide the elements, got 12");
  MASU_EXPECT_ERROR(row_histograms(device, view, 3, bins, {.channels = 3}), invalid_argument, "must divide");
  MASU_EXPECT_ERROR(row_histograms(device, view, 3, bins, {.channels = 17}), invalid_argument, "1 to 16, got 17");
  MASU_EXPECT_ERROR(row_histograms(device, view, 3, bins, {.channels = 0}), invalid_argument, "1 to 16, got 0");
  MASU_EXPECT_ERROR(RowHistogramAccumulator(device, Dtype::f32, bins, 3, 7, {.channels = 2}), invalid_argument,
                    "must divide the elements of a row");
  MASU_EXPECT_ERROR(RowHistogramAccumulator(device, Dtype::f32, bins, 1U << 20, ~0ULL), invalid_argument, "2^64");
  MASU_EXPECT_ERROR(RowHistogramAccumulator(device, Dtype::u32, Bins::integers(1U << 31), 5, 1), invalid_argument,
                    "at most 2^33");
  MASU_EXPECT_ERROR(RowHistogramAccumulator(device, Dtype::u32, Bins::integers(1U << 14), 1U << 20, 1),
                    invalid_argument, "at most 2^33");
  MASU_EXPECT_ERROR(RowHistogramAccumulator(device, Dtype::f32, Bins::even(3), 1, 1), invalid_argument, "bins");
  RowHistogramAccumulator accumulator(device, Dtype::f32, bins, 3, 4);
  MASU_EXPECT_ERROR(accumulator.add(ArrayView(std::vector<double>{1})), invalid_argument, "must be f32");
  MASU_EXPECT_ERROR(accumulator.add(ArrayView(std::vector<float>(13))), invalid_argument, "12 left, got 13");
  accumulator.add(view);
  MASU_EXPECT_ERROR(accumulator.add(ArrayView(std::vector<float>(1))), invalid_argument, "0 left, got 1");
}

}  // namespace
}  // namespace masu
