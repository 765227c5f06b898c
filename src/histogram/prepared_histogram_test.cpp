// SPDX-License-Identifier: Apache-2.0
// Prepared bins leave in memory what the other forms return.
#include "each_device.h"
#include "expect_error.h"
#include "histogram/weighted_histogram_test_data.h"

#include <gtest/gtest.h>
#include <masu/histogram.h>
#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>
#include <masu/weighted_histogram.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace masu {
namespace {

class PreparedHistogramTest : public test::EachDevice {
 protected:
  // Counted twice into memory that begins one number late, in a workspace of just the size; the second time with a copy
  // beside that.
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
    histogram(stream, data, prepared, counts, &room).get();
    std::vector<std::uint16_t> constants(3 + values.size() % 50);
    for (std::size_t i = 0; i < constants.size(); ++i) constants[i] = static_cast<std::uint16_t>(i + 1);
    const Buffer<std::uint16_t> from = device.upload(constants);
    const Buffer<std::uint16_t> to_memory = device.upload(std::vector<std::uint16_t>(constants.size() + 2));
    Buffer<std::uint16_t> to = to_memory.slice(1, constants.size());
    histogram(stream, data, prepared, counts, from, to, &room).get();
    EXPECT_EQ(to.read(), constants);
    EXPECT_EQ(to_memory.read().front() + to_memory.read().back(), 0);
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
      if constexpr (!is_stored<T>) {
        const test::Samples<T> samples(100, -3, 101);
        for (const std::size_t size : {0, 1, 2, 17, 1021, 4099, 70001}) {
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
  for (const Strategy strategy : {Strategy::global, Strategy::private_}) {
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

// What a call leaves in memory that begins one number late, and the numbers around it untouched.
template <class T>
std::vector<T> left_by(const Device& device, std::uint64_t numbers, const std::function<void(Buffer<T>&)>& call) {
  const Buffer<T> memory = device.upload(std::vector<T>(numbers + 2, T{7}));
  Buffer<T> results = memory.slice(1, numbers);
  for (int i = 0; i < 2; ++i) call(results);
  EXPECT_EQ(memory.read().front(), T{7});
  EXPECT_EQ(memory.read().back(), T{7});
  return results.read();
}

template <class T>
void expect_rows(const Device& device, std::uint64_t rows, std::uint64_t length, const Bins& bins,
                 const HistogramOptions& options) {
  SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + " " + std::to_string(rows) + " x " + std::to_string(length));
  const std::vector<T> values = test::plain_data<T>(20, -3, 50, rows * length);
  const Buffer<T> data = device.upload(values);
  PreparedRowHistograms prepared(device, dtype_of<T>, bins, rows, length, options);
  const Buffer<std::byte> room(device, prepared.workspace(values.size()));
  Stream stream(device);
  const auto counts = left_by<std::uint64_t>(device, prepared.numbers(), [&](Buffer<std::uint64_t>& to) {
    row_histograms(stream, data, prepared, to, &room).get();
  });
  EXPECT_EQ(prepared.result(counts), row_histograms(Device::open("cpu"), values, rows, bins, options));
}

TEST_P(PreparedHistogramTest, Rows) {
  for (const std::uint64_t length : {std::uint64_t{1}, std::uint64_t{30}, std::uint64_t{1000}}) {
    const HistogramOptions clamp{.outside = Outside::clamp};
    expect_rows<std::uint8_t>(device, 7, length, Bins::even(10, 3, 40), clamp);
    expect_rows<float>(device, 7, length, Bins::even(10, 3, 40), {});
    expect_rows<float>(device, 7, length, Bins::edges({0, 1, 5, 20}), clamp);
    expect_rows<Half>(device, 7, length, Bins::even(30, 0, 2), clamp);
    expect_rows<std::int32_t>(device, 7, length, Bins::edges({1e10, 2e10}), {});
    expect_rows<std::int32_t>(device, 7, length, Bins::edges({-2e10, -1e10}), clamp);
  }
  expect_rows<std::uint8_t>(device, 300, 9, Bins::even(5, 0, 40), {.outside = Outside::clamp, .channels = 3});
  expect_rows<float>(device, 3, 4000, Bins::even(100000, 0, 40), {});
}

template <class T>
void expect_joint(const Device& device, std::size_t size, const std::vector<Bins>& bins,
                  const HistogramOptions& options) {
  SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + " n=" + std::to_string(size));
  std::vector<std::vector<T>> columns;
  std::vector<Buffer<T>> memory;
  for (std::size_t d = 0; d < bins.size(); ++d) {
    columns.push_back(test::plain_data<T>(20, -3, 50, size, d + 1));
    memory.push_back(device.upload(columns.back()));
  }
  std::vector<const BufferBase*> buffers;
  for (const Buffer<T>& each : memory) buffers.push_back(&each);
  std::vector<ArrayView> views;
  for (const std::vector<T>& each : columns) views.emplace_back(each);
  PreparedJointHistogram prepared(device, dtype_of<T>, bins, options);
  const Buffer<std::byte> room(device, prepared.workspace(size));
  Stream stream(device);
  const auto counts = left_by<std::uint64_t>(device, prepared.numbers(), [&](Buffer<std::uint64_t>& to) {
    joint_histogram(stream, buffers, prepared, to, &room).get();
  });
  EXPECT_EQ(prepared.result(counts), joint_histogram(Device::open("cpu"), views, bins, options));
}

TEST_P(PreparedHistogramTest, Joint) {
  const Bins far = Bins::edges({1e10, 2e10, 3e10});
  const Bins before = Bins::edges({-3e10, -2e10});
  for (const std::size_t size : {0, 1, 1000}) {
    for (const Outside outside : {Outside::drop, Outside::clamp}) {
      const HistogramOptions options{.outside = outside};
      expect_joint<float>(device, size, {Bins::even(5, 0, 40), Bins::edges({0, 1, 5, 20})}, options);
      expect_joint<std::uint8_t>(device, size, {Bins::even(5, 0, 40), Bins::even(3, 0, 9)}, options);
      expect_joint<Half>(device, size, {Bins::even(5, 0, 40), Bins::edges({1e6, 2e6})}, options);
      expect_joint<std::int32_t>(device, size, {Bins::even(5, 0, 40), far, before}, options);
    }
  }
  expect_joint<float>(device, 5000, {Bins::even(700, 0, 40), Bins::even(700, 0, 40)}, {});
}

template <class T, class W>
void expect_weighted(const Device& device, std::size_t size, const Bins& bins, const WeightedOptions& options,
                     test::Hard hard = test::Hard::mixed) {
  SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + " by " + std::string(to_string(dtype_of<W>)) +
               " n=" + std::to_string(size) + (options.variances ? " variances" : ""));
  const std::vector<T> values = test::plain_data<T>(20, -3, 50, size);
  const std::vector<W> weights = test::hard_weights<W>(hard, size, 5);
  const Buffer<T> data = device.upload(values);
  const Buffer<W> by = device.upload(weights);
  constexpr bool whole = std::is_integral_v<W>;
  PreparedWeightedHistogram prepared(device, dtype_of<T>, dtype_of<W>, {&bins, 1}, options, size / options.rows);
  const std::uint64_t numbers = prepared.numbers();
  Buffer<double> variances(device, options.variances ? numbers : 0);
  Buffer<std::uint64_t> integers(device, whole ? numbers : 0);
  Buffer<std::uint32_t> status = device.upload(std::vector<std::uint32_t>{9});
  const Buffer<std::byte> room(device, prepared.workspace(size));
  const BufferBase* const column = &data;
  Stream stream(device);
  const auto totals = left_by<double>(device, numbers, [&](Buffer<double>& to) {
    weighted_histogram(stream, {&column, 1}, by, prepared,
                       {to, options.variances ? &variances : nullptr, whole ? &integers : nullptr, &status}, &room)
        .get();
  });
  WeightedOptions wrapped = options;
  wrapped.wrap = true;
  const WeightedHistogram expected = weighted_histogram(Device::open("cpu"), values, weights, bins, wrapped);
  EXPECT_EQ(prepared.result(totals, variances.read(), integers.read()), expected);
  bool fits = true;
  try {
    (void)weighted_histogram(Device::open("cpu"), values, weights, bins, options);
  } catch (const Error&) {
    fits = false;
  }
  EXPECT_EQ(status.read().front(), fits ? 0U : 1U);
}

TEST_P(PreparedHistogramTest, Weighted) {
  for (const bool variances : {false, true}) {
    for (const std::size_t size : {0, 1, 1200}) {
      const WeightedOptions options{.variances = variances, .rows = size == 1200 ? 6U : 1U};
      const WeightedOptions clamp{.outside = Outside::clamp, .variances = variances};
      expect_weighted<float, float>(device, size, Bins::even(10, 0, 40), options);
      expect_weighted<std::uint8_t, float>(device, size, Bins::even(10, 3, 40), clamp);
      expect_weighted<float, std::int64_t>(device, size, Bins::even(10, 3, 40), clamp);
      expect_weighted<std::int32_t, std::uint16_t>(device, size, Bins::edges({0, 1, 5, 20}), options);
    }
    const WeightedOptions clamp{.outside = Outside::clamp, .variances = variances};
    expect_weighted<Half, Half>(device, 2000, Bins::even(30, 0, 2), clamp);
    expect_weighted<std::int32_t, std::int8_t>(device, 2000, Bins::edges({1e10, 2e10}), clamp);
    expect_weighted<float, float>(device, 2000, Bins::even(3000, 0, 40), clamp, test::Hard::narrow);
    if (!device.info().fp64 && device.kind() != DeviceKind::cpu) continue;
    expect_weighted<double, double>(device, 2000, Bins::even(9, 0, 40), clamp, test::Hard::exponents);
    expect_weighted<double, double>(device, 2000, Bins::even(9, 0, 40), clamp, test::Hard::cancelling);
  }
}

TEST_P(PreparedHistogramTest, IntegerTotalsThatDoNotFit) {
  const std::vector<float> values{0.5F, 0.5F, 1.5F};
  const std::vector<std::int64_t> weights{std::numeric_limits<std::int64_t>::max(), 1, 3};
  const Buffer<float> data = device.upload(values);
  const Buffer<std::int64_t> by = device.upload(weights);
  const Bins bins = Bins::edges({0, 1, 2});
  PreparedWeightedHistogram prepared(device, Dtype::f32, Dtype::i64, {&bins, 1});
  Buffer<double> totals(device, prepared.numbers());
  Buffer<std::uint64_t> integers(device, prepared.numbers());
  Buffer<std::uint32_t> status = device.upload(std::vector<std::uint32_t>{0});
  const BufferBase* const column = &data;
  Stream stream(device);
  weighted_histogram(stream, {&column, 1}, by, prepared, {totals, nullptr, &integers, &status}).get();
  EXPECT_EQ(status.read().front(), 1U);
  EXPECT_EQ(integers.read(), (std::vector<std::uint64_t>{std::uint64_t{1} << 63, 3, 0, 0, 0}));
  EXPECT_EQ(totals.read(), (std::vector<double>{0x1p63, 3, 0, 0, 0}));
  MASU_EXPECT_ERROR((void)weighted_histogram(stream, data, by, bins).get(), invalid_argument, "the total of bin 0");
}

TEST_P(PreparedHistogramTest, BadInputOfRowsColumnsAndWeights) {
  const Bins bins = Bins::even(4, 0, 1);
  const Buffer<float> data = device.upload(std::vector<float>(12, 0.5F));
  const Buffer<float> few = data.slice(0, 11);
  Buffer<std::uint64_t> counts(device, 21);
  Stream stream(device);
  PreparedRowHistograms rows(device, Dtype::f32, bins, 3, 4);
  MASU_EXPECT_ERROR((void)row_histograms(stream, few, rows, counts), invalid_argument,
                    "all rows together must have 12 elements, got 11");
  MASU_EXPECT_ERROR((void)rows.result(std::vector<std::uint64_t>(20)), invalid_argument, "must be 21 numbers, got 20");
  const Bins two[] = {bins, bins};
  PreparedJointHistogram joint(device, Dtype::f32, two);
  Buffer<std::uint64_t> cells(device, joint.numbers());
  const BufferBase* columns[] = {&data, &few};
  MASU_EXPECT_ERROR((void)joint_histogram(stream, columns, joint, cells), invalid_argument,
                    "columns must have the same length, got 12 and 11");
  MASU_EXPECT_ERROR((void)joint_histogram(stream, {columns, 1}, joint, cells), invalid_argument,
                    "there must be 2 columns");
  PreparedWeightedHistogram weighted(device, Dtype::f32, Dtype::f32, {&bins, 1});
  Buffer<double> totals(device, 7);
  MASU_EXPECT_ERROR((void)weighted_histogram(stream, {columns, 1}, few, weighted, {totals}), invalid_argument,
                    "there must be a weight for each element");
  Buffer<double> variances(device, 7);
  MASU_EXPECT_ERROR((void)weighted_histogram(stream, {columns, 1}, data, weighted, {totals, &variances}),
                    invalid_argument, "variances were not asked for");
  Buffer<std::uint64_t> integers(device, 7);
  MASU_EXPECT_ERROR((void)weighted_histogram(stream, {columns, 1}, data, weighted, {totals, nullptr, &integers}),
                    invalid_argument, "weights must be integers");
  const Buffer<std::byte> room(device, 15);
  if (weighted.workspace(12) != 0) {
    MASU_EXPECT_ERROR((void)weighted_histogram(stream, {columns, 1}, data, weighted, {totals}, &room), invalid_argument,
                      "workspace must be at least");
  }
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
  Buffer<float> copy(device, 1);
  MASU_EXPECT_ERROR((void)histogram(stream, data, prepared, counts, data, copy), invalid_argument, "one size");
  MASU_EXPECT_ERROR((void)histogram(stream, data, prepared, counts, few, counts), invalid_argument, "one size");
  MASU_EXPECT_ERROR((void)histogram(stream, data, prepared, counts, counts, counts), invalid_argument, "overlap");
  MASU_EXPECT_ERROR((void)prepared.result(few.read()), invalid_argument, "must be 26 numbers, got 25");
  MASU_EXPECT_ERROR(PreparedHistogram(device, Dtype::f32, Bins::even(10)), invalid_argument, "must be made definite");
  MASU_EXPECT_ERROR(PreparedHistogram(device, Dtype::f32, Bins::even(1, 0, 1), {.channels = 0}), invalid_argument,
                    "channels must be 1 to 16");
}

}  // namespace
}  // namespace masu
