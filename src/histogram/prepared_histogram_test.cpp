// SPDX-License-Identifier: Apache-2.0
// Prepared bins leave in memory what the other forms return.
#include "each_device.h"
#include "expect_error.h"
#include "histogram/histogram_test_data.h"

#include <gtest/gtest.h>
#include <masu/histogram.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace masu {
namespace {

class PreparedHistogramTest : public test::EachDevice {
 protected:
  // Counted twice into memory that begins one number late, in a workspace of just the size.
  template <class T>
  void expect_counts(const std::vector<T>& values, Dtype dtype, const Bins& bins,
                     const HistogramOptions& options = {}) {
    SCOPED_TRACE(std::string(to_string(dtype)) + " " + std::string(to_string(options.strategy)) +
                 " n=" + std::to_string(values.size()) + " bins=" + std::to_string(bins.size()));
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    const Buffer<std::byte> data = device.upload(std::span(bytes, values.size() * sizeof(T)));
    PreparedHistogram prepared(device, dtype, bins, options);
    ASSERT_EQ(prepared.size(), bins.size());
    const std::uint64_t numbers = (prepared.size() + 3) * options.channels;
    const Buffer<std::uint64_t> memory = device.upload(std::vector<std::uint64_t>(numbers + 2, 7));
    Buffer<std::uint64_t> counts = memory.slice(1, numbers);
    const std::uint64_t count = values.size() * sizeof(T) / size_of(dtype);
    const Buffer<std::byte> room(device, prepared.workspace(count));
    Stream stream(device);
    for (int i = 0; i < 2; ++i) histogram(stream, data, prepared, counts, &room).get();
    const std::vector<Histogram> expected =
        histogram_channels(device, ArrayView(dtype, values.data(), count), bins, options);
    EXPECT_EQ(prepared.result(counts.read()), expected);
    EXPECT_EQ(memory.read().front(), 7U);
    EXPECT_EQ(memory.read().back(), 7U);
  }
};
MASU_ON_EACH_DEVICE(PreparedHistogramTest);

TEST_P(PreparedHistogramTest, EveryTypeAndSize) {
  for (const Dtype dtype : {Dtype::u8, Dtype::i8, Dtype::u16, Dtype::i32, Dtype::u64, Dtype::f32, Dtype::f64}) {
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!std::is_same_v<T, Half>) {
        const test::Samples<T> samples(100, -3, 101);
        for (const std::size_t size : {0, 1, 2, 17, 1021, 4099}) {
          expect_counts(samples.take(size), dtype, Bins::even(100, -3, 101));
        }
        expect_counts(samples.take(4099), dtype, Bins::edges({-1, 2, 3, 50}), {.outside = Outside::clamp});
      }
    });
  }
}

TEST_P(PreparedHistogramTest, SlotsOfHalves) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  expect_counts(all, Dtype::f16, Bins::even(10, 0, 1));
  expect_counts(all, Dtype::f16, Bins::even(700, ValueRange{-1, 1, false}), {.outside = Outside::clamp});
  expect_counts(all, Dtype::f16, Bins::edges({-5, 0, 0, 1}), {.right_open = true});
  expect_counts(all, Dtype::u16, Bins::integers(65536));
  expect_counts(all, Dtype::i16, Bins::even(65536, -32768, 32768));
}

TEST_P(PreparedHistogramTest, StrategiesChannelsAndManyBins) {
  const std::vector<float> values = test::Samples<float>(300000, 0, 1).take(100000);
  expect_counts(values, Dtype::f32, Bins::even(300000, 0, 1));
  expect_counts(values, Dtype::f32, Bins::even(300000, 0, 1), {.outside = Outside::clamp, .memory = 1 << 18});
  for (const Strategy strategy : {Strategy::sequential, Strategy::global, Strategy::private_}) {
    expect_counts(values, Dtype::f32, Bins::even(50, 0, 1), {.strategy = strategy});
  }
  for (const unsigned channels : {2U, 5U}) {
    expect_counts(values, Dtype::f32, Bins::even(50, 0, 1), {.outside = Outside::clamp, .channels = channels});
    expect_counts(std::vector<std::uint8_t>(values.size(), 9), Dtype::u8, Bins::even(7, 2, 50), {.channels = channels});
  }
}

// Bins before, behind and between all values of the type.
TEST_P(PreparedHistogramTest, BinsThatNoValueReaches) {
  const std::vector<float> values = test::Samples<float>(100, -3, 101).take(5000);
  for (const auto& [lo, hi] : {std::pair{1e300, 1e301}, std::pair{-1e301, -1e300}}) {
    expect_counts(values, Dtype::f32, Bins::edges({lo, hi}));
    expect_counts(values, Dtype::f32, Bins::edges({lo, (lo + hi) / 2, hi}), {.outside = Outside::clamp});
  }
  const std::vector<std::int32_t> integers = test::Samples<std::int32_t>(100, -3, 101).take(5000);
  expect_counts(integers, Dtype::i32, Bins::edges({1e10, 2e10}));
  expect_counts(integers, Dtype::i32, Bins::edges({-2e10, -1e10}));
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  expect_counts(halves, Dtype::f16, Bins::edges({1e6, 2e6}));
  expect_counts(halves, Dtype::f16, Bins::edges({-2e6, -1e6}));
}

TEST_P(PreparedHistogramTest, BadInput) {
  PreparedHistogram prepared(device, Dtype::f32, Bins::even(10, 0, 1), {.channels = 2});
  const Buffer<float> data = device.upload(std::vector<float>{1, 2});
  Buffer<std::uint64_t> counts(device, 26);
  Buffer<std::uint64_t> few(device, 25);
  Stream stream(device);
  MASU_EXPECT_ERROR((void)histogram(stream, data, prepared, few), invalid_argument, "counts must have 208 bytes");
  MASU_EXPECT_ERROR((void)histogram(stream, data.slice(0, 1), prepared, counts), invalid_argument,
                    "2 channels must divide the elements, got 1");
  MASU_EXPECT_ERROR((void)histogram(stream, counts, prepared, counts), invalid_argument, "must not overlap");
  MASU_EXPECT_ERROR((void)prepared.result(few.read()), invalid_argument, "must have 26 numbers, got 25");
  MASU_EXPECT_ERROR(PreparedHistogram(device, Dtype::f32, Bins::even(10)), invalid_argument, "must be made definite");
  MASU_EXPECT_ERROR(PreparedHistogram(device, Dtype::f32, Bins::even(1, 0, 1), {.channels = 0}), invalid_argument,
                    "channels must be 1 to 16");
}

}  // namespace
}  // namespace masu
