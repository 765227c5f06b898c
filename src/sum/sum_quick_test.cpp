// SPDX-License-Identifier: Apache-2.0
// Sums whose rounding a bound proves, beside exact ones.
#include "sum/sum_quick.h"

#include <gtest/gtest.h>
#include <masu/sum.h>

#include "each_instruction_set.h"
#include "elements/stored_float.h"
#include "expect_error.h"
#include "sum/compensated.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace masu {
namespace {

// Numbers that are easy to add, that cancel, that lie between two f32, that are tiny or far apart.
template <class T>
std::vector<T> quick_numbers(unsigned kind, std::size_t count) {
  std::mt19937_64 random(kind * 1000 + count);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> exponent(-60, 60);
  constexpr int low = std::is_same_v<T, double> ? -1074 : -149;
  std::uniform_int_distribution<int> tiny(low, low + 60);
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    double x = 0;
    switch (kind) {
      case 0: x = std::fabs(normal(random)); break;
      case 1: x = std::round(3 * normal(random)); break;
      case 2: x = std::ldexp(normal(random), exponent(random)); break;
      case 3:
        x = i % 2 == 1 ? -static_cast<double>(result[i - 1]) : std::ldexp(normal(random), exponent(random));
        break;
      case 4: x = (random() % 2 == 0 ? 1.0 : 0x1p-24) * (random() % 2 == 0 ? 1 : -1); break;
      case 5: x = std::ldexp(normal(random), tiny(random)); break;
      case 6: x = i == 50 ? 1e6 : normal(random); break;  // larger than those before it
      case 7: x = i % 3 == 0 ? -2 : 1; break;             // nothing in all
      case 8: x = std::ldexp(normal(random), i < 40 ? 90 : 60); break;
      default: x = -0.0; break;
    }
    result[i] = static_cast<T>(x);
  }
  return result;
}
constexpr unsigned quick_kinds = 10;
constexpr unsigned quick_tiny = 5;

template <class T>
double exact_of(const std::vector<T>& x) {
  ExactSum sum;
  for (const T value : x) sum.add(value);
  if constexpr (std::is_same_v<T, double>) return sum.sum();
  else return sum.sum(Dtype::f32);
}

template <class T>
class QuickSumTest : public ::testing::Test {};
using QuickTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(QuickSumTest, QuickTypes);

template <class T>
double exact_dot_of(const std::vector<T>& x, const std::vector<T>& y) {
  // Products of f32 are doubles; those of f64 are two, but for those that underflow, which the test leaves out.
  ExactSum sum;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = x[i];
    const double b = y[i];
    sum.add(a * b);
    sum.add(std::fma(a, b, -(a * b)));
  }
  return std::is_same_v<T, double> ? sum.sum() : sum.sum(Dtype::f32);
}

template <class T>
void check_found(const std::optional<double>& found, double expected, std::size_t count, unsigned kind) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(found.value_or(expected)), std::bit_cast<std::uint64_t>(expected))
      << count << " of kind " << kind;
}

TYPED_TEST(QuickSumTest, GivesTheExactSumOrNothing) {
  using T = TypeParam;
  test::each_instruction_set([] {
    for (const std::size_t count :
         {0, 1, 2, 3, 5, 15, 16, 17, 31, 33, 63, 64, 65, 257, 1000, 1025, 4099, 32768, 40000}) {
      for (unsigned kind = 0; kind < quick_kinds; ++kind) {
        const std::vector<T> x = quick_numbers<T>(kind, count);
        const auto found = cpu::quick_sum(x.data(), count, dtype_of<T>);
        EXPECT_TRUE(found || (kind != 0 && (kind != 7 || std::is_same_v<T, float>))) << count;
        check_found<T>(found, exact_of(x), count, kind);
        if (kind == quick_tiny || count > 4099) continue;
        std::vector<T> y = quick_numbers<T>((kind + 2) % (quick_tiny - 1), count);
        check_found<T>(cpu::quick_dot(x.data(), y.data(), count, dtype_of<T>), exact_dot_of(x, y), count, kind);
      }
    }
    const T infinity = std::numeric_limits<T>::infinity();
    for (const std::vector<T>& x : {std::vector<T>{1, infinity}, {1, -infinity, infinity}, {NAN}}) {
      EXPECT_FALSE(cpu::quick_sum(x.data(), x.size(), dtype_of<T>));
      EXPECT_FALSE(cpu::quick_dot(x.data(), x.data(), x.size(), dtype_of<T>));
    }
  });
}

// Of f16, whose sums are often halfway between two.
TEST(QuickSum, DotProductsOfHalvesAreExact) {
  test::each_instruction_set([] {
    for (const std::size_t count : {1, 2, 3, 64, 65, 100, 1000, 4096, 5000}) {
      for (unsigned kind = 0; kind < quick_kinds; ++kind) {
        const std::vector<float> numbers = quick_numbers<float>(kind, 2 * count);
        std::vector<Half> x(count), y(count);
        ExactSum sum;
        for (std::size_t i = 0; i < count; ++i) {
          x[i] = rounded_to<Half>(numbers[i]);
          y[i] = rounded_to<Half>(numbers[count + i]);
          sum.add(to_double(x[i]) * to_double(y[i]));
        }
        const double expected = sum.sum(Dtype::f16);
        const double found = dot(Device::open("cpu"), ArrayView(x), ArrayView(y), {.result = Dtype::f16}).value();
        EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << count << " of kind " << kind;
      }
    }
  });
}

// What splits numbers must not lose what lies far below the first ones, nor overlook what lies above.
TEST(QuickSum, SplitNumbersKeepEveryBit) {
  test::each_instruction_set([] {
    for (const double large : {0x1p20, 0x1p-700, 0x1p700, 0x1p1000, 0x1p-1000}) {
      for (const std::size_t at : {0, 31, 32, 70, 199}) {
        std::vector<double> x(200, large / 0x1p40);
        x[at] = large;
        x[(at + 100) % 200] = -large;
        x[(at + 7) % 200] = large / 0x1p60;
        const std::vector<double> ones(200, 1.0);
        const double expected = exact_of(x);
        check_found<double>(cpu::quick_sum(x.data(), 200, Dtype::f64), expected, at, 0);
        check_found<double>(cpu::quick_dot(x.data(), ones.data(), 200, Dtype::f64), expected, at, 0);
        EXPECT_EQ(sum(x), expected);
      }
    }
  });
}

// Sums that lie next to the middle of two numbers, so that what a bound forgets rounds them wrongly.
TYPED_TEST(QuickSumTest, BoundsHoldNextToTheMiddle) {
  using T = TypeParam;
  test::each_instruction_set([] {
    unsigned sure = 0;
    for (const std::size_t count : {100, 300, 1024, 1111, 9000, 32768}) {
      for (unsigned seed = 0; seed < 12; ++seed) {
        std::mt19937_64 random(seed);
        std::normal_distribution<double> normal;
        std::vector<T> x(count), y(count, T{1});
        for (T& value : x) value = static_cast<T>(normal(random));
        for (T& value : y) value = static_cast<T>(seed % 2 == 0 ? 1 : normal(random));
        for (const std::size_t at : {count - 1, count - 2, count - 3}) y[at] = 1;
        // The middle, and a little more or less.
        std::vector<T> rest = x;
        std::vector<T> with = y;
        rest.push_back(0);
        with.push_back(1);
        for (const std::size_t at : {count - 1, count - 2, count - 3}) {
          x[at] = rest[at] = rest[count] = 0;
          const auto total = static_cast<T>(exact_dot_of(x, y));
          rest[count] = -total;
          const T unit = std::nextafter(std::fabs(total), std::numeric_limits<T>::infinity()) - std::fabs(total);
          x[at] = rest[at] = static_cast<T>(unit / 2 - static_cast<T>(exact_dot_of(rest, with)));
        }
        x[count - 3] = static_cast<T>(x[count - 3] * (seed % 3 == 0 ? 0 : seed % 3 == 1 ? 1 : 2));
        const auto dot = cpu::quick_dot(x.data(), y.data(), count, dtype_of<T>);
        check_found<T>(dot, exact_dot_of(x, y), count, seed);
        if (seed % 2 == 0) check_found<T>(cpu::quick_sum(x.data(), count, dtype_of<T>), exact_of(x), count, seed);
        sure += dot.has_value();
      }
    }
    EXPECT_TRUE(sure > 0 || (std::is_same_v<T, double>));
  });
}

TYPED_TEST(QuickSumTest, MeansAreThoseOfExactSums) {
  using T = TypeParam;
  for (const std::size_t count : {1, 2, 3, 7, 64, 65, 1000, 40000}) {
    for (unsigned kind = 0; kind < quick_kinds; ++kind) {
      const std::vector<T> x = quick_numbers<T>(kind, count);
      SumAccumulator exact(Device::open("cpu"), dtype_of<T>);
      exact.add(ArrayView(x));
      const double expected = exact.mean(dtype_of<T>).value();
      const auto found = cpu::quick_sum(x.data(), count, dtype_of<T>, count);
      EXPECT_TRUE(found || kind != 0 || count <= 65) << count;  // few may lie between two
      check_found<T>(found, expected, count, kind);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(mean(x, {.result = dtype_of<T>})), std::bit_cast<std::uint64_t>(expected))
          << count << " of kind " << kind;
    }
  }
}

TYPED_TEST(QuickSumTest, VariancesAreThoseOfExactSums) {
  using T = TypeParam;
  test::each_instruction_set([] {
    // Squares of f64 need an instruction that multiplies and adds.
    const std::vector<T> ones(100, T{1});
    const bool fused = cpu::quick_dot(ones.data(), ones.data(), ones.size(), dtype_of<T>).has_value();
    for (const std::size_t count : {1, 2, 3, 7, 31, 64, 65, 1000, 32768}) {
      for (unsigned kind = 0; kind < quick_kinds + 4; ++kind) {
        std::vector<T> x = quick_numbers<T>(kind < quick_kinds ? kind : 0, count);
        if (kind == quick_kinds) std::fill(x.begin(), x.end(), T{3});
        // Far from zero; their squares overflow, or underflow.
        const double factor = std::is_same_v<T, double> ? 0x1p500 : 0x1p90;
        for (T& value : x) {
          if (kind == quick_kinds + 1) value = static_cast<T>(value + T{4096});
          if (kind == quick_kinds + 2) value = static_cast<T>(value * factor);
          if (kind == quick_kinds + 3) value = static_cast<T>(value / factor);
        }
        SumAccumulator exact(Device::open("cpu"), dtype_of<T>, SumKind::squares);
        exact.add(ArrayView(x));
        for (const std::uint64_t ddof : {0, 1}) {
          if (ddof >= count) continue;
          for (const Dtype result : {Dtype::f32, Dtype::f64}) {
            const double variance = exact.variance(ddof, result).value();
            const double deviation = exact.standard_deviation(ddof, result).value();
            const auto quick = cpu::quick_spread(x.data(), {count, ddof, false, result});
            const auto quick_root = cpu::quick_spread(x.data(), {count, ddof, true, result});
            if (quick) {
              EXPECT_EQ(*quick, variance) << count << " of kind " << kind;
            }
            if (quick_root) {
              EXPECT_EQ(*quick_root, deviation) << count << " of kind " << kind;
            }
            const bool easy = fused && count > 2 && count <= 1000 && (kind < 2 || kind == quick_kinds + 1);
            if (easy) {
              EXPECT_TRUE(quick && quick_root) << count << " of kind " << kind;
            }
            const SumOptions options{.result = result, .ddof = ddof};
            EXPECT_EQ(masu::variance(x, options), variance) << count << " of kind " << kind;
            EXPECT_EQ(masu::standard_deviation(x, options), deviation) << count << " of kind " << kind;
          }
        }
      }
    }
  });
}

TYPED_TEST(QuickSumTest, ColumnsAreExact) {
  using T = TypeParam;
  test::each_instruction_set([] {
    for (const std::size_t columns : {1, 3, 8, 515}) {
      for (const std::size_t rows : {0, 1, 2, 9, 64, 65, 200}) {
        for (unsigned kind = 0; kind < quick_kinds; ++kind) {
          const std::vector<T> x = quick_numbers<T>(kind, rows * columns);
          std::vector<T> result(columns, T{7});
          sum_columns(ArrayView(x), columns, MutableArrayView(result));
          for (std::size_t c = 0; c < columns; ++c) {
            std::vector<T> column;
            for (std::size_t row = 0; row < rows; ++row) column.push_back(x[row * columns + c]);
            ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(result[c])),
                      std::bit_cast<std::uint64_t>(exact_of(column)))
                << rows << " x " << columns << " of kind " << kind;
          }
          if (rows == 0) continue;
          mean_columns(ArrayView(x), columns, MutableArrayView(result));
          const masu::Device cpu = masu::Device::open("cpu");
          for (std::size_t c = 0; c < columns; ++c) {
            std::vector<T> column;
            for (std::size_t row = 0; row < rows; ++row) column.push_back(x[row * columns + c]);
            const double mean = masu::mean(cpu, ArrayView(column), {.result = dtype_of<T>}).value();
            ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(result[c])), std::bit_cast<std::uint64_t>(mean))
                << "mean of " << rows << " x " << columns << " of kind " << kind;
          }
        }
      }
    }
  });
}

TEST(SumColumns, ChecksItsArguments) {
  std::vector<double> x(6), result(3);
  std::vector<int> integers(6);
  MASU_EXPECT_ERROR(sum_columns(ArrayView(integers), 3, MutableArrayView(integers)), invalid_argument, "f32 or f64");
  MASU_EXPECT_ERROR(sum_columns(ArrayView(x), 4, MutableArrayView(result)), invalid_argument, "divide the 6 elements");
  MASU_EXPECT_ERROR(sum_columns(ArrayView(x), 0, MutableArrayView(result)), invalid_argument, ">= 1");
  MASU_EXPECT_ERROR(sum_columns(ArrayView(x), 2, MutableArrayView(result)), invalid_argument, "2 elements, got 3");
  const std::vector<double> none;
  MASU_EXPECT_ERROR(mean_columns(ArrayView(none), 3, MutableArrayView(result)), invalid_argument,
                    "mean_columns: needs at least one element");
}

template <class T>
std::optional<double> certain_quotient(double sum, double error, double bound, double count) {
  return cpu::quick_quotient({sum, error, bound}, count, false, dtype_of<T>);
}
template <class T>
std::optional<double> certain_root(double sum, double error, double bound, double count) {
  return cpu::quick_quotient({sum, error, bound}, count, true, dtype_of<T>);
}

TEST(Certain, QuotientsToo) {
  EXPECT_EQ(certain_quotient<double>(0, 0, 0, 3), 0.0);
  EXPECT_FALSE(certain_quotient<double>(0, 0, 0x1p-1074, 3));
  EXPECT_EQ(certain_quotient<double>(1, 0, 0x1p-60, 3), 1.0 / 3);
  EXPECT_FALSE(certain_quotient<double>(1, 0, 0x1p-52, 3));
  EXPECT_EQ(certain_quotient<double>(1, 0x1p-53, 0, 1), 1);  // halfway: to the even one
  EXPECT_EQ(certain_quotient<double>(1 + 0x1p-52, 0x1p-53, 0, 1), 1 + 0x1p-51);
  EXPECT_EQ(certain_quotient<double>(-3 - 0x3p-51, -0x3p-53, 0, 3), -1 - 0x1p-50 / 2);
  EXPECT_EQ(certain_quotient<float>(1, 0x1p-24, 0, 1), 1);
  EXPECT_FALSE(certain_quotient<double>(1, 0x1p-53, 0x1p-120, 1));
  EXPECT_EQ(certain_quotient<double>(1, 0x1p-53 + 0x1p-80, 0, 1), 1 + 0x1p-52);
  EXPECT_EQ(certain_quotient<float>(1, 0, 0, 3), static_cast<double>(1.0F / 3));
  EXPECT_FALSE(certain_quotient<double>(0x1p-1000, 0, 0, 3));
  EXPECT_FALSE(certain_quotient<float>(std::numeric_limits<double>::infinity(), 0, 0, 3));
}

TEST(Certain, RootsToo) {
  EXPECT_EQ(certain_root<double>(2, 0, 0, 1), std::sqrt(2.0));
  EXPECT_EQ(certain_root<double>(9, 0, 0, 4), 1.5);
  EXPECT_EQ(certain_root<float>(2, 0, 0, 1), std::sqrt(2.0F));
  EXPECT_EQ(certain_root<float>(2.25 + 0x1p-24, 0, 0, 1), 1.5F);
  // The root lies between two f32, and what the number is more or less decides.
  const double tie = (1.5 + 0x1p-24) * (1.5 + 0x1p-24);
  EXPECT_FALSE(certain_root<float>(tie, 0, 0, 1));
  EXPECT_FALSE(certain_root<float>(tie, 0x1p-60, 0x1p-40, 1));
  EXPECT_EQ(certain_root<float>(tie, 0x1p-40, 0x1p-44, 1), 1.5F + 0x1p-23F);
  EXPECT_EQ(certain_root<float>(tie, -0x1p-40, 0x1p-44, 1), 1.5F);
  EXPECT_FALSE(certain_root<double>(2, 0, 1e-14, 1));
  EXPECT_EQ(certain_root<double>(0, 0, 0, 1), 0.0);
  EXPECT_FALSE(certain_root<double>(0, 0, 0x1p-1074, 1));
  for (const double x : {-1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    EXPECT_FALSE(certain_root<double>(x, 0, 0, 1));
  }
}

TEST(Certain, IsNotSureWithinItsBound) {
  EXPECT_EQ(certain<double>(1, 0, 0), 1.0);
  EXPECT_EQ(certain<double>(1, 0x1p-53, 0), 1.0);  // a tie, to even
  EXPECT_FALSE(certain<double>(1, 0x1p-53, 0x1p-100));
  EXPECT_FALSE(certain<double>(0, 0, 0x1p-1074));
  EXPECT_EQ(certain<float>(1 + 0x1p-24, 0, 0), 1.0);
  EXPECT_FALSE(certain<float>(1 + 0x1p-24, 0, 0x1p-60));
  EXPECT_EQ(certain<float>(1 + 0x1p-25, 0, 0x1p-60), 1.0);
  EXPECT_FALSE(certain<float>(std::numeric_limits<double>::infinity(), 0, 0));
}

}  // namespace
}  // namespace masu
