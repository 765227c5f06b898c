// SPDX-License-Identifier: Apache-2.0
// Every device against the plain reference: types, sizes around every boundary, special values, bins of every kind.
#include "histogram/histogram_reference.h"

#include "each_device.h"
#include "expect_error.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/each_strategy_test.h"
#include "histogram/histogram_test_data.h"

#include <masu/histogram.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace masu {
namespace {

using test::Samples;

class HistogramTest : public test::EachDevice {
 protected:
  // Host data and device data must both give what the reference gives.
  template <class T>
  void expect_counts(const std::vector<T>& data, const Bins& bins, const HistogramOptions& options = {}) {
    const std::vector<Histogram> found = histogram_channels(device, ArrayView(data), bins, options);
    const bool half_open = options.right_open || bins.kind() == Bins::Kind::integers;
    const std::vector<double> edges = found.front().edges();
    const auto expected = reference::histogram(ArrayView(data), edges, half_open, options.outside, options.channels);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t c = 0; c < found.size(); ++c) {
      const reference::Counts got{
          {found[c].counts().begin(), found[c].counts().end()}, found[c].below(), found[c].above(), found[c].nan()};
      ASSERT_EQ(got, expected[c]) << to_string(dtype_of<T>) << " n=" << data.size() << " bins=" << bins.size()
                                  << " channel " << c << " strategy " << to_string(options.strategy);
      ASSERT_EQ(found[c].n(), data.size() / options.channels);
    }
    const Buffer<T> buffer = device.upload(data);
    ASSERT_EQ(histogram_channels(buffer, dtype_of<T>, bins, options), found);
  }
};
MASU_ON_EACH_DEVICE(HistogramTest);

// Sizes around vectors, blocks, work-groups and tiles.
const std::vector<std::size_t> sizes{0,   1,   2,   3,   5,    7,    15,   16,   17,   31,    63,    64,    65,
                                     127, 255, 256, 257, 1021, 1024, 1025, 4096, 4099, 16384, 65537, 100003};

template <class Body>
void for_each_type(const Body& body) {
  for (Dtype dtype : {Dtype::u8, Dtype::i8, Dtype::u16, Dtype::i16, Dtype::u32, Dtype::i32, Dtype::u64, Dtype::i64,
                      Dtype::f32, Dtype::f64}) {
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!is_stored<T>) body(tag);
    });
  }
}

TEST_P(HistogramTest, EvenBinsOfEveryTypeAndSize) {
  for_each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const Samples<T> samples(100, -3, 101);
    for (const std::size_t size : sizes) expect_counts(samples.take(size), Bins::even(100, -3, 101));
  });
}

TEST_P(HistogramTest, EvenBinsOverTheDataOfEveryType) {
  for_each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const Samples<T> samples(37, 0, 90);
    for (const std::size_t size : {0, 1, 2, 1000, 4099}) expect_counts(samples.finite(size), Bins::even(37));
  });
}

TEST(Histogram, NumberOfBinsAlone) {
  const std::vector<int> data = {3, 1, 2, 2, 5};
  EXPECT_EQ(histogram(data, 4), histogram(data, Bins::even(4)));
}

TEST_P(HistogramTest, EdgesOfEveryType) {
  const std::vector<double> edges{-1e300, -7.5, -1, -0.0, 0.0, 0.5, 1, 1, 2, 3.25, 100, 100, 1e18, 1e19};
  for_each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const Samples<T> samples(13, -10, 110);
    for (const std::size_t size : {1, 17, 4099, 20011}) expect_counts(samples.take(size), Bins::edges(edges));
  });
}

// Edges so close together that cells of a guide have several, that parts of cells have, and that places tell none
// apart; values at all of them and beside.
TEST_P(HistogramTest, CrowdedEdges) {
  for_each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) >= 4) {
      const auto next = [](T x) {
        if constexpr (std::is_integral_v<T>) return static_cast<T>(x + 1);
        else return std::nextafter(x, std::numeric_limits<T>::infinity());
      };
      std::mt19937_64 random(5);
      std::vector<T> at;
      for (const int range : {4000000, 7000}) {
        for (int i = 0; i < 500; ++i) at.push_back(static_cast<T>(random() % range) / T{4} + T{1});
        for (int cluster = 0; cluster < 12; ++cluster) {
          T x = at[random() % at.size()];
          for (int i = 0; i < 3 + 5 * cluster; ++i) at.push_back(x = cluster % 2 == 0 ? next(x) : x + x / T{4096});
        }
        std::sort(at.begin(), at.end());
        std::vector<T> values;
        for (std::size_t i = 0; i < at.size(); ++i) {
          values.insert(values.end(),
                        {at[i], next(at[i]), static_cast<T>(2 * at[i] - next(at[i])), at[i] / 2 + at[i / 2]});
        }
        for (std::size_t i = 0; i < 20000; ++i) values.push_back(static_cast<T>(random() % (range + 100)) / T{4});
        std::vector<double> edges(at.begin(), at.end());
        expect_counts(values, Bins::edges(edges));
        edges.push_back(1e18);  // a last bin that is nearly all of the range
        expect_counts(values, Bins::edges(edges));
      }
    }
  });
}

TEST_P(HistogramTest, IntegersOfEveryIntegerType) {
  for_each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      const Samples<T> samples(90, -5, 120);
      for (const std::uint64_t bins : {1, 90, 300}) expect_counts(samples.take(4099), Bins::integers(bins));
    } else {
      EXPECT_THROW(histogram(device, std::vector<T>{1}, Bins::integers(3)), Error);
    }
  });
}

TEST_P(HistogramTest, RightOpenAndClamped) {
  const Samples<float> floats(10, 0, 1);
  const Samples<std::int16_t> integers(10, 0, 20);
  for (const bool right_open : {false, true}) {
    for (const Outside outside : {Outside::drop, Outside::clamp}) {
      const HistogramOptions options{.right_open = right_open, .outside = outside};
      expect_counts(floats.take(5003), Bins::even(10, 0, 1), options);
      expect_counts(floats.take(5003), Bins::edges({0, 0.25, 0.25, 1}), options);
      expect_counts(integers.take(5003), Bins::even(10, 0, 20), options);
    }
  }
}

TEST_P(HistogramTest, InterleavedChannels) {
  const Samples<std::uint8_t> bytes(256, 0, 256);
  const Samples<float> floats(20, 0, 1);
  for (const unsigned channels : {2U, 3U, 4U, 16U}) {
    const HistogramOptions options{.channels = channels};
    for (const std::size_t pixels : {0, 1, 2, 5, 341, 1366, 5003}) {
      expect_counts(bytes.take(pixels * channels), Bins::integers(256), options);
      if (channels < 5) expect_counts(floats.take(pixels * channels), Bins::even(20, 0, 1), options);
    }
  }
  EXPECT_THROW(histogram_channels(device, ArrayView(std::vector<float>(7)), Bins::even(3, 0, 1), {.channels = 2}),
               Error);
}

TEST_P(HistogramTest, EveryStrategyGivesTheSame) {
  const Samples<std::uint8_t> bytes(256, 0, 256);
  const Samples<float> floats(50, 0, 1);
  test::each_strategy(4, [&](Strategy strategy) {
    const HistogramOptions options{.strategy = strategy};
    expect_counts(bytes.take(70001), Bins::integers(256), options);
    expect_counts(std::vector<std::uint8_t>(70001, 9), Bins::integers(256), options);
    expect_counts(floats.take(30011), Bins::even(50, 0, 1), options);
    EXPECT_EQ(histogram(device, bytes.take(100), Bins::integers(256), options).strategy(), strategy);
  });
}

TEST_P(HistogramTest, TablesOfEverySize) {
  const Samples<std::uint32_t> numbers(1 << 20, 0, 1 << 20);
  for (const std::uint64_t bins : {1, 2, 300, 1000, 3000, 12000, 20000, 300000}) {
    expect_counts(numbers.take(50021), Bins::integers(bins));
    expect_counts(numbers.take(50021), Bins::even(bins, 0, 1 << 20));
  }
}

TEST_P(HistogramTest, TinyAndHugeRangesKeepEveryEdge) {
  std::mt19937_64 random(11);
  const auto around = [&](auto lo, auto hi, std::uint64_t n) {
    using T = decltype(lo);
    const Bins bins = Bins::even(n, static_cast<double>(lo), static_cast<double>(hi));
    const BinRule rule(bins, dtype_of<T>, false);
    std::vector<T> data;
    for (std::uint64_t i = 0; i <= n; ++i) {
      const auto e = static_cast<T>(rule.edge(i));
      data.insert(data.end(), {e, std::nextafter(e, lo - 1), std::nextafter(e, std::numeric_limits<T>::max())});
    }
    std::shuffle(data.begin(), data.end(), random);
    expect_counts(data, bins);
  };
  around(0.0F, 1.0F, 100);
  around(0.0F, 1.0F, 1000);
  around(-1e-40F, 3e-40F, 7);  // subnormal
  around(1e6F, 1e6F + 4, 50);
  around(-1e38F, 2e38F, 33);
  if (device.info().fp64) {
    around(0.0, 1.0, 100);
    around(0.1, 0.7, 999);
    around(1e9, 1e9 + 1e-5, 40);
    around(-1e-310, 4e-310, 9);
    around(-8e307, 8e307, 33);
  }
}

TEST_P(HistogramTest, BinsBelowTheSpacingOfSubnormalsAreRefused) {
  const std::vector<float> data{0, 1e-43F};  // 71 of the smallest steps
  EXPECT_EQ(histogram(device, data, Bins::even(71)).size(), 71U);
  EXPECT_THROW(histogram(device, data, Bins::even(1000)), Error);
  EXPECT_THROW(histogram(device, data, Bins::even(1000, 0, 1e-43)), Error);
  // Steps of 218 smallest numbers each, rounded: all of them together are longer than the range.
  EXPECT_THROW(histogram(device, std::vector<float>{1e-38F, 3e-38F}, Bins::even(65537)), Error);
}

TEST_P(HistogramTest, OneHistogramHasOneChannel) {
  const std::vector<float> data{1, 2, 3, 4};
  HistogramOptions two;
  two.channels = 2;
  const Bins bins = Bins::even(4, 0, 4);
  Buffer<float> buffer = device.upload(data);
  Stream stream(device);
  EXPECT_THROW(histogram(device, data, bins, two), Error);
  EXPECT_THROW(histogram(buffer, bins, two), Error);
  EXPECT_THROW(histogram(stream, buffer, bins, two), Error);
}

TEST_P(HistogramTest, ValuesThatNoBinReaches) {
  const std::vector<std::int16_t> numbers{-300, 0, 7, 32767, -32768};
  expect_counts(numbers, Bins::even(4, 1e6, 2e6));
  expect_counts(numbers, Bins::even(4, -2e6, -1e6));
  expect_counts(numbers, Bins::even(4, 0.25, 0.75));
  expect_counts(numbers, Bins::even(1000, -1e9, 1e9));
  expect_counts(std::vector<std::uint64_t>{0, 1, ~0ULL, 1ULL << 63}, Bins::even(8, 0, 0x1p64));
  const double inf = std::numeric_limits<double>::infinity();
  expect_counts(std::vector<float>{-INFINITY, -1, 0, INFINITY, NAN}, Bins::edges({-inf, 0, inf}));
  expect_counts(std::vector<float>{-INFINITY, -1, 0, INFINITY, NAN}, Bins::edges({inf, inf}));
  expect_counts(std::vector<float>{-INFINITY, -1, 0, INFINITY, NAN}, Bins::edges({-inf, -inf}), {.right_open = true});
}

TEST_P(HistogramTest, MisalignedBuffersAndHostMemory) {
  const Samples<std::uint16_t> numbers(60, 0, 70);
  const std::vector<std::uint16_t> data = numbers.take(5000);
  const Buffer<std::uint16_t> buffer = device.upload(data);
  for (const std::size_t first : {1, 3, 7, 8, 9}) {
    const std::size_t length = data.size() - 2 * first;
    const std::vector<std::uint16_t> part(data.begin() + static_cast<std::ptrdiff_t>(first),
                                          data.begin() + static_cast<std::ptrdiff_t>(first + length));
    const Histogram expected = histogram(Device::open("cpu"), part, Bins::even(60, 0, 70));
    EXPECT_EQ(histogram(buffer.slice(first, length), Bins::even(60, 0, 70)), expected);
    EXPECT_EQ(histogram(device, std::span(data).subspan(first, length), Bins::even(60, 0, 70)), expected);
  }
}

TEST_P(HistogramTest, AccumulatesMergesAndRunsOnAStream) {
  const Samples<float> samples(64, 0, 1);
  const std::vector<float> data = samples.take(30000);
  const Bins bins = Bins::even(64, 0, 1);
  const Histogram whole = histogram(device, data, bins);
  HistogramAccumulator accumulator(device, Dtype::f32, bins);
  Histogram merged = histogram(device, std::vector<float>{}, bins);
  for (std::size_t first = 0; first < data.size(); first += 7001) {
    const auto part = std::span(data).subspan(first, std::min<std::size_t>(7001, data.size() - first));
    accumulator.add(ArrayView(part));
    merged.merge(histogram(device, part, bins));
  }
  EXPECT_EQ(accumulator.result().front(), whole);
  EXPECT_EQ(merged, whole);
  EXPECT_THROW(merged.merge(histogram(device, data, Bins::even(64, 0, 2))), Error);
  EXPECT_THROW(accumulator.add(ArrayView(std::vector<double>{1})), Error);

  Stream stream(device);
  const Buffer<float> buffer = device.upload(data);
  Pending<Histogram> pending = histogram(stream, buffer, bins);
  EXPECT_EQ(pending.get(), whole);
}

TEST_P(HistogramTest, ResultInDeviceMemory) {
  const std::vector<Bins> all{Bins::even(37, -3, 60), Bins::even(12), Bins::edges({-5, 0.5, 0.5, 7, 90}),
                              Bins::logarithmic(9, 0.25, 70), Bins::even(5, 1000, 2000)};
  for_each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const Buffer<T> samples = device.upload(Samples<T>(50, -20, 90).take(20011));
    const Buffer<T> finite = device.upload(Samples<T>(50, -20, 90).finite(5003));
    for (const Bins& bins : all) {
      const Buffer<T>& buffer = bins.needs_data() ? finite : samples;
      for (const Outside outside : {Outside::drop, Outside::clamp}) {
        const HistogramOptions options{.right_open = true, .outside = outside};
        const Histogram expected = histogram(buffer, bins, options);
        std::vector<std::uint64_t> slots(expected.counts().begin(), expected.counts().end());
        slots.insert(slots.end(), {expected.below(), expected.above(), expected.nan()});
        Buffer<std::uint64_t> counts = device.allocate<std::uint64_t>(slots.size());
        histogram(buffer, bins, counts, options);
        ASSERT_EQ(counts.read(), slots) << to_string(dtype_of<T>) << " " << bins.size();
        if (!bins.needs_data()) {
          EXPECT_EQ(bin_edges(bins, dtype_of<T>), expected.edges());
        }
      }
    }
    Buffer<std::uint64_t> counts = device.upload(std::vector<std::uint64_t>(40, 7));
    histogram(samples.slice(0, 0), all[0], counts);  // nothing is counted
    EXPECT_EQ(counts.read(), std::vector<std::uint64_t>(40));
    MASU_EXPECT_ERROR(histogram(samples, all[2], counts), invalid_argument, "must have 56 bytes");
    MASU_EXPECT_ERROR((void)bin_edges(all[1], dtype_of<T>), invalid_argument, "must not depend on data");
  });
  Buffer<std::uint64_t> same = device.upload(std::vector<std::uint64_t>(40, 7));
  MASU_EXPECT_ERROR(histogram(same, all[0], same), invalid_argument, "overlap");
}

TEST_P(HistogramTest, RandomShapes) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t n = 1 + random() % 400;
    const double lo = static_cast<double>(static_cast<std::int64_t>(random() % 2000)) - 1000;
    const double hi = lo + static_cast<double>(random() % 1000 + 1) / 8;
    const std::size_t size = random() % 9000;
    expect_counts(Samples<float>(n, lo, hi, random()).take(size), Bins::even(n, lo, hi));
    expect_counts(Samples<std::int32_t>(n, lo, hi, random()).take(size), Bins::even(n, lo, hi));
    if (device.info().fp64) {
      expect_counts(Samples<double>(n, lo, hi, random()).take(size), Bins::even(n, lo, hi));
      expect_counts(Samples<double>(n, lo, hi, random()).finite(size), Bins::even(n));
    }
  }
}

TEST_P(HistogramTest, RangeOfFiniteValues) {
  for_each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> data = Samples<T>(50, -20, 90).take(20011);
    const Buffer<T> buffer = device.upload(data);
    std::erase_if(data, [](T x) { return !std::isfinite(static_cast<double>(x)); });
    const auto [lo, hi] = std::minmax_element(data.begin(), data.end());
    const auto range = finite_range(buffer, dtype_of<T>);
    ASSERT_TRUE(range.has_value());
    EXPECT_EQ(range->lo, static_cast<double>(*lo));
    EXPECT_EQ(range->hi, static_cast<double>(*hi));
    EXPECT_FALSE(range->single);
    EXPECT_FALSE(finite_range(device, ArrayView(std::vector<T>{})).has_value());
  });
  EXPECT_FALSE(finite_range(device, ArrayView(std::vector<float>{NAN, INFINITY, -INFINITY})).has_value());
  EXPECT_TRUE(finite_range(device, ArrayView(std::vector<float>{-0.0F, NAN, 0.0F}))->single);
  // Of either zero +0, so that the bins have the same bits on every device and in any order of the data.
  for (const std::vector<float>& zeros :
       {std::vector<float>{-0.0F}, {0.0F, -0.0F}, {-0.0F, 0.0F}, {-0.0F, 3}, {-3, -0.0F}}) {
    const std::optional<ValueRange> range = finite_range(device, ArrayView(zeros));
    EXPECT_FALSE(range->lo == 0 && std::signbit(range->lo));
    EXPECT_FALSE(range->hi == 0 && std::signbit(range->hi));
    const Histogram found = histogram(device, zeros, Bins::even(4));
    EXPECT_EQ(found.bytes(),
              histogram(Device::open("cpu"), std::vector<float>(zeros.rbegin(), zeros.rend()), Bins::even(4)).bytes());
  }
}

TEST_P(HistogramTest, ManyThreadsAtOnce) {
  const Samples<std::uint8_t> samples(256, 0, 256);
  const std::vector<std::uint8_t> data = samples.take(50000);
  const Histogram expected = histogram(device, data, Bins::integers(256));
  std::vector<std::thread> threads;
  std::atomic<int> same = 0;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] { same += histogram(device, data, Bins::integers(256)) == expected; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 6);
}

// Counts above 2^32. Five gibibytes: only where they are asked for and fit.
TEST_P(HistogramTest, CountsAbove32Bits) {
  constexpr std::uint64_t size = std::uint64_t{5} << 30;
  if (std::getenv("MASU_TEST_LONG") == nullptr || device.info().memory_bytes < 2 * size ||
      !(device.info().gpu || device.kind() == DeviceKind::cpu)) {
    GTEST_SKIP() << "needs MASU_TEST_LONG and " << 2 * size << " bytes of device memory";
  }
  Buffer<std::uint8_t> buffer(device, size);
  buffer.fill(77);
  const Histogram h = histogram(buffer, Bins::integers(256));
  EXPECT_EQ(h.counts()[77], size);
  EXPECT_EQ(h.n(), size);
}

}  // namespace
}  // namespace masu
