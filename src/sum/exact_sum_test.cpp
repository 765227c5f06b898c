// SPDX-License-Identifier: Apache-2.0
#include <masu/sum.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace masu {
namespace {

template <class T>
ExactSum sum_of(const std::vector<T>& values) {
  ExactSum sum;
  sum.add(ArrayView(values));
  return sum;
}

TEST(ExactSum, IsPlusZeroWhenEmptyOrCancelled) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(ExactSum().sum()), 0U);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of<double>({-1e300, 1e300, -0.0}).sum()), 0U);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of<double>({-0.0}).sum()), 0U);
}

TEST(ExactSum, KeepsWhatPlainAdditionLoses) {
  EXPECT_EQ(sum_of<double>({1e308, 1.0, -1e308}).sum(), 1.0);
  EXPECT_EQ(sum_of<double>({1e308, 1e308, -1e308}).sum(), 1e308);  // no intermediate overflow
  EXPECT_EQ(sum_of<double>({5e-324, 1.0, -1.0}).sum(), 5e-324);
  EXPECT_EQ(sum_of<float>({0.1F, 0.2F}).sum(), static_cast<double>(0.1F) + static_cast<double>(0.2F));
}

TEST(ExactSum, RoundsOnceToNearestEven) {
  const double ulp = 0x1p-52;
  EXPECT_EQ(sum_of<double>({1.0, ulp / 2}).sum(), 1.0);
  EXPECT_EQ(sum_of<double>({1.0, ulp / 2, 5e-324}).sum(), 1.0 + ulp);
  EXPECT_EQ(sum_of<double>({1.0 + ulp, ulp / 2}).sum(), 1.0 + 2 * ulp);
  EXPECT_EQ(sum_of<double>({1.0, ulp / 2, -5e-324}).sum(), 1.0);
  EXPECT_EQ(sum_of<double>({-1.0, -ulp / 2, -5e-324}).sum(), -1.0 - ulp);
  const double top = std::numeric_limits<double>::max();
  EXPECT_EQ(sum_of<double>({top, top}).sum(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum_of<double>({top, 0x1p970, -5e-324}).sum(), top);
  EXPECT_EQ(sum_of<double>({top, 0x1p970}).sum(), std::numeric_limits<double>::infinity());
}

TEST(ExactSum, KnowsInfinitiesAndNaN) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sum_of<double>({inf, 1.0}).sum(), inf);
  EXPECT_EQ(sum_of<double>({-inf, 1.0}).mean(), -inf);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of<double>({-inf, inf}).sum()), 0x7ff8000000000000U);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of<double>({-std::nan("")}).sum()), 0x7ff8000000000000U);
}

TEST(ExactSum, AddsIntegersExactly) {
  EXPECT_EQ(sum_of<std::uint64_t>(std::vector<std::uint64_t>(4, ~0ULL)).sum(), 0x1p66);
  EXPECT_EQ(
      sum_of<std::int64_t>({std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}).sum(),
      -1.0);
  EXPECT_EQ(sum_of<std::int8_t>({-128, 127, -1}).sum(), -2.0);
  EXPECT_EQ(sum_of<std::uint64_t>({(1ULL << 53) + 1}).sum(), 0x1p53);            // a tie, to even
  EXPECT_EQ(sum_of<std::uint64_t>({(1ULL << 53) + 1, 1, 1}).sum(), 0x1p53 + 4);  // 2^53 + 3, a tie, to even
}

// Arrays go through vectorised loops, single values do not.
TEST(ExactSum, ArraysAreTheirElements) {
  std::mt19937_64 random(3);
  const auto check = [](const auto& values, ExactSum expected) {
    EXPECT_EQ(sum_of(values).count(), values.size());
    EXPECT_EQ(sum_of(values).bytes(), expected.bytes());
    ExactSum twice = expected;
    twice.add(ArrayView(values));
    expected.merge(expected);
    EXPECT_EQ(twice.bytes(), expected.bytes());
  };
  for (const std::size_t count : {0, 1, 2, 23, 24, 1000, 5003}) {
    std::vector<double> doubles(count);
    std::vector<float> narrow(count);
    std::vector<std::int64_t> whole(count);
    ExactSum of_doubles;
    ExactSum of_floats;
    ExactSum of_whole;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t exponent = random() % (i % 2 == 0 ? 2047 : 20) + (i % 2 == 0 ? 0 : 1013);
      doubles[i] = std::bit_cast<double>((random() & 0x800fffffffffffffULL) | exponent << 52);
      narrow[i] = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-40F;
      whole[i] = static_cast<std::int64_t>(random());
      of_doubles.add(doubles[i]);
      of_floats.add(narrow[i]);
      of_whole.add(static_cast<double>(whole[i] >> 32) * 0x1p32);
      of_whole.add(static_cast<double>(whole[i] & 0xffffffff));
    }
    check(doubles, of_doubles);
    check(narrow, of_floats);
    ExactSum found = sum_of(whole);
    EXPECT_EQ(found.sum(), of_whole.sum());
    for (const double special : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      if (count == 0) continue;
      doubles[count / 2] = special;
      ExactSum expected;
      for (const double x : doubles) expected.add(x);
      EXPECT_EQ(sum_of(doubles).bytes(), expected.bytes());
    }
  }
}

TEST(ExactSum, ReadsHalves) {
  ExactSum sum;
  const std::vector<Half> halves{{0x3c00}, {0x0001}, {0xfbff}, {0x7bff}};
  sum.add(ArrayView(halves));
  EXPECT_EQ(sum.sum(), 1.0 + 0x1p-24);
}

TEST(ExactSum, MeanIsRoundedOnce) {
  EXPECT_EQ(sum_of<double>({1.0, 2.0, 2.0}).mean(), 5.0 / 3.0);
  EXPECT_EQ(sum_of<double>({5e-324, 0.0}).mean(), 0.0);             // half the smallest: a tie, to even
  EXPECT_EQ(sum_of<double>({5e-324, 5e-324, 0.0}).mean(), 5e-324);  // two thirds
  const double top = std::numeric_limits<double>::max();
  EXPECT_EQ(sum_of<double>({top, top, top}).mean(), top);
  EXPECT_EQ(sum_of<std::int64_t>({-7, -8}).mean(), -7.5);
  EXPECT_THROW((void)ExactSum().mean(), Error);
}

TEST(ExactSum, TimesEqualsRepeatedAddition) {
  ExactSum once;
  once.add(0.1, 12345678901234567ULL);
  EXPECT_EQ(once.count(), 12345678901234567ULL);
  // 0.1 is 3602879701896397 * 2^-55; times 12345678901234567, exactly, in long double's 64 bits where it fits.
  __extension__ using Wide = unsigned __int128;
  const Wide exact = static_cast<Wide>(3602879701896397ULL) * 12345678901234567ULL;
  EXPECT_EQ(once.sum(), std::ldexp(static_cast<double>(exact), -55));
  EXPECT_EQ(once.mean(), 0.1);
}

TEST(ExactSum, OrderAndGroupingDoNotMatter) {
  std::mt19937_64 random(7);
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) {
    const auto exponent = static_cast<std::uint64_t>(random() % 2047);
    values.push_back(std::bit_cast<double>((random() & 0x800fffffffffffffULL) | exponent << 52));
  }
  const double expected = sum_of(values).sum();
  for (int round = 0; round < 5; ++round) {
    std::shuffle(values.begin(), values.end(), random);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(random() % values.size());
    ExactSum a = sum_of(std::vector<double>(values.begin(), middle));
    a.merge(sum_of(std::vector<double>(middle, values.end())));
    EXPECT_EQ(a.sum(), expected);
  }
}

}  // namespace
}  // namespace masu
