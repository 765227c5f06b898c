// SPDX-License-Identifier: Apache-2.0
// Prefixes whose rounding a bound proves, beside exact ones.
#include "scan/scan_cpu.h"

#include <gtest/gtest.h>
#include <masu/sum.h>

#include "each_instruction_set.h"
#include "scan/scan_reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace masu {
namespace {

using reference::number;

template <class T>
class QuickPrefixTest : public ::testing::Test {
 protected:
  std::vector<T> exact(const std::vector<T>& x, bool exclusive) {
    std::vector<T> result;
    ExactSum sum;
    for (const T value : x) {
      if (!exclusive) sum.add(number(value));
      result.push_back(rounded_to<T>(sum.sum(dtype_of<T>)));
      if (exclusive) sum.add(number(value));
    }
    return result;
  }
  // Block after block from one state; how many elements came before one was not certain.
  std::size_t check(const std::string& name, const std::vector<T>& x, bool exclusive, std::size_t block) {
    SCOPED_TRACE(name);
    const std::vector<T> right = exact(x, exclusive);
    cpu::NearSum state;
    std::vector<T> found = x;  // in place
    std::size_t done = 0;
    while (done < x.size()) {
      const std::size_t n = std::min(block, x.size() - done);
      const cpu::NearSum before = state;
      if (!cpu::quick_prefixes(found.data() + done, found.data() + done, n, exclusive, state)) {
        EXPECT_EQ(before.sum, state.sum);
        EXPECT_EQ(before.error, state.error);
        EXPECT_EQ(before.bound, state.bound);
        EXPECT_TRUE(reference::same_bits<T>({found.begin() + static_cast<std::ptrdiff_t>(done), found.end()},
                                            {x.begin() + static_cast<std::ptrdiff_t>(done), x.end()}));
        break;
      }
      done += n;
    }
    EXPECT_TRUE(reference::same_bits<T>({found.begin(), found.begin() + static_cast<std::ptrdiff_t>(done)},
                                        {right.begin(), right.begin() + static_cast<std::ptrdiff_t>(done)}));
    return done;
  }
};
using QuickPrefixTypes = ::testing::Types<Half, Bfloat16, float, double>;
TYPED_TEST_SUITE(QuickPrefixTest, QuickPrefixTypes);

TYPED_TEST(QuickPrefixTest, AreExactOrRefused) {
  using T = TypeParam;
  const std::size_t count = 5000;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> exponent(-60, 60);
  constexpr FloatFormat format = float_format(dtype_of<T>);
  const double least = std::ldexp(1, format.least);
  const double half_unit = power_of_two(-format.precision);
  const double most = greatest_of(format);
  const std::vector<std::pair<std::string, std::function<double(std::size_t)>>> kinds = {
      {"uniform", [&](std::size_t) { return static_cast<double>(random() >> 11) * 0x1p-53; }},
      {"normal", [&](std::size_t) { return normal(random); }},
      {"whole", [&](std::size_t) { return std::round(100 * normal(random)); }},
      {"constant", [](std::size_t) { return 0.1; }},
      {"zeros", [](std::size_t) { return -0.0; }},
      {"subnormal", [&](std::size_t) { return least * static_cast<double>(random() % 9); }},
      {"wide", [&](std::size_t) { return std::ldexp(normal(random), exponent(random)); }},
      // Half way between two numbers, at times but for a little.
      {"ties", [&](std::size_t i) { return i == 0 ? 1 : (i % 2 == 0 ? -1 : 1) * half_unit; }},
      {"nearly ties",
       [&](std::size_t i) { return i == 0         ? 1.0
                                   : i % 700 == 0 ? least
                                                  : (i % 2 == 0 ? -1 : 1) * half_unit; }},
      {"large", [most](std::size_t) { return most; }},
  };
  test::each_instruction_set([&] {
    for (const auto& [name, kind] : kinds) {
      std::vector<T> x(count);
      for (std::size_t i = 0; i < count; ++i) x[i] = rounded_to<T>(kind(i));
      for (const bool exclusive : {false, true}) {
        for (const std::size_t block : {std::size_t{1}, std::size_t{7}, std::size_t{64}, cpu::quick_prefix_elements}) {
          const std::size_t done = this->check(name, x, exclusive, block);
          // What is not near a tie needs nothing else.
          if (name == "uniform" || name == "normal" || name == "whole" || name == "constant" || name == "zeros" ||
              name == "subnormal") {
            EXPECT_EQ(done, count) << name;
          }
        }
      }
    }
  });
}

// Each prefix comes twice, and at the end nothing is left.
TYPED_TEST(QuickPrefixTest, ThereAndBack) {
  using T = TypeParam;
  test::each_instruction_set([&] {
    std::mt19937_64 random(2);
    std::normal_distribution<double> normal;
    std::vector<T> x(2000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = rounded_to<T>(i < 1000 ? normal(random) : -number(x[1999 - i]));
    this->check("there and back", x, false, 1000);
  });
}

TYPED_TEST(QuickPrefixTest, WhatIsNotFiniteIsRefused) {
  using T = TypeParam;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  test::each_instruction_set([&] {
    for (const double special : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
      for (const std::size_t at : {0, 5, 99}) {
        std::vector<T> x(100, rounded_to<T>(1));
        x[at] = rounded_to<T>(special);
        std::vector<T> y(100);
        cpu::NearSum state;
        EXPECT_FALSE(cpu::quick_prefixes(x.data(), y.data(), x.size(), false, state));
        EXPECT_EQ(state.sum, 0);
      }
    }
  });
}

}  // namespace
}  // namespace masu
