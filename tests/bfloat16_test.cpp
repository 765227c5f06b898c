// SPDX-License-Identifier: Apache-2.0
// All 65,536 values of bf16 through the primitives, beside the same numbers in f32: what is chosen or counted is the
// same, what is computed is the f32 arithmetic's number, or the exact one, rounded once.
#include "each_device.h"
#include "elements/stored_float.h"

#include <gtest/gtest.h>
#include <masu/masu.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace masu {
namespace {

constexpr std::size_t values = 65536;

float number(Bfloat16 x) {
  return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}

// To nearest, ties to even, by integers; a NaN is the quiet one.
Bfloat16 rounded(double x) {
  if (std::isnan(x)) return {0x7fc0};
  const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
  const double magnitude = std::fabs(x);
  if (magnitude >= 0x1.ffp127) return {static_cast<std::uint16_t>(sign | 0x7f80)};
  const int exponent = magnitude < 0x1p-126 ? -126 : std::ilogb(magnitude);
  const double units = std::nearbyint(std::ldexp(magnitude, 7 - exponent));
  const auto fraction = static_cast<int>(units);  // from 128 on with the leading bit, a carry in the exponent's field
  return {static_cast<std::uint16_t>(sign | (((exponent + 126) << 7) + fraction))};
}

std::vector<Bfloat16> all_values(std::size_t factor = 40503) {
  std::vector<Bfloat16> all(values);
  for (std::size_t i = 0; i < values; ++i) all[i] = {static_cast<std::uint16_t>(i * factor)};
  return all;
}
std::vector<float> as_floats(const std::vector<Bfloat16>& x) {
  std::vector<float> all(x.size());
  std::ranges::transform(x, all.begin(), number);
  return all;
}
std::vector<Bfloat16> finite_values() {
  std::vector<Bfloat16> all = all_values();
  std::erase_if(all, [](Bfloat16 x) { return !std::isfinite(number(x)); });
  return all;
}
// Rows of two finite values of all exponents, near and far from each other.
std::vector<Bfloat16> pairs() {
  const std::vector<Bfloat16> all = finite_values();
  std::vector<Bfloat16> made;
  for (std::size_t i = 0; i < all.size(); ++i) {
    made.push_back(all[i]);
    made.push_back(i % 3 == 0   ? all[(i * 7919 + 1) % all.size()]
                   : i % 3 == 1 ? Bfloat16{static_cast<std::uint16_t>(all[i].bits ^ (i % 5 == 0 ? 0x8000 : i % 97))}
                                : Bfloat16{static_cast<std::uint16_t>((all[i].bits & 0x7f80) % 0x7f80 | i % 128)});
    if (!std::isfinite(number(made.back()))) made.back() = all[i / 2];
  }
  return made;
}

class Bfloat16Test : public test::EachDevice {};
MASU_ON_EACH_DEVICE(Bfloat16Test);

TEST_P(Bfloat16Test, Converted) {
  const std::vector<Bfloat16> x = all_values();
  const std::vector<float> floats = convert<float>(device, x);
  for (std::size_t i = 0; i < values; ++i) {
    const std::uint32_t quiet = std::isnan(number(x[i])) ? 0x400000U : 0U;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]), std::uint32_t{x[i].bits} << 16 | quiet) << i;
  }
  std::vector<Bfloat16> expected = x;
  for (Bfloat16& each : expected) {
    if (std::isnan(number(each))) each.bits = static_cast<std::uint16_t>(each.bits | 0x40);
  }
  EXPECT_EQ(convert<Bfloat16>(device, floats), expected);
  // Between each value and the next, at the middle and on its sides.
  for (const std::uint32_t between : {1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
    std::vector<float> more;
    std::vector<Bfloat16> nearest;
    for (const Bfloat16 each : x) {
      if (std::isnan(number(each)) || std::isinf(number(each))) continue;
      more.push_back(std::bit_cast<float>(std::uint32_t{each.bits} << 16 | between));
      nearest.push_back(rounded(static_cast<double>(more.back())));
    }
    EXPECT_EQ(convert<Bfloat16>(device, more, {.overflow = Overflow::wrap}), nearest) << between;
  }
}

TEST_P(Bfloat16Test, Ordered) {
  const std::vector<Bfloat16> x = all_values();
  const std::vector<float> floats = as_floats(x);
  for (const Order order : {Order::ascending, Order::descending}) {
    std::vector<std::uint64_t> places(values);
    std::vector<std::uint64_t> expected(values);
    argsort(device, ArrayView(x), MutableArrayView(places), {.order = order});
    argsort(Device::open("cpu"), ArrayView(floats), MutableArrayView(expected), {.order = order});
    ASSERT_EQ(places, expected);
    std::vector<Bfloat16> sorted = x;
    sort(device, MutableArrayView(sorted), {.order = order});
    for (std::size_t i = 0; i < values; ++i) ASSERT_EQ(sorted[i], x[expected[i]]) << i;
    std::vector<Bfloat16> many(5 * values);  // so many that they are counted
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = x[i % values];
    std::vector<Bfloat16> in_order = many;
    std::ranges::stable_sort(in_order, [&](Bfloat16 a, Bfloat16 b) {
      const auto before = [](float p, float q) { return std::isnan(q) ? !std::isnan(p) : p < q; };
      return order == Order::ascending ? before(number(a), number(b)) : before(number(b), number(a));
    });
    sort(device, MutableArrayView(many), {.order = order});
    ASSERT_EQ(many, in_order);
  }
}

TEST_P(Bfloat16Test, Chosen) {
  const std::vector<Bfloat16> x = all_values();
  const std::vector<float> floats = as_floats(x);
  for (const bool largest : {true, false}) {
    const TopkResult found = topk(device, ArrayView(x), 500, {.largest = largest});
    const TopkResult expected = topk(Device::open("cpu"), ArrayView(floats), 500, {.largest = largest});
    EXPECT_TRUE(std::ranges::equal(found.indices(), expected.indices()));
    for (std::size_t i = 0; i < 500; ++i) ASSERT_EQ(found.values<Bfloat16>()[i], x[expected.indices()[i]]);
  }
  const UniqueOptions options{.counts = true, .indices = true, .inverse = true};
  const Unique<Bfloat16> found = unique(device, x, options);
  const Unique<float> expected = unique(Device::open("cpu"), floats, options);
  EXPECT_EQ(found.counts, expected.counts);
  EXPECT_EQ(found.indices, expected.indices);
  EXPECT_EQ(found.inverse, expected.inverse);
  ASSERT_EQ(found.values.size(), expected.values.size());
  for (std::size_t i = 0; i < found.values.size(); ++i) ASSERT_EQ(found.values[i], x[expected.indices[i]]);
  const auto [least, greatest] = minmax(device.upload(finite_values()));
  EXPECT_EQ(least.bits, 0xff7f);
  EXPECT_EQ(greatest.bits, 0x7f7f);
  std::vector<Bfloat16> sorted = finite_values();
  sort(device, MutableArrayView(sorted));
  EXPECT_EQ(searchsorted(device, sorted, x), searchsorted(Device::open("cpu"), as_floats(sorted), floats));
}

TEST_P(Bfloat16Test, Counted) {
  const std::vector<Bfloat16> x = all_values();
  const std::vector<float> floats = as_floats(x);
  const Device cpu = Device::open("cpu");
  const auto expect_same = [&](const Bins& bins) {
    const Histogram found = histogram(device, x, bins);
    const Histogram expected = histogram(cpu, floats, bins);
    EXPECT_TRUE(std::ranges::equal(found.counts(), expected.counts()));
    EXPECT_EQ(found.edges(), expected.edges());
    EXPECT_EQ(found.below(), expected.below());
    EXPECT_EQ(found.above(), expected.above());
    EXPECT_EQ(found.nan(), expected.nan());
  };
  expect_same(Bins::even(100, -3, 10));
  expect_same(Bins::even(7, 0, 1));
  expect_same(Bins::even(1000, ValueRange{-1e30, 3e38, false}));
  expect_same(Bins::even(100000, -1, 1));
  expect_same(Bins::edges({-1e30, -1.5, 0, 0.1, 0.1, 1, 65504, 1e38}));
  // The rules find what they find of the same numbers.
  std::vector<Bfloat16> some = x;
  std::erase_if(some, [](Bfloat16 each) { return !(std::fabs(number(each)) >= 1 && std::fabs(number(each)) < 64); });
  const std::vector<float> same = as_floats(some);
  for (const Estimator estimator : {Estimator::automatic, Estimator::fd, Estimator::doane, Estimator::scott,
                                    Estimator::rice, Estimator::sturges, Estimator::sqrt}) {
    for (const Bins& bins : {Bins::automatic(estimator), Bins::automatic(estimator, -0.3, 10.1)}) {
      const Histogram found = histogram(device, some, bins);
      const Histogram expected = histogram(cpu, same, bins);
      EXPECT_EQ(found.edges(), expected.edges()) << to_string(estimator);
      EXPECT_TRUE(std::ranges::equal(found.counts(), expected.counts())) << to_string(estimator);
    }
  }
}

TEST_P(Bfloat16Test, Summed) {
  const std::vector<Bfloat16> x = finite_values();
  const std::vector<float> floats = as_floats(x);
  const Device cpu = Device::open("cpu");
  for (const Dtype result : {Dtype::bf16, Dtype::f16, Dtype::f32, Dtype::f64}) {
    for (const std::uint64_t rows : {1, 255, 1020}) {
      const std::uint64_t most = x.size() / rows * rows;
      const std::span part(x.data(), most);
      const std::span same(floats.data(), most);
      const SumOptions options{.rows = rows, .result = result};
      for (const auto function :
           {static_cast<SumResult (*)(const Device&, const ArrayView&, const SumOptions&)>(sum),
            static_cast<SumResult (*)(const Device&, const ArrayView&, const SumOptions&)>(mean),
            static_cast<SumResult (*)(const Device&, const ArrayView&, const SumOptions&)>(norm2),
            static_cast<SumResult (*)(const Device&, const ArrayView&, const SumOptions&)>(variance)}) {
        const SumResult found = function(device, ArrayView(part), options);
        const SumResult expected = function(cpu, ArrayView(same), options);
        for (std::uint64_t row = 0; row < rows; ++row) ASSERT_EQ(found.value(row), expected.value(row)) << row;
      }
    }
  }
  // The sum of two values in f64, rounded: one is far less than the other, or their sum is exact.
  const std::vector<Bfloat16> two = pairs();
  const std::uint64_t rows = two.size() / 2;
  const SumResult sums = sum(device, ArrayView(two), {.rows = rows, .result = Dtype::bf16});
  const SumResult means = mean(device, ArrayView(two), {.rows = rows, .result = Dtype::bf16});
  std::vector<Bfloat16> running(two.size());
  scan(device, ArrayView(two), MutableArrayView(running), {.rows = rows});
  for (std::uint64_t row = 0; row < rows; ++row) {
    const double a = static_cast<double>(number(two[2 * row]));
    const double b = static_cast<double>(number(two[2 * row + 1]));
    const Bfloat16 expected = rounded(a + b + 0.0);
    ASSERT_EQ(sums.value(row), static_cast<double>(number(expected))) << a << ' ' << b;
    ASSERT_EQ(means.value(row), static_cast<double>(number(rounded((a + b) / 2)))) << a << ' ' << b;
    ASSERT_EQ(running[2 * row + 1], expected) << a << ' ' << b;
  }
}

// A sum of two that lies half way between subnormal f16 numbers but for a little, which f64 does not hold.
TEST_P(Bfloat16Test, SumsAsHalvesAreRoundedOnce) {
  const std::vector<Bfloat16> x = {rounded(0x1.8p-24), rounded(0x1p-120),  rounded(0x1p-25),
                                   rounded(0x1p-130),  rounded(0x1.8p-24), rounded(-0x1p-120)};
  const SumResult sums = sum(device, ArrayView(x), {.rows = 3, .result = Dtype::f16});
  EXPECT_EQ(sums.value(0), 0x1p-23);
  EXPECT_EQ(sums.value(1), 0x1p-24);
  EXPECT_EQ(sums.value(2), 0x1p-24);
  const Buffer<Bfloat16> there = device.upload(x);
  Buffer<Half> results(device, 3);
  Stream stream(device);
  sum(stream, there, Dtype::bf16, results, {.rows = 3, .result = Dtype::f16}).get();
  EXPECT_EQ(results.read(), (std::vector<Half>{{2}, {1}, {1}}));
}

TEST_P(Bfloat16Test, RunningSums) {
  std::vector<Bfloat16> x = finite_values();
  x.resize(60000);
  std::vector<Bfloat16> found(x.size());
  scan(device, ArrayView(x), MutableArrayView(found));
  ExactSum total;
  for (std::size_t i = 0; i < x.size(); ++i) {
    total.add(static_cast<double>(number(x[i])));
    ASSERT_EQ(static_cast<double>(number(found[i])), total.sum(Dtype::bf16)) << i;
  }
  std::vector<Bfloat16> greatest(x.size());
  scan(device, ArrayView(x), MutableArrayView(greatest), {.op = ScanOp::max});
  std::vector<float> expected = as_floats(x);
  for (std::size_t i = 1; i < expected.size(); ++i) expected[i] = std::max(expected[i - 1], expected[i]);
  EXPECT_EQ(as_floats(greatest), expected);
}

TEST_P(Bfloat16Test, Quantiles) {
  const std::vector<Bfloat16> x = finite_values();
  const std::vector<float> floats = as_floats(x);
  const Device cpu = Device::open("cpu");
  const std::vector<double> q{0, 0.001, 0.25, 1 / 3.0, 0.5, 0.777, 1};
  for (const QuantileMethod method : {QuantileMethod::linear, QuantileMethod::hazen, QuantileMethod::lower}) {
    const QuantileOptions options{.method = method, .rows = 255};
    const std::size_t most = x.size() / 255 * 255;
    EXPECT_EQ(quantiles(device, std::span(x.data(), most), q, options),
              quantiles(cpu, std::span(floats.data(), most), q, options));
  }
  // Results in bf16: those in f32, rounded once.
  const std::vector<Bfloat16> two = pairs();
  const std::vector<float> same = as_floats(two);
  const std::uint64_t rows = two.size() / 2;
  Stream stream(device);
  Stream on_cpu(cpu);
  const Buffer<Bfloat16> there = device.upload(two);
  const Buffer<float> here = cpu.upload(same);
  for (const double place : {0.25, 0.4, 0.9}) {
    const std::vector<QuantilePoint> points = quantile_points(QuantileMethod::linear, 2, std::vector{place});
    Buffer<Bfloat16> found(device, rows);
    Buffer<float> expected(cpu, rows);
    quantiles(stream, there, Dtype::bf16, points, found, Dtype::bf16, {.rows = rows}).get();
    quantiles(on_cpu, here, Dtype::f32, points, expected, Dtype::f32, {.rows = rows}).get();
    const std::vector<Bfloat16> got = found.read();
    const std::vector<float> in_f32 = expected.read();
    for (std::uint64_t row = 0; row < rows; ++row) {
      ASSERT_EQ(got[row], rounded(static_cast<double>(in_f32[row]))) << place << ' ' << row;
    }
  }
  Buffer<Bfloat16> medians(device, rows);
  median(stream, there, Dtype::bf16, medians, {.rows = rows}).get();
  const std::vector<Bfloat16> got = medians.read();
  for (std::uint64_t row = 0; row < rows; ++row) {
    const double mean = (static_cast<double>(same[2 * row]) + static_cast<double>(same[2 * row + 1]) + 0.0) / 2;
    ASSERT_EQ(number(got[row]), number(rounded(mean))) << row;
  }
}

}  // namespace
}  // namespace masu
