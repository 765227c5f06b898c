// SPDX-License-Identifier: Apache-2.0
// Many bins, images, f16, given edges of every distribution, temporary memory: every device against the plain
// reference.
#include "histogram/histogram_reference.h"

#include "each_device.h"
#include "histogram/histogram_test_data.h"

#include <masu/histogram.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace masu {
namespace {

using test::Samples;

class ManyBinsTest : public test::EachDevice {
 protected:
  // What the reference counts of `data`; `found` must be the same.
  template <class T>
  static void expect_equal(const std::vector<Histogram>& found, const std::vector<T>& data, const Bins& bins,
                           const HistogramOptions& options) {
    const bool half_open = options.right_open || bins.kind() == Bins::Kind::integers;
    const auto expected =
        reference::histogram(ArrayView(data), found.front().edges(), half_open, options.outside, options.channels);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t c = 0; c < found.size(); ++c) {
      const reference::Counts got{
          {found[c].counts().begin(), found[c].counts().end()}, found[c].below(), found[c].above(), found[c].nan()};
      ASSERT_EQ(got, expected[c]) << to_string(dtype_of<T>) << " n=" << data.size() << " bins=" << bins.size()
                                  << " channel " << c << ' ' << to_string(found[c].strategy());
    }
  }
  template <class T>
  void expect_counts(const std::vector<T>& data, const Bins& bins, const HistogramOptions& options = {}) {
    const std::vector<Histogram> found = histogram_channels(device, ArrayView(data), bins, options);
    expect_equal(found, data, bins, options);
    ASSERT_EQ(histogram_channels(device.upload(data), dtype_of<T>, bins, options), found);
  }
  // Options with a strategy, where it is there on this device for so many bins.
  template <class T>
  void expect_by(Strategy strategy, const std::vector<T>& data, const Bins& bins, unsigned channels = 1) {
    try {
      expect_counts(data, bins, {.strategy = strategy, .channels = channels});
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::unsupported) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr(std::string(to_string(strategy))));
    }
  }
};
MASU_ON_EACH_DEVICE(ManyBinsTest);

// Steps of 3 units in the last place: positions are off by more than a bin, and the edges get a guide.
TEST_P(ManyBinsTest, EvenStepsOfFewUnits) {
  if (!device.info().fp64) GTEST_SKIP() << "needs fp64";
  constexpr std::uint64_t bins = 200000;
  constexpr double unit = 0x1p-23;
  std::vector<double> data(50021);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = 1e9 + static_cast<double>(i * 977 % (3 * bins + 40)) * unit;
  data[7] = -1;
  data[8] = std::nan("");
  expect_counts(data, Bins::even(bins, 1e9, 1e9 + 3 * bins * unit));
}

TEST_P(ManyBinsTest, PackedAndPartitioned) {
  const Samples<std::uint16_t> numbers(65536, 0, 65536);
  const Samples<float> floats(30000, 0, 1);
  for (const Strategy strategy : {Strategy::packed, Strategy::partitioned}) {
    for (const std::size_t size : {0, 1, 7, 4099, 100003}) {
      expect_by(strategy, numbers.take(size), Bins::integers(20000));
      expect_by(strategy, numbers.take(size), Bins::integers(65536));
      expect_by(strategy, floats.take(size), Bins::even(40000, 0, 1));
      expect_by(strategy, floats.take(size / 3 * 3), Bins::even(9000, 0, 1), 3);
    }
    // Counters of 16 bits overflow many times.
    expect_by(strategy, std::vector<std::uint16_t>(1000003, 40001), Bins::integers(65536));
    std::vector<std::uint16_t> two(700001, 3);
    for (std::size_t i = 0; i < two.size(); i += 2) two[i] = 32771;  // the other half of the same word
    expect_by(strategy, two, Bins::integers(65536));
  }
}

// What racecheck has the time for, of the kernels that rows do not have.
TEST_P(ManyBinsTest, Little) {
  expect_by(Strategy::lanes, Samples<std::uint8_t>(256, 0, 256).take(4 * 5003), Bins::integers(256), 4);
  expect_counts(Samples<float>(50, 0, 1).take(9001), Bins::even(50));  // whose range is found in the data
}

TEST_P(ManyBinsTest, MillionsOfBins) {
  std::mt19937_64 random(3);
  for (const std::uint64_t bins : {1000000, 10000000}) {
    std::vector<float> floats(300007);
    for (float& x : floats) x = static_cast<float>(random() >> 40) * 0x1p-24F;
    floats[5] = NAN;
    floats[6] = -1;
    floats[7] = 1;
    expect_counts(floats, Bins::even(bins, 0, 1));
    std::vector<std::int32_t> numbers(300007);
    for (std::int32_t& x : numbers) x = static_cast<std::int32_t>(random() % (bins + 9)) - 4;
    expect_counts(numbers, Bins::integers(bins));
    expect_counts(std::vector<std::int32_t>(200003, 77), Bins::integers(bins));
  }
  // Edges one unit of f32 apart.
  std::vector<float> close;
  for (int i = 0; i < 100000; ++i) close.push_back(1 + static_cast<float>(i) * 0x1p-23F);
  expect_counts(close, Bins::even(50000, 1, 1 + 100000 * 0x1p-23));
}

TEST_P(ManyBinsTest, GivenEdgesOfEveryShape) {
  std::mt19937_64 random(8);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<std::vector<double>> shapes(5);
  for (int i = 0; i <= 100; ++i) shapes[0].push_back(uniform());
  for (int i = 0; i <= 1000; ++i) shapes[1].push_back(std::exp2(40 * uniform() - 20));
  for (int i = 0; i <= 3000; ++i) shapes[2].push_back(i < 2900 ? 1e-6 * uniform() : uniform());
  for (int i = 0; i <= 20000; ++i) shapes[3].push_back(std::floor(1e6 * uniform()));
  shapes[4] = {-INFINITY, -1e30, -1, 0, 1e-40, 1, 1, 1, 1e30, INFINITY};
  for (std::vector<double>& edges : shapes) {
    std::sort(edges.begin(), edges.end());
    std::vector<float> floats;
    std::vector<double> doubles;
    std::vector<std::int32_t> integers;
    for (const double edge : edges) {
      const auto near = static_cast<float>(edge);
      for (const float x : {near, std::nextafter(near, -INFINITY), std::nextafter(near, INFINITY)}) floats.push_back(x);
      doubles.insert(doubles.end(), {edge, std::nextafter(edge, -INFINITY), std::nextafter(edge, INFINITY)});
      if (std::abs(edge) < 2e9) integers.push_back(static_cast<std::int32_t>(edge));
    }
    for (int i = 0; i < 20000; ++i) {
      const double x = edges.size() < 20 ? std::exp2(200 * uniform() - 100)
                                         : edges[1] + (edges[edges.size() - 2] - edges[1]) * uniform();
      floats.push_back(static_cast<float>(x));
      doubles.push_back(x);
      integers.push_back(static_cast<std::int32_t>(std::min(x, 1e9)));
    }
    floats.insert(floats.end(), {NAN, INFINITY, -INFINITY, -0.0F});
    expect_counts(floats, Bins::edges(edges));
    expect_counts(integers, Bins::edges(edges));
    if (device.info().fp64) expect_counts(doubles, Bins::edges(edges));
  }
  expect_counts(Samples<float>(100, 1, 1000).take(20011), Bins::logarithmic(100, 1, 1000));
}

TEST_P(ManyBinsTest, HalfPrecision) {
  std::vector<Half> all(65536 + 3);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = Half{static_cast<std::uint16_t>(i * 40503U)};
  const Bins kinds[] = {Bins::even(10, 0, 1),         Bins::even(100, -3, 3),
                        Bins::even(333, 0, 1000),     Bins::edges({-2, 0, 0.3, 7}),
                        Bins::even(10, 6e-8, 2.4e-6), Bins::even(7, ValueRange{0, 2, false})};
  for (const Bins& bins : kinds) {
    expect_counts(all, bins);
    expect_counts(all, bins, {.right_open = true, .outside = Outside::clamp, .channels = 1});
  }
  // Every value in bins whose positions are proved or not: what the CPU looks up in a table.
  const Device cpu = Device::open("cpu");
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 100; ++turn) {
    const auto n = 1 + random() % (turn % 2 == 0 ? 300 : 3000);
    const double exponent = static_cast<double>(random() % 40) - 24;
    const double lo = turn % 3 == 0 ? 0 : (static_cast<double>(random() % 4097) / 2048 - 1) * std::exp2(exponent);
    const double hi =
        turn % 5 == 0 ? lo + 1 : lo + static_cast<double>(1 + random() % 1000) / 500 * std::exp2(exponent);
    if (!(hi <= 65504)) continue;
    const Bins bins = turn % 4 == 0 ? Bins::even(n, ValueRange{lo, hi, false}) : Bins::even(n, lo, hi);
    for (const bool right_open : {false, true}) {
      SCOPED_TRACE(testing::Message() << n << " bins from " << lo << " to " << hi << (right_open ? " open" : ""));
      const auto counted = [&](const Device& on) {
        return histogram(on, all, bins, {.right_open = right_open}).integers();
      };
      std::vector<std::int64_t> expected;
      try {
        expected = counted(cpu);
      } catch (const Error&) {  // too many bins for the range
        continue;
      }
      EXPECT_EQ(counted(device), expected);
    }
  }
  std::vector<Half> pairs(all.begin(), all.begin() + 60000);
  expect_counts(pairs, kinds[1], {.channels = 4});
  const auto range = finite_range(device.upload(all), Dtype::f16);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->lo, -65504);
  EXPECT_EQ(range->hi, 65504);
}

TEST_P(ManyBinsTest, RegionsOfImages) {
  const auto check = [&](auto tag, const Bins& bins, unsigned channels) {
    using T = decltype(tag);
    constexpr std::uint64_t width = 67;
    constexpr std::uint64_t height = 41;
    const std::uint64_t pitch = (width * channels + 5) * sizeof(T);
    const std::vector<T> image = Samples<T>(200, 0, 200).take(pitch / sizeof(T) * height);
    const Buffer<T> buffer = device.upload(image);
    for (const Region& region : {Region{0, 0, width, height}, Region{3, 5, 60, 30}, Region{66, 40, 1, 1},
                                 Region{10, 0, 1, height}, Region{7, 7, 0, 9}, Region{0, 20, width, 1}}) {
      std::vector<T> inside;
      for (std::uint64_t y = region.y; y < region.y + region.height; ++y) {
        const auto row = image.begin() + static_cast<std::ptrdiff_t>(y * (pitch / sizeof(T)) + region.x * channels);
        inside.insert(inside.end(), row, row + static_cast<std::ptrdiff_t>(region.width * channels));
      }
      const ImageLayout layout{width, height, pitch, region};
      const HistogramOptions options{.channels = channels};
      const std::vector<Histogram> found = histogram_channels(device, ArrayView(image), layout, bins, options);
      expect_equal(found, inside, bins, options);
      EXPECT_EQ(histogram_channels(buffer, dtype_of<T>, layout, bins, options), found);
    }
    for (const ImageLayout& wrong :
         {ImageLayout{width, height + 1, pitch, {}}, ImageLayout{width, height, pitch, Region{1, 0, width, 1}},
          ImageLayout{width, height, width * channels * sizeof(T) - sizeof(T), {}},
          ImageLayout{width, height, pitch, Region{0, ~0ULL, 1, 2}}, ImageLayout{~0ULL, ~0ULL, 0, {}}}) {
      EXPECT_THROW(histogram_channels(device, ArrayView(image), wrong, bins, {.channels = channels}), Error);
      EXPECT_THROW(histogram_channels(buffer, dtype_of<T>, wrong, bins, {.channels = channels}), Error);
    }
  };
  check(std::uint8_t{}, Bins::integers(256), 1);
  check(std::uint8_t{}, Bins::integers(256), 3);
  check(std::uint8_t{}, Bins::integers(256), 4);
  check(std::uint16_t{}, Bins::integers(200), 3);
  check(std::uint16_t{}, Bins::integers(65536), 1);
  check(float{}, Bins::even(50, 0, 200), 1);
  check(float{}, Bins::even(1000000, 0, 200), 1);
}

TEST_P(ManyBinsTest, TemporaryMemoryIsKnownAndBounded) {
  const std::vector<float> data = Samples<float>(100, 0, 1).take(500000);
  const Bins bins = Bins::even(300000, 0, 1);
  const std::vector<Histogram> expected = histogram_channels(Device::open("cpu"), ArrayView(data), bins, {});
  HistogramOptions options{.memory = 1 << 20};
  EXPECT_EQ(histogram_channels(device, ArrayView(data), bins, options), expected);
  const Buffer<float> buffer = device.upload(data);
  EXPECT_EQ(histogram_channels(buffer, Dtype::f32, bins, options), expected);
  options.memory = 0;
  const std::uint64_t bytes = histogram_workspace(device, Dtype::f32, bins, options, data.size());
  if (bytes == 0) GTEST_SKIP() << "needs no temporary memory here";
  EXPECT_GE(bytes, 2 * data.size());
  const Buffer<std::byte> workspace(device, bytes);
  options.workspace = &workspace;
  EXPECT_EQ(histogram_channels(buffer, Dtype::f32, bins, options), expected);
  const Buffer<std::byte> small = workspace.slice(0, 1000);
  options.workspace = &small;
  EXPECT_THROW(histogram_channels(buffer, Dtype::f32, bins, options), Error);
}

}  // namespace
}  // namespace masu
