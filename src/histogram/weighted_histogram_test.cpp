// SPDX-License-Identifier: Apache-2.0
// Weighted histograms on every device against a plain loop of exact sums: types, shapes, weights that are hard to sum,
// pieces, merging, bad input.
#include "all_dtypes.h"
#include "each_device.h"
#include "expect_error.h"
#include "histogram/weighted_histogram_test_data.h"

#include <masu/weighted_histogram.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace masu {
namespace {

using test::Hard;
using test::hard_weights;
using test::plain_data;
using test::PlainTotal;

std::vector<std::uint64_t> bits_of(std::span<const double> values) {
  std::vector<std::uint64_t> result;
  for (const double value : values) result.push_back(std::bit_cast<std::uint64_t>(value));
  return result;
}

class WeightedHistogramTest : public test::EachDevice {
 protected:
  // The slots of a row: bins, below, above, NaN.
  template <class T, class W>
  static void expect_totals(const WeightedHistogram& found, const std::vector<T>& data, const std::vector<W>& weights,
                            bool half_open, const WeightedOptions& options) {
    const std::uint64_t rows = found.rows();
    const std::vector<double> edges = found.edges();
    const std::uint64_t bins = found.size();
    std::vector<PlainTotal> expected(rows * (bins + 3));
    for (std::size_t i = 0; i < data.size(); ++i) {
      const test::Plain at =
          test::plain_bin(test::plain_value(data[i]), edges, half_open, options.outside == Outside::clamp);
      const std::size_t slot = at.place == test::Place::bin ? at.bin : bins + static_cast<std::size_t>(at.place) - 1;
      expected[i / (data.size() / rows) * (bins + 3) + slot].add(weights[i]);
    }
    const std::string what = std::string(to_string(dtype_of<T>)) + " by " + std::string(to_string(dtype_of<W>));
    ASSERT_EQ(found.n(), data.size());
    for (std::uint64_t row = 0; row < rows; ++row) {
      const auto slots = std::span(expected).subspan(row * (bins + 3), bins + 3);
      expect_part(found.totals(row), found.variances(row), found.signed_totals(row), found.unsigned_totals(row),
                  slots.first(bins), what + " bins", options, dtype_of<W>);
      expect_part(found.extra_totals(row), found.extra_variances(row), found.signed_extra_totals(row),
                  found.unsigned_extra_totals(row), slots.subspan(bins), what + " extra", options, dtype_of<W>);
    }
  }

  static void expect_part(std::span<const double> totals, std::span<const double> variances,
                          std::span<const std::int64_t> by_signed, std::span<const std::uint64_t> by_unsigned,
                          std::span<const PlainTotal> expected, const std::string& what, const WeightedOptions& options,
                          Dtype weights) {
    std::vector<double> sums;
    std::vector<double> squares;
    for (const PlainTotal& each : expected) {
      sums.push_back(each.sum.sum());
      squares.push_back(each.squares.sum());
    }
    EXPECT_EQ(bits_of(totals), bits_of(sums)) << what;
    EXPECT_EQ(bits_of(variances), options.variances ? bits_of(squares) : std::vector<std::uint64_t>()) << what;
    const bool integer = !is_float(weights);
    ASSERT_EQ(by_signed.size(), integer && is_signed(weights) ? expected.size() : 0);
    ASSERT_EQ(by_unsigned.size(), integer && !is_signed(weights) ? expected.size() : 0);
    for (std::size_t i = 0; i < by_signed.size(); ++i) EXPECT_TRUE(by_signed[i] == expected[i].integer) << what;
    for (std::size_t i = 0; i < by_unsigned.size(); ++i) EXPECT_TRUE(by_unsigned[i] == expected[i].integer) << what;
  }

  // Host data, device data and, where it runs kernels, tables of several layouts.
  template <class T, class W>
  void expect_right(const std::vector<T>& data, const std::vector<W>& weights, const Bins& bins,
                    const WeightedOptions& options = {}) {
    const bool half_open = options.right_open || bins.kind() == Bins::Kind::integers;
    const WeightedHistogram found = weighted_histogram(device, data, weights, bins, options);
    expect_totals(found, data, weights, half_open, options);
    const Buffer<T> buffer = device.upload(data);
    const Buffer<W> by = device.upload(weights);
    EXPECT_TRUE(weighted_histogram(buffer, by, bins, options) == found);
  }

  [[nodiscard]] bool has(Dtype dtype) const { return dtype != Dtype::f64 || device.info().fp64; }
};
MASU_ON_EACH_DEVICE(WeightedHistogramTest);

const std::vector<double> some_edges{-1e300, -7.5, -1, -0.0, 0.5, 1, 1, 2, 3.25, 100, 1e18};

TEST_P(WeightedHistogramTest, EveryTypeOfDataAndOfWeights) {
  std::uint64_t seed = 1;
  const auto expect_pair = [&](Dtype of_data, Dtype of_weights) {
    dispatch(of_data, [&](auto data_tag) {
      using T = typename decltype(data_tag)::type;
      dispatch(of_weights, [&](auto weight_tag) {
        using W = typename decltype(weight_tag)::type;
        const std::size_t size = 1000 + 13 * seed;
        // The squares of f64 must be sums of two f64 for the oracle.
        const Hard hard = std::is_same_v<W, double> ? Hard::narrow : Hard::mixed;
        expect_right(plain_data<T>(10, -10, 110, size, seed), hard_weights<W>(hard, size, seed),
                     std::is_same_v<T, Half> || seed % 2 != 0 ? Bins::edges(some_edges) : Bins::even(17, -10, 110),
                     {.right_open = seed % 3 == 0,
                      .outside = seed % 2 != 0 ? Outside::drop : Outside::clamp,
                      .variances = seed % 5 == 0 || std::is_same_v<W, double>});
        ++seed;
      });
    });
  };
  // Each type of each once; on the CPU, which compiles no program for it, many more pairs; elsewhere but on GPUs, where
  // compiling takes longest, not the weights that other tests have.
  const auto elsewhere = {Dtype::u16, Dtype::i32, Dtype::u64, Dtype::f32};
  const bool cpu = device.kind() == DeviceKind::cpu;
  for (std::size_t i = 0; i < std::size(test::all_dtypes); ++i) {
    const Dtype dtype = test::all_dtypes[i];
    const Dtype weights = test::all_dtypes[(3 * i + 1) % std::size(test::all_dtypes)];
    if (!has(dtype)) continue;
    if (!cpu && !device.info().gpu && std::ranges::count(elsewhere, weights) != 0) continue;
    expect_pair(dtype, weights);
    if (!cpu) continue;
    expect_pair(dtype, Dtype::f32);
    expect_pair(Dtype::f32, dtype);
    expect_pair(Dtype::u8, dtype);
  }
}

TEST_P(WeightedHistogramTest, HardWeights) {
  const std::vector<float> data = plain_data<float>(7, 0, 1, 20000, 3);
  for (const Hard hard : {Hard::narrow, Hard::exponents, Hard::cancelling, Hard::mixed}) {
    expect_right(data, hard_weights<float>(hard, data.size(), 5), Bins::even(7, 0, 1), {.variances = true});
    expect_right(data, hard_weights<double>(hard, data.size(), 6), Bins::even(7, 0, 1));
  }
}

TEST_P(WeightedHistogramTest, NumbersThatAreNoneFollowTheRuleOfSums) {
  constexpr float inf = INFINITY;
  const float nan = std::bit_cast<float>(0xffc00001U);
  const std::vector<float> data{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, -1, 9, NAN, 5};
  const std::vector<float> by{1, inf, -inf, 2, inf, -inf, nan, 1, nan, -inf, inf, -inf, nan, -0.0F};
  expect_right(data, by, Bins::even(6, 0, 6), {.variances = true});
  const WeightedHistogram found = weighted_histogram(device, data, by, Bins::even(6, 0, 6));
  EXPECT_EQ(found.totals()[0], INFINITY);
  EXPECT_EQ(found.totals()[1], -INFINITY);
  for (const std::size_t bin : {2, 3, 4}) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(found.totals()[bin]), 0x7ff8000000000000U);
  }
  EXPECT_EQ(std::bit_cast<std::uint64_t>(found.totals()[5]), 0U);
  EXPECT_EQ(found.below(), INFINITY);
  EXPECT_EQ(found.above(), -INFINITY);
  EXPECT_TRUE(std::isnan(found.nan()));
}

TEST_P(WeightedHistogramTest, SizesMisalignedViewsAndAutomaticBins) {
  for (const std::size_t size : {0, 1, 2, 3, 31, 64, 65, 1021, 4099}) {
    const std::vector<float> all = plain_data<float>(9, 0, 1, size + 3, size);
    const std::vector<double> weights = hard_weights<double>(Hard::narrow, size + 3, size);
    const std::vector<float> data(all.begin() + 3, all.end());
    const std::vector<double> by(weights.begin() + 3, weights.end());
    expect_right(data, by, Bins::even(9, 0, 1));
    const Buffer<float> buffer = device.upload(all);
    const Buffer<double> by_buffer = device.upload(weights);
    const auto part = buffer.slice(3, size);
    const auto by_part = by_buffer.slice(3, size);
    EXPECT_TRUE(weighted_histogram(part, Dtype::f32, by_part, Dtype::f64, Bins::even(9, 0, 1)) ==
                weighted_histogram(device, data, by, Bins::even(9, 0, 1)));
  }
  const std::vector<std::int16_t> data = plain_data<std::int16_t>(5, 0, 100, 999);
  const std::vector<std::uint16_t> by = hard_weights<std::uint16_t>(Hard::mixed, 999, 1);
  expect_right(data, by, Bins::even(5));
  expect_right(data, by, Bins::automatic(Estimator::sturges));
  expect_right(data, by, Bins::integers(50));
  if (device.kind() == DeviceKind::cpu) expect_right(data, by, Bins::logarithmic(5, 1, 1000));
  expect_right(std::vector<std::int8_t>(99, 5), std::vector<std::int8_t>(99, -5), Bins::edges({200, 300}));
}

TEST_P(WeightedHistogramTest, ManyBins) {
  // More than tables of threads and work-groups hold.
  std::vector<std::uint32_t> data(60000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint32_t>(i * 7919 % 100003);
  expect_right(data, hard_weights<double>(Hard::exponents, data.size(), 4), Bins::integers(20000));
  // As many bins as u16 has values: slots are bits.
  expect_right(plain_data<std::uint16_t>(9, 0, 60000, 5000), hard_weights<std::int64_t>(Hard::mixed, 5000, 2),
               Bins::integers(65536));
  expect_right(plain_data<Half>(9, 0, 60, 5000), hard_weights<float>(Hard::mixed, 5000, 2), Bins::even(100, 0, 60));
}

TEST_P(WeightedHistogramTest, MoreBinsThanGpusHaveCopiesOfAllDigitsFor) {
  std::vector<std::uint32_t> data(40000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint32_t>(i * 7919 % 1003);
  for (const Hard hard : {Hard::narrow, Hard::exponents, Hard::mixed}) {
    expect_right(data, hard_weights<float>(hard, data.size(), 4), Bins::integers(1000));
    expect_right(data, hard_weights<double>(hard, data.size(), 4), Bins::integers(1000));
  }
  // What the first weights look like does not hold for the rest.
  std::vector<float> weights = hard_weights<float>(Hard::exponents, data.size(), 4);
  std::fill(weights.begin(), weights.end() - 100, 1.0F);
  expect_right(data, weights, Bins::integers(1000));
}

TEST_P(WeightedHistogramTest, Rows) {
  for (const auto& [rows, length] :
       {std::pair<std::size_t, std::size_t>{1, 77}, {5, 1}, {7, 333}, {300, 16}, {3, 5003}}) {
    expect_right(plain_data<float>(9, 0, 1, rows * length, rows), hard_weights<float>(Hard::mixed, rows * length, 1),
                 Bins::even(9, 0, 1), {.variances = rows == 7, .rows = rows});
    expect_right(plain_data<std::uint8_t>(9, 0, 99, rows * length, rows),
                 hard_weights<std::int32_t>(Hard::mixed, rows * length, 1), Bins::even(5, 0, 99),
                 {.outside = Outside::clamp, .rows = rows});
  }
}

TEST_P(WeightedHistogramTest, PiecesAndMerging) {
  const std::size_t size = 30011;
  const std::vector<float> data = plain_data<float>(9, 0, 1, size, 1);
  const std::vector<float> by = hard_weights<float>(Hard::exponents, size, 2);
  for (const std::uint64_t rows : {1, 11}) {
    const std::uint64_t all = size / rows * rows;
    const WeightedOptions options{.outside = Outside::clamp, .variances = true, .rows = rows, .memory = 1 << 18};
    const auto whole =
        weighted_histogram(device, std::span(data).first(all), std::span(by).first(all), Bins::even(9, 0, 1), options);
    WeightedHistogramAccumulator pieces(device, Dtype::f32, Dtype::f32, Bins::even(9, 0, 1), options, all / rows);
    const Buffer<float> buffer = device.upload(data);
    const Buffer<float> by_buffer = device.upload(by);
    std::uint64_t step = 1;
    for (std::uint64_t first = 0; first < all; step = 3 * step + 1) {
      const std::uint64_t length = std::min(step, all - first);
      if (step % 2 == 0) {
        pieces.add(ArrayView(std::span(data).subspan(first, length)), ArrayView(std::span(by).subspan(first, length)));
      } else {
        pieces.add_buffer(buffer.slice(first, length), Dtype::f32, by_buffer.slice(first, length), Dtype::f32);
      }
      first += length;
    }
    EXPECT_TRUE(pieces.result() == whole);
    EXPECT_EQ(pieces.result().n(), all);
    if (rows == 1) {
      // Every other device's share, merged into that of this one.
      WeightedHistogramAccumulator sum(device, Dtype::f32, Dtype::f32, Bins::even(9, 0, 1), options);
      std::uint64_t at = 0;
      for (const std::uint64_t length : {std::uint64_t{1000}, std::uint64_t{0}, all - 1000}) {
        WeightedHistogramAccumulator share(length == 1000 ? Device::open("cpu") : device, Dtype::f32, Dtype::f32,
                                           Bins::even(9, 0, 1), options);
        share.add(ArrayView(std::span(data).subspan(at, length)), ArrayView(std::span(by).subspan(at, length)));
        sum.merge(share);
        at += length;
      }
      EXPECT_TRUE(sum.result() == whole);
      EXPECT_EQ(sum.result().n(), all);
    }
  }
}

TEST_P(WeightedHistogramTest, OnAStream) {
  const std::vector<float> data = plain_data<float>(9, 0, 1, 5000, 1);
  const std::vector<float> by = hard_weights<float>(Hard::mixed, 5000, 2);
  const Buffer<float> buffer = device.upload(data);
  const Buffer<float> by_buffer = device.upload(by);
  Stream stream(device);
  auto pending = weighted_histogram(stream, buffer, by_buffer, Bins::even(9, 0, 1));
  EXPECT_TRUE(pending.get() == weighted_histogram(device, data, by, Bins::even(9, 0, 1)));
}

TEST_P(WeightedHistogramTest, PointsOfSeveralColumns) {
  for (const Outside outside : {Outside::drop, Outside::clamp}) {
    const std::size_t size = 7001;
    const std::vector<float> x = plain_data<float>(4, 0, 1, size, 1);
    const std::vector<float> y = plain_data<float>(3, -1, 1, size, 2);
    const std::vector<double> by = hard_weights<double>(Hard::exponents, size, 3);
    const std::vector<Bins> bins{Bins::edges({0, 0.25, 0.5, 0.75, 1}), Bins::even(3, -1, 1)};
    const WeightedOptions options{.outside = outside};
    const std::vector<ArrayView> columns{ArrayView(x), ArrayView(y)};
    const WeightedHistogram found = weighted_joint_histogram(device, columns, ArrayView(by), bins, options);
    ASSERT_EQ(found.dimensions(), 2U);
    std::vector<PlainTotal> expected(14);
    for (std::size_t i = 0; i < size; ++i) {
      const bool clamp = outside == Outside::clamp;
      const test::Plain a = test::plain_bin(x[i], found.edges(0), false, clamp);
      const test::Plain b = test::plain_bin(y[i], found.edges(1), false, clamp);
      const bool nan = a.place == test::Place::nan || b.place == test::Place::nan;
      const bool inside = a.place == test::Place::bin && b.place == test::Place::bin;
      expected[nan ? 13 : inside ? a.bin * 3 + b.bin : 12].add(by[i]);
    }
    expect_part(found.totals(), {}, {}, {}, std::span(expected).first(12), "cells", options, Dtype::f64);
    expect_part(found.extra_totals(), {}, {}, {}, std::span(expected).subspan(12), "extra", options, Dtype::f64);
    const Buffer<float> x_buffer = device.upload(x);
    const Buffer<float> y_buffer = device.upload(y);
    const std::vector<const BufferBase*> buffers{&x_buffer, &y_buffer};
    EXPECT_TRUE(weighted_joint_histogram(buffers, Dtype::f32, device.upload(by), Dtype::f64, bins, options) == found);
    std::vector<float> points;
    for (std::size_t i = 0; i < size; ++i) points.insert(points.end(), {x[i], y[i]});
    WeightedHistogramAccumulator accumulator(device, Dtype::f32, Dtype::f64, bins, options);
    accumulator.add_interleaved(ArrayView(points), ArrayView(by));
    EXPECT_TRUE(accumulator.result() == found);
    EXPECT_THROW((void)found.below(), Error);
    EXPECT_EQ(std::isnan(found.outside()), std::isnan(expected[12].sum.sum()));
  }
}

TEST_P(WeightedHistogramTest, SquaresBeyondTheRangeOfF64) {
  const std::vector<float> data{0, 0, 1, 1, 2};
  const std::vector<double> by{0x1p1000, 0x1p1000, 0x1p-537, 0x1p-537, 0x1p-539};
  const auto found = weighted_histogram(device, data, by, Bins::even(3, 0, 3), {.variances = true});
  EXPECT_EQ(found.variances()[0], INFINITY);
  EXPECT_EQ(found.variances()[1], 0x1p-1073);
  EXPECT_EQ(found.variances()[2], 0);
}

TEST_P(WeightedHistogramTest, IntegerTotalsThatDoNotFit) {
  const std::vector<float> data{0, 1, 1, 1, 9};
  const auto most = std::numeric_limits<std::int64_t>::max();
  const Bins bins = Bins::even(2, 0, 2);
  // What overflows between does no harm.
  const auto fits = weighted_histogram(device, data, std::vector<std::int64_t>{most, most, most, -most, most}, bins);
  EXPECT_EQ(fits.signed_totals()[1], most);
  const std::vector<std::int64_t> large{0, most, 1, 0, 0};
  MASU_EXPECT_ERROR((void)weighted_histogram(device, data, large, bins), invalid_argument,
                    "weighted_histogram: the total of bin 1 must fit i64, got one that does not");
  const std::vector<float> out{7, 7};
  const std::vector<std::uint64_t> full{1, ~std::uint64_t{0}};
  MASU_EXPECT_ERROR((void)weighted_histogram(device, out, full, bins), invalid_argument,
                    "the total of the values above the bins must fit u64");
}

TEST_P(WeightedHistogramTest, BadInput) {
  const std::vector<float> data(6);
  const std::vector<float> by(5);
  const Bins bins = Bins::even(2, 0, 1);
  MASU_EXPECT_ERROR((void)weighted_histogram(device, data, by, bins), invalid_argument,
                    "weighted_histogram: there must be a weight for each element, got 6 elements and 5 weights");
  MASU_EXPECT_ERROR((void)weighted_histogram(device.upload(data), device.upload(by), bins), invalid_argument,
                    "there must be a weight for each element, got 6 elements and 5 weights");
  MASU_EXPECT_ERROR((void)weighted_histogram(device, data, data, bins, {.rows = 4}), invalid_argument,
                    "4 rows must divide the elements, got 6");
  MASU_EXPECT_ERROR((void)weighted_histogram(device, data, data, bins, {.rows = 0}), invalid_argument,
                    "rows must be 1 to 4294967296, got 0");
  WeightedHistogramAccumulator accumulator(device, Dtype::f32, Dtype::f32, bins, {.rows = 2}, 2);
  MASU_EXPECT_ERROR(accumulator.add(ArrayView(data), ArrayView(std::vector<double>(6))), invalid_argument,
                    "weights must be f32 as before, got f64");
  MASU_EXPECT_ERROR(accumulator.add(ArrayView(std::vector<std::uint8_t>(6)), ArrayView(data)), invalid_argument,
                    "data must be f32 as before, got u8");
  MASU_EXPECT_ERROR(accumulator.add(ArrayView(data), ArrayView(data)), invalid_argument,
                    "2 rows hold 4 elements, got 6");
  WeightedHistogramAccumulator one(device, Dtype::f32, Dtype::f32, bins);
  const WeightedHistogramAccumulator other(device, Dtype::f32, Dtype::f32, Bins::even(3, 0, 1));
  EXPECT_THROW(one.merge(other), Error);
  EXPECT_THROW((void)one.result().totals(1), Error);
}

}  // namespace
}  // namespace masu
