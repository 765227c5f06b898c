// SPDX-License-Identifier: Apache-2.0
// Results of the columns of matrices in device memory: the bits of those of the same elements as rows.
#include "each_device.h"
#include "expect_error.h"
#include "sum/sum_test_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <masu/sum.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

using test::sum_data;

struct Matrices {
  std::uint64_t number;
  std::uint64_t lines;
  std::uint64_t columns;
};

class SumOfColumns : public test::EachDevice {
 protected:
  // The functions' results, one after the other.
  template <class T>
  std::vector<std::vector<std::byte>> results(const std::vector<T>& x, const SumOptions& given, bool aligned = false) {
    return results_on(device, x, given, aligned);
  }
  // Without the first element, which is not uploaded if the others are to be aligned.
  template <class T>
  static std::vector<std::vector<std::byte>> results_on(const Device& device, const std::vector<T>& x,
                                                        const SumOptions& given, bool aligned = false) {
    constexpr Dtype dtype = dtype_of<T>;
    const Buffer<T> all = device.upload(std::span(x).subspan(aligned ? 1 : 0));
    const Buffer<T> data = all.slice(aligned ? 0 : 1, x.size() - 1);
    std::vector<std::vector<std::byte>> found;
    const auto run = [&](Dtype result, const auto& call) {
      const Buffer<std::byte> to = device.upload(std::vector<std::byte>(given.rows * size_of(result), std::byte{0xab}));
      Stream stream(device);
      call(stream, to).get();
      found.push_back(to.read());
    };
    SumOptions options = given;
    options.wrap = true;
    const Dtype exact = test::is_real<T> ? options.result : std::is_signed_v<T> ? Dtype::i64 : Dtype::u64;
    run(exact, [&](Stream& s, const BufferBase& to) { return sum(s, data, dtype, to, options); });
    run(options.result, [&](Stream& s, const BufferBase& to) { return mean(s, data, dtype, to, options); });
    run(options.result, [&](Stream& s, const BufferBase& to) { return norm2(s, data, dtype, to, options); });
    run(options.result, [&](Stream& s, const BufferBase& to) { return variance(s, data, dtype, to, options); });
    for (options.ddof = 0; options.ddof < std::min<std::uint64_t>((x.size() - 1) / options.rows, 2); ++options.ddof) {
      run(options.result,
          [&](Stream& s, const BufferBase& to) { return standard_deviation(s, data, dtype, to, options); });
    }
    return found;
  }
  // The columns as rows; the first element is in none.
  template <class T>
  static std::vector<T> columns_as_rows(const std::vector<T>& x, const Matrices& of) {
    std::vector<T> turned(x.size());
    for (std::uint64_t m = 0; m < of.number; ++m) {
      const std::uint64_t first = 1 + m * of.lines * of.columns;
      for (std::uint64_t line = 0; line < of.lines; ++line) {
        for (std::uint64_t column = 0; column < of.columns; ++column)
          turned[first + column * of.lines + line] = x[first + line * of.columns + column];
      }
    }
    return turned;
  }
  template <class T>
  void check(const std::vector<T>& x, const Matrices& of, Dtype result, SumOptions options = {}) {
    const std::vector<T> turned = columns_as_rows(x, of);
    options.rows = of.number * of.columns;
    options.result = result;
    const auto expected = results(turned, options);
    options.columns = of.columns;
    EXPECT_EQ(results(x, options), expected)
        << fmt::format("{} matrices of {} x {} {}", of.number, of.lines, of.columns, to_string(dtype_of<T>));
  }
};
MASU_ON_EACH_DEVICE(SumOfColumns);

TEST_P(SumOfColumns, AreThoseOfRows) {
  const auto check_type = [&]<class T>(T) {
    if (std::is_same_v<T, double> && !device.info().fp64) return;
    for (const std::string name : {"uniform", "cancelling", "equal"}) {
      for (const Matrices& of :
           std::initializer_list<Matrices>{{1, 1, 3}, {3, 5, 2}, {1, 31, 9}, {2, 40, 33}, {1, 100, 5}, {1, 301, 70}}) {
        SCOPED_TRACE(name);
        std::vector<T> x = sum_data<T>(name, of.number * of.lines * of.columns + 1);
        if constexpr (test::is_real<T>) {
          if (name == "uniform") x[x.size() / 2] = test::real<T>(std::numeric_limits<double>::infinity());
        }
        check(x, of, std::is_same_v<T, float> ? Dtype::f32 : Dtype::f64);
      }
    }
  };
  check_type(Half{});
  check_type(float{});
  check_type(double{});
  check_type(std::int16_t{});
}

// Lines of few elements whose results often lie halfway between two numbers, as rows and as columns, beside the host's.
TEST_P(SumOfColumns, TiesOfShortLines) {
  const Device host = Device::open("cpu");
  const auto check_type = [&]<class T>(T) {
    if (std::is_same_v<T, double> && !device.info().fp64) return;
    const int precision = float_format(dtype_of<T>).precision;
    std::mt19937_64 random(sizeof(T));
    // Sums lie halfway between results where elements have all bits, variances where they have half of them.
    for (const int bits : {precision, precision / 2 + 1}) {
      for (const std::uint64_t lines : {1, 2, 3, 4, 5, 7, 16, 33}) {
        const Matrices of{1, lines, device.info().gpu ? 3001U : 301U};
        std::vector<T> x(of.lines * of.columns + 1);
        for (T& value : x) {
          const double whole = std::floor(std::ldexp(static_cast<double>(random() >> 11), bits - 53));
          value = test::real<T>(std::ldexp(random() % 2 == 0 ? whole : -whole, -static_cast<int>(random() % 2)));
        }
        const std::vector<T> turned = columns_as_rows(x, of);
        for (const Dtype result : {dtype_of<T>, Dtype::f32, Dtype::f64}) {
          SCOPED_TRACE(
              fmt::format("{} lines of {} with {} bits to {}", lines, to_string(dtype_of<T>), bits, to_string(result)));
          SumOptions options{.rows = of.columns, .result = result};
          const auto expected = results_on(host, turned, options);
          EXPECT_EQ(results(turned, options), expected);
          EXPECT_EQ(results(turned, options, true), expected);
          options.columns = of.columns;
          EXPECT_EQ(results(x, options), expected);
        }
      }
    }
  };
  check_type(Half{});
  check_type(float{});
  check_type(double{});
}

// So many lines of few elements that a work-item holds several: any values, and what is not finite, as rows and as
// columns of matrices, beside the host's.
TEST_P(SumOfColumns, ManyShortLines) {
  const Device host = Device::open("cpu");
  const auto check_type = [&]<class T>(T, std::initializer_list<std::uint64_t> counts, Dtype result) {
    if (std::is_same_v<T, double> && !device.info().fp64) return;
    for (const std::uint64_t lines : counts) {
      for (const Matrices& of : {Matrices{1, lines, device.info().gpu ? 300001U : 1301U},
                                 Matrices{device.info().gpu ? 9001U : 41U, lines, 37}}) {
        for (const std::string name : {"normal", "wide", "subnormal", "zeros", "extremes"}) {
          SCOPED_TRACE(fmt::format("{} {} matrices of {} lines", name, of.number, lines));
          std::vector<T> x = sum_data<T>(name, of.number * of.lines * of.columns + 1);
          if constexpr (test::is_real<T>) {
            for (std::size_t i = 7; name == "normal" && i < x.size(); i += 501) {
              const double infinity = i % 2 == 0 ? HUGE_VAL : -HUGE_VAL;
              x[i] = test::real<T>(i % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : infinity);
            }
          }
          const std::vector<T> turned = columns_as_rows(x, of);
          SumOptions options{.rows = of.number * of.columns, .result = result};
          const auto expected = results_on(host, turned, options);
          EXPECT_EQ(results(turned, options), expected);
          EXPECT_EQ(results(turned, options, true), expected);
          options.columns = of.columns;
          EXPECT_EQ(results(x, options), expected);
        }
      }
    }
  };
  check_type(float{}, {1, 3, 8, 13}, Dtype::f32);
  check_type(float{}, {2}, Dtype::f64);
  check_type(Half{}, {4, 16}, Dtype::f16);
  check_type(double{}, {2, 3}, Dtype::f64);
  check_type(std::int16_t{}, {3}, Dtype::f64);
  check_type(std::uint64_t{}, {4}, Dtype::f32);
  if (!device.info().gpu) return;  // where rows of few are twice as long
  check_type(float{}, {16}, Dtype::f32);
  check_type(std::int64_t{}, {1, 8}, Dtype::f64);
}

// So long that work-groups share columns, with memory of zeros in place of a fill.
TEST_P(SumOfColumns, OfManyLines) {
  const std::uint64_t lines = device.info().gpu ? 200003 : 503;
  const Buffer<std::uint32_t> zeros = device.upload(std::vector<std::uint32_t>(32));
  for (const std::uint64_t columns : {3, 20}) {
    for (const std::string name : {"uniform", "cancelling"}) {
      SCOPED_TRACE(name);
      std::vector<float> x = sum_data<float>(name, lines * columns + 1);
      x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
      check(x, {1, lines, columns}, Dtype::f32, {.zeros = &zeros});
      EXPECT_EQ(zeros.read(), std::vector<std::uint32_t>(32));
      check(x, {1, lines, columns}, Dtype::f64);
    }
    check(sum_data<std::int64_t>("uniform", lines * columns + 1), {1, lines, columns}, Dtype::f64);
  }
}

TEST_P(SumOfColumns, ChecksItsArguments) {
  const Buffer<float> x = device.upload(std::vector<float>(12, 1.0F));
  const Buffer<double> to(device, 6);
  Stream stream(device);
  MASU_EXPECT_ERROR(sum(stream, x, Dtype::f32, to, {.rows = 6, .columns = 4}).get(), invalid_argument,
                    "sum: columns must be >= 1 and divide the 6 rows, got 4");
  MASU_EXPECT_ERROR(sum(stream, x, Dtype::f32, to, {.rows = 6, .columns = 0}).get(), invalid_argument,
                    "sum: columns must be >= 1 and divide the 6 rows, got 0");
  MASU_EXPECT_ERROR(dot(stream, x, x, Dtype::f32, to, {.rows = 6, .columns = 3}).get(), invalid_argument,
                    "dot: columns must be 1, got 3");
  MASU_EXPECT_ERROR((void)sum(x, Dtype::f32, {.rows = 6, .columns = 3}), invalid_argument,
                    "sum: columns must be 1 where results are returned, got 3");
}

}  // namespace
}  // namespace masu
