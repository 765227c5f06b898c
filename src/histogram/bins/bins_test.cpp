// SPDX-License-Identifier: Apache-2.0
// What a caller may ask for, and f16 data in even bins, against NumPy and against the plain oracle.
#include "histogram/bins/bin_rule.h"
#include "histogram/bins/bins_test_data.h"
#include "histogram/histogram_reference.h"

#include <masu/bins.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace masu {
namespace {

constexpr std::uint32_t patterns = 1U << 16;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Every f16 value by the oracle, one after the other.
std::vector<std::uint32_t> slots_by_oracle(const BinRule& rule) {
  std::vector<double> edges(rule.n + 1);
  for (std::uint64_t i = 0; i <= rule.n; ++i) edges[i] = rule.edge(i);
  const auto half = reference::half_even(rule);
  std::vector<std::uint32_t> slots(patterns);
  const auto n = static_cast<std::uint32_t>(rule.n);
  for (std::uint32_t bits = 0; bits < patterns; ++bits) {
    const double x = reference::half_value(static_cast<std::uint16_t>(bits));
    const bool above = x > edges.back() || (rule.half_open && x == edges.back());
    slots[bits] = std::isnan(x)       ? n + 2
                  : x < edges.front() ? n
                  : above             ? n + 1
                                      : static_cast<std::uint32_t>(reference::bin_of(x, edges, half));
  }
  return slots;
}

// Every f16 value by comparing f32 with thresholds, as a device does.
std::vector<std::uint32_t> slots_by_thresholds(const BinRule& rule) {
  const auto thresholds = half_thresholds(rule);
  EXPECT_TRUE(thresholds.has_value());
  std::vector<std::uint32_t> slots(patterns);
  const auto n = static_cast<std::uint32_t>(rule.n);
  for (std::uint32_t bits = 0; bits < patterns; ++bits) {
    const auto x = static_cast<float>(reference::half_value(static_cast<std::uint16_t>(bits)));
    const auto& lower = thresholds->lower;
    if (std::isnan(x)) slots[bits] = n + 2;
    else if (thresholds->all_below || !(x >= thresholds->first)) slots[bits] = n;
    else if (thresholds->all_above || !(x <= thresholds->last)) slots[bits] = n + 1;
    else slots[bits] = static_cast<std::uint32_t>(std::upper_bound(lower.begin(), lower.end(), x) - lower.begin() - 1);
  }
  return slots;
}

void expect_half_rule(const Bins& bins, bool right_open = false, bool joint = false) {
  const BinRule rule(bins, Dtype::f16, right_open, joint);
  const std::vector<std::uint32_t> slots = rule.half_slots();
  EXPECT_EQ(slots, slots_by_oracle(rule));
  EXPECT_EQ(slots, slots_by_thresholds(rule));
}

std::uint64_t digest(const auto& values) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const auto value : values) h = (h ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3;
  return h;
}

TEST(BinsTest, f16_as_numpy_counts_it) {
  for (const test::HalfCase& c : test::half_cases) {
    const Bins bins = c.from_data ? Bins::even(c.n, ValueRange{c.lo, c.hi, false}) : Bins::even(c.n, c.lo, c.hi);
    const BinRule rule(bins, Dtype::f16, false);
    const std::vector<std::uint32_t> slots = rule.half_slots();
    std::vector<std::uint64_t> counts(c.n + extra_slots);
    // NumPy was given the finite values; none of the others may fall into a bin.
    for (const std::uint32_t slot : slots) ++counts[slot];
    counts.resize(c.n);
    std::vector<double> edges(c.n + 1);
    for (std::uint64_t i = 0; i <= c.n; ++i) edges[i] = rule.edge(i);
    EXPECT_EQ(digest(counts), c.counts) << c.from_data << " " << c.n << " " << c.lo << ":" << c.hi;
    EXPECT_EQ(digest(edges), c.edges) << c.from_data << " " << c.n << " " << c.lo << ":" << c.hi;
  }
}

TEST(BinsTest, f16_rule_oracle_and_thresholds_agree) {
  for (std::size_t i = 0; i < std::size(test::half_cases); i += 3) {
    const test::HalfCase& c = test::half_cases[i];
    expect_half_rule(c.from_data ? Bins::even(c.n, ValueRange{c.lo, c.hi, false}) : Bins::even(c.n, c.lo, c.hi));
  }
  expect_half_rule(Bins::even(10, 0, 1), true);
  expect_half_rule(Bins::even(10, 0, 1), false, true);
  expect_half_rule(Bins::even(10, -1e6, 1e6), false, true);
  expect_half_rule(Bins::even(3, ValueRange{-60000, 60000, false}));  // wider than f16 can say
  expect_half_rule(Bins::even(20, -60000, 60000));
  expect_half_rule(Bins::even(4, ValueRange{2, 2, true}));
  expect_half_rule(Bins::edges({-INFINITY, -1, 0, 0, 0.1, 1000, INFINITY}));
  expect_half_rule(Bins::edges({1e6, 2e6}));
  expect_half_rule(Bins::edges({-2e6, -1e6}));
  expect_half_rule(Bins::edges({65504, 65505}));
  expect_half_rule(Bins::edges({0.1, 0.2, 1e9, 2e9}), true);
  expect_half_rule(Bins::logarithmic(30, 1e-8, 1e5));
}

TEST(BinsTest, f16_that_numpy_refuses) {
  EXPECT_THROW(BinRule(Bins::even(100, 1, 1.01), Dtype::f16, false), Error);
  EXPECT_THROW(BinRule(Bins::even(70000, 0, 1), Dtype::f16, false), Error);
  EXPECT_THROW(BinRule(Bins::even(3, ValueRange{2048, 2048, true}), Dtype::f16, false), Error);
  EXPECT_THROW(BinRule(Bins::even(2, 0, 1e6), Dtype::f16, false), Error);
  EXPECT_THROW(BinRule(Bins::even(2, -1e6, 0), Dtype::f16, false), Error);
  EXPECT_THROW(BinRule(Bins::integers(10), Dtype::f16, false), Error);
  EXPECT_NE(message_of([] { BinRule(Bins::even(100, 1, 1.01), Dtype::f16, false); }).find("f16"), std::string::npos);
}

// numpy.histogramdd: linspace(lo, hi) of the caller's f64, but of the data's own type where the range is the data's.
TEST(BinsTest, joint_columns_keep_f64_edges) {
  for (const Dtype dtype : {Dtype::f16, Dtype::f32, Dtype::f64, Dtype::i32, Dtype::u8}) {
    const BinRule rule(Bins::even(10, 0, 1), dtype, false, true);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(rule.edge(i), static_cast<double>(i) * 0.1) << to_string(dtype);
  }
  EXPECT_EQ(BinRule(Bins::even(10, 0, 1), Dtype::f32, false).edge(3), static_cast<double>(3 * 0.1F));
  const BinRule found(Bins::even(10, ValueRange{0, 1, false}), Dtype::f32, false, true);
  EXPECT_EQ(found.edge(7), static_cast<double>(7 * 0.1F));
  const BinRule half(Bins::even(10, ValueRange{0, 1, false}), Dtype::f16, false, true);
  EXPECT_EQ(half.edge(3), 0.2998046875);  // half(3 * half(0.1))
}

TEST(BinsTest, same_edges) {
  const auto rule = [](const Bins& bins, Dtype dtype) { return BinRule(bins, dtype, false); };
  const BinRule a = rule(Bins::even(8, 0, 1), Dtype::f16);
  EXPECT_TRUE(a.same_edges(rule(Bins::even(8, 0, 1), Dtype::f16)));
  EXPECT_TRUE(a.same_edges(rule(Bins::even(8, ValueRange{0, 1, false}), Dtype::f16)));
  EXPECT_TRUE(a.same_edges(rule(Bins::even(8, 0, 1), Dtype::f64)));
  EXPECT_FALSE(rule(Bins::even(10, 0, 1), Dtype::f16).same_edges(rule(Bins::even(10, 0, 1), Dtype::f32)));
  EXPECT_FALSE(a.same_edges(rule(Bins::even(8, 0, 2), Dtype::f16)));
  EXPECT_FALSE(a.same_edges(BinRule(Bins::even(8, 0, 1), Dtype::f16, true)));
}

TEST(BinsTest, names) {
  for (const char* name : {"auto", "global", "private", "local", "lanes", "packed", "partitioned"}) {
    EXPECT_EQ(to_string(strategy_from_name(name)), name);
  }
  for (const char* name : {"auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"}) {
    EXPECT_EQ(to_string(estimator_from_name(name)), name);
  }
  EXPECT_EQ(estimator_from_name("auto"), Estimator::automatic);
  EXPECT_EQ(
      message_of([] { estimator_from_name("freedman"); }),
      "histogram: the rule for bins is one of auto, fd, doane, scott, stone, rice, sturges, sqrt; got 'freedman'");
  const std::string message = message_of([] { strategy_from_name("fast"); });
  EXPECT_TRUE(message.starts_with("histogram: strategy is one of auto, global, private")) << message;
  EXPECT_TRUE(message.ends_with("packed, partitioned; got 'fast'")) << message;
  EXPECT_EQ(message_of([] { strategy_from_name("sequential"); }),
            "histogram: strategy sequential has left masu; its one loop is in the example program atomic_histogram");
}

TEST(BinsTest, bad_bins) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(Bins::even(0), Error);
  EXPECT_THROW(Bins::even((std::uint64_t{1} << 31) + 1), Error);
  EXPECT_THROW(Bins::even(1, 2, 1), Error);
  EXPECT_THROW(Bins::even(1, 0, INFINITY), Error);
  EXPECT_THROW(Bins::even(1, nan, 1), Error);
  EXPECT_THROW(Bins::edges({1}), Error);
  EXPECT_THROW(Bins::edges({1, nan}), Error);
  EXPECT_THROW(Bins::edges({1, 0}), Error);
  EXPECT_THROW(Bins::automatic(Estimator::fd, 1, 0), Error);
  EXPECT_THROW(Bins::automatic(Estimator::fd, 0, INFINITY), Error);
  for (const Bins& bins : {Bins::even(3), Bins::automatic(Estimator::stone), Bins::automatic(Estimator::fd, 0, 1)}) {
    EXPECT_TRUE(bins.needs_data());
    EXPECT_THROW(BinRule(bins, Dtype::f32, false), Error);
  }
  EXPECT_FALSE(Bins::even(3, 0, 1).needs_data());
  EXPECT_EQ(Bins::automatic(Estimator::fd, 0, 1).size(), 0U);
}

TEST(BinsTest, default_bins_hold_near_and_far_values) {
  const double most = std::numeric_limits<double>::max();
  const double one_ulp = 1 + 0x1p-52;
  const auto check = [](Dtype dtype, double lo, double hi) {
    for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{100}, std::uint64_t{1000}}) {
      const BinRule rule(bins_that_hold(n, {lo, hi, lo == hi}, dtype), dtype, false);
      EXPECT_EQ(rule.n, n);
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_LT(rule.edge(i), rule.edge(i + 1)) << to_string(dtype) << ' ' << lo;
      EXPECT_LT(rule.slot(lo), n) << to_string(dtype) << ' ' << lo;
      EXPECT_LT(rule.slot(hi), n) << to_string(dtype) << ' ' << hi;
    }
  };
  for (const double x : {0.0, 16.0, 2048.0, 65504.0, -65504.0, 0x1p-24}) check(Dtype::f16, x, x);
  for (const double x : {131072.0, 0x1p127, -0x1p127, 0x1p-149}) check(Dtype::f32, x, x);
  for (const double x : {1e300, -most, most, 5e-324}) check(Dtype::f64, x, x);
  check(Dtype::f64, 1, one_ulp);
  check(Dtype::f64, 0, 5e-324);
  check(Dtype::f64, -most, most);
  check(Dtype::f64, -1e308, most);
  for (const double x : {0x1p53, 0x1p60, -0x1p63, 0x1p63}) check(Dtype::i64, x, x);
  for (const double x : {0x1p53, 0x1p63, 0x1p64}) check(Dtype::u64, x, x);
  check(Dtype::i64, 0x1p53 - 1, 0x1p53 + 2);
  check(Dtype::u64, 0x1p63, 0x1p63 + 4096);
  EXPECT_EQ(BinRule(bins_that_hold(5000, {0, 10, false}, Dtype::f16), Dtype::f16, false).slot(10), 4999);
  EXPECT_EQ(BinRule(bins_that_hold(10, {0, 1, false}, Dtype::f64), Dtype::f64, false).edge(3), 3 * 0.1);
}

}  // namespace
}  // namespace masu
