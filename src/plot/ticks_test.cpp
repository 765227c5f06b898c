// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

namespace masu::plot {
namespace {

using ::testing::ElementsAre;

// What a reader understands: "2.5k", "−3", {"5×10", "−7"}.
long double understood(const Label& label) {
  std::string text = label.text;
  for (std::size_t at; (at = text.find("\u2212")) != text.npos;) text.replace(at, 3, "-");
  for (std::size_t at; (at = text.find(',')) != text.npos;) text.erase(at, 1);
  for (std::size_t at; (at = text.find(' ')) != text.npos;) text.erase(at, 1);
  long double power = 1;
  if (!label.power.empty()) {
    std::string exponent = label.power;
    if (exponent.starts_with("\u2212")) exponent.replace(0, 3, "-");
    power = std::pow(10.0L, std::atoi(exponent.c_str()));
    if (text.ends_with("10")) text.erase(text.size() - 2);
    if (text.ends_with("×")) text.erase(text.size() - 2);
    if (text.empty()) text = "1";
  }
  char* end = nullptr;
  const long double number = std::strtold(text.c_str(), &end);
  const std::map<std::string, long double> units = {{"", 1}, {"k", 1e3L}, {"M", 1e6L}, {"G", 1e9L}, {"T", 1e12L}};
  EXPECT_TRUE(units.contains(end)) << label.text;
  return number * units.at(end) * power;
}

long double understood(const Axis& axis, const Tick& tick) {
  long double value = understood(tick.label);
  if (!axis.factor.power.empty()) value *= understood(Label{"10", axis.factor.power});
  if (!axis.offset.empty()) value += understood(Label{axis.offset, ""});
  return value;
}

void expect_good(const Axis& axis, unsigned most) {
  SCOPED_TRACE(testing::Message() << axis.lo << " to " << axis.hi << (axis.logarithmic ? " log" : ""));
  ASSERT_GE(axis.ticks.size(), 2U);
  EXPECT_LE(axis.ticks.size(), most + 1);
  std::set<std::pair<std::string, std::string>> seen;
  const double length = axis.logarithmic ? 0 : axis.hi - axis.lo;
  for (std::size_t i = 0; i < axis.ticks.size(); ++i) {
    const Tick& tick = axis.ticks[i];
    EXPECT_GE(tick.value, axis.logarithmic ? axis.lo * (1 - 1e-8) : axis.lo - length * 1e-8);
    EXPECT_LE(tick.value, axis.logarithmic ? axis.hi * (1 + 1e-8) : axis.hi + length * 1e-8);
    if (i > 0) {
      EXPECT_GT(tick.value, axis.ticks[i - 1].value);
    }
    EXPECT_TRUE(seen.emplace(tick.label.text, tick.label.power).second) << tick.label.text << " stands twice";
    const long double error = std::abs(understood(axis, tick) - static_cast<long double>(tick.value));
    const double allowed = std::max(std::abs(tick.value) * 1e-12, length * 1e-9);
    EXPECT_LE(error, static_cast<long double>(allowed)) << tick.label.text << tick.label.power << axis.offset;
  }
}

Axis named(double lo, double hi, bool logarithmic = false, unsigned most = 6, Numbers numbers = Numbers::values) {
  Axis axis;
  axis.lo = lo;
  axis.hi = hi;
  axis.logarithmic = logarithmic;
  axis.name(most, numbers);
  return axis;
}

std::vector<std::string> texts(const Axis& axis) {
  std::vector<std::string> found;
  for (const Tick& tick : axis.ticks)
    found.push_back(tick.label.text + (tick.label.power.empty() ? "" : "^" + tick.label.power));
  return found;
}

TEST(Ticks, StandAtRoundNumbers) {
  EXPECT_THAT(texts(named(0, 256)), ElementsAre("0", "50", "100", "150", "200", "250"));
  EXPECT_THAT(texts(named(-1, 1)), ElementsAre("\u22121.0", "\u22120.5", "0.0", "0.5", "1.0"));
  EXPECT_THAT(texts(named(0, 1050000, false, 6, Numbers::counts)),
              ElementsAre("0", "200k", "400k", "600k", "800k", "1M"));
  EXPECT_THAT(texts(named(0, 3, false, 6, Numbers::counts)), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(texts(named(1e-3, 1e3, true, 8)), ElementsAre("0.001", "0.01", "0.1", "1", "10", "100", "1000"));
  EXPECT_THAT(texts(named(0.5, 2e6, true, 8, Numbers::counts)),
              ElementsAre("1", "10", "100", "1k", "10k", "100k", "1M"));
  EXPECT_THAT(texts(named(1e-10, 1e10, true, 6)), ElementsAre("10^\u221210", "10^\u22125", "10^0", "10^5", "10^10"));
}

TEST(Ticks, LongNumbersShareAFactorOrAnOffset) {
  const Axis wide = named(0, 4294967296.0);
  EXPECT_EQ(wide.factor, (Label{"×10", "9"}));
  EXPECT_THAT(texts(wide), ElementsAre("0", "1", "2", "3", "4"));
  const Axis far = named(1e9, 1e9 + 1);
  EXPECT_EQ(far.offset, "+ 1,000,000,000");
  EXPECT_THAT(texts(far), ElementsAre("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_EQ(named(1e-300, 3e-300).factor, (Label{"×10", "\u2212300"}));
}

TEST(Ticks, AnyLinearRangeIsReadable) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-290, 290);
  for (int i = 0; i < 3000; ++i) {
    const double middle = mantissa(random) * std::pow(10, exponent(random));
    const double length = std::abs(middle) * std::pow(10, std::uniform_real_distribution<double>(-9, 9)(random));
    const unsigned most = 2 + static_cast<unsigned>(i % 11);
    if (length == 0 || middle + length == middle) continue;
    const Axis axis = named(middle, middle + length, false, most + 2);
    expect_good(axis, most + 2);
  }
  for (int i = 0; i < 300; ++i) {
    const double most = std::pow(10, std::uniform_real_distribution<double>(0.5, 18)(random));
    expect_good(named(0, most, false, 8, Numbers::counts), 8);
  }
}

TEST(Ticks, AnyLogarithmicRangeIsReadable) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    const double lo = std::uniform_real_distribution<double>(-300, 300)(random);
    const double hi = std::min(307.0, lo + std::pow(10, std::uniform_real_distribution<double>(-1, 2.5)(random)));
    if (hi - lo < 0.1) continue;
    expect_good(named(std::pow(10, lo), std::pow(10, hi), true, 7), 8);
  }
}

TEST(Ticks, ExtremesHaveAnAxisToo) {
  const double most = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  for (const auto& [lo, hi] :
       {std::pair{-most, most}, {0.0, most}, {least, 20 * least}, {0.0, least}, {1e16, 1e16 + 4}}) {
    const Axis axis = named(lo, hi);
    for (const Tick& tick : axis.ticks) {
      EXPECT_GE(axis.at(tick.value), -1e-6) << lo;
      EXPECT_LE(axis.at(tick.value), 1 + 1e-6) << lo;
    }
  }
  EXPECT_GE(named(-most, most).ticks.size(), 3U);
  EXPECT_GE(named(least, most, true).ticks.size(), 3U);
}

TEST(Ticks, PlacesAndValuesAgree) {
  for (const bool logarithmic : {false, true}) {
    Axis axis;
    axis.lo = 2;
    axis.hi = 5000;
    axis.logarithmic = logarithmic;
    EXPECT_EQ(axis.value(0), 2);
    EXPECT_EQ(axis.value(1), 5000);
    for (double at = 0.05; at < 1; at += 0.05) EXPECT_NEAR(axis.at(axis.value(at)), at, 1e-12);
  }
}

TEST(Ticks, LargeNumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

}  // namespace
}  // namespace masu::plot
