// SPDX-License-Identifier: Apache-2.0
// SumOptions::initial: the bits of the sums of rows that have it as one element more.
#include "each_device.h"
#include "expect_error.h"
#include "sum/sum_test_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <masu/sum.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace masu {
namespace {

using test::is_real;
using test::sum_data;

struct Shape {
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t length;
};

class SumAddends : public test::EachDevice {
 protected:
  // The bits of the sum of a line and the addend.
  template <class T>
  static std::uint64_t expected(std::vector<T> line, const SumAddend& addend, Dtype result) {
    const SumOptions options{.result = result, .wrap = true};
    if constexpr (is_real<T>) {
      line.push_back(test::real<T>(std::get<double>(addend)));
      return bits_of(sum(Device::open("cpu"), ArrayView(line), options));
    } else {
      const auto more = std::visit([](auto number) { return static_cast<std::uint64_t>(number); }, addend);
      return bits_of(sum(Device::open("cpu"), ArrayView(line), options)) + more;
    }
  }
  static std::uint64_t bits_of(const SumResult& found, std::uint64_t row = 0) {
    if (found.dtype() == Dtype::i64) return static_cast<std::uint64_t>(found.signed_integer(row));
    if (found.dtype() == Dtype::u64) return found.unsigned_integer(row);
    return bits_rounded_to(found.dtype(), found.value(row));
  }
  template <class T>
  void check(const std::string& name, const Shape& shape, const SumAddend& addend, Dtype result) {
    SCOPED_TRACE(fmt::format("{} {} {} x {}, columns {}", to_string(dtype_of<T>), name, shape.rows, shape.length,
                             shape.columns));
    const std::vector<T> x = sum_data<T>(name, shape.rows * shape.length + 1);
    const SumOptions options{
        .rows = shape.rows, .columns = shape.columns, .result = result, .initial = addend, .wrap = true};
    const Buffer<T> all = device.upload(x);
    const Buffer<T> data = all.slice(1, x.size() - 1);
    const std::size_t size = is_real<T> ? size_of(result) : sizeof(std::uint64_t);
    const Buffer<std::byte> to = device.upload(std::vector<std::byte>(shape.rows * size, std::byte{0xab}));
    Stream stream(device);
    sum(stream, data, dtype_of<T>, to, options).get();
    const std::vector<std::byte> found = to.read();
    SumOptions returned = options;
    returned.columns = 1;
    for (std::uint64_t row = 0; row < shape.rows; ++row) {
      std::vector<T> line;
      const std::uint64_t first = row / shape.columns * shape.columns * shape.length + row % shape.columns;
      for (std::uint64_t i = 0; i < shape.length; ++i) line.push_back(x[1 + first + i * shape.columns]);
      std::uint64_t bits = 0;
      std::memcpy(&bits, found.data() + row * size, size);
      ASSERT_EQ(bits, expected(line, addend, result)) << row;
      if (row != 0) continue;
      returned.rows = 1;
      EXPECT_EQ(bits_of(sum(device, ArrayView(line), returned)), bits);
      EXPECT_EQ(bits_of(sum(device.upload(line), dtype_of<T>, returned)), bits);
    }
  }
};
MASU_ON_EACH_DEVICE(SumAddends);

TEST_P(SumAddends, OfFloats) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto check_type = [&]<class T>(T) {
    if (std::is_same_v<T, double> && !device.info().fp64) return;
    for (const std::string name : {"normal", "cancelling", "wide"}) {
      for (const double addend : {0.1, -3e4}) {
        for (const Shape& shape : std::initializer_list<Shape>{
                 {1, 1, 0}, {1, 1, 1}, {1, 1, 2}, {1, 1, 70001}, {5, 1, 2}, {33, 1, 67}, {66, 33, 40}, {5, 5, 2}}) {
          check<T>(name, shape, addend, dtype_of<T>);
        }
      }
    }
    for (const double addend : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), -0.0}) {
      check<T>("normal", {3, 1, 67}, addend, dtype_of<T>);
      check<T>("zeros", {3, 1, 67}, addend, dtype_of<T>);
    }
  };
  check_type(Half{});
  check_type(float{});
  check_type(double{});
  check<float>("normal", {3, 1, 67}, 0.1, Dtype::f64);
}

TEST_P(SumAddends, OfIntegers) {
  for (const SumAddend& addend : {SumAddend(std::int64_t{7}), SumAddend(std::numeric_limits<std::int64_t>::min()),
                                  SumAddend(std::numeric_limits<std::uint64_t>::max())}) {
    for (const Shape& shape :
         std::initializer_list<Shape>{{1, 1, 0}, {1, 1, 1}, {1, 1, 70001}, {33, 1, 67}, {66, 33, 40}, {5, 5, 2}}) {
      check<std::int16_t>("uniform", shape, addend, Dtype::f64);
      check<std::uint64_t>("uniform", shape, addend, Dtype::f64);
    }
  }
  // A sum that does not fit is an error, as without an addend.
  const std::vector<std::int32_t> x{1, 2};
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(sum(device, ArrayView(x), {.initial = most - 3}).signed_integer(), most);
  EXPECT_EQ(sum(device.upload(x), Dtype::i32, {.initial = most - 3}).signed_integer(), most);
  const std::string too_large = "sum: the result must fit i64, got about 9.223372036854776e+18";
  MASU_EXPECT_ERROR(sum(device, ArrayView(x), {.initial = most - 2}), invalid_argument, too_large);
  MASU_EXPECT_ERROR(sum(device.upload(x), Dtype::i32, {.initial = most - 2}), invalid_argument, too_large);
}

TEST_P(SumAddends, ThatAreRefused) {
  const std::vector<std::int32_t> x{1, 2};
  MASU_EXPECT_ERROR(sum(device, ArrayView(x), {.initial = 2.5}), invalid_argument,
                    "sum: initial must be an integer for i32, got 2.5");
  MASU_EXPECT_ERROR(mean(device, ArrayView(x), {.initial = 2}), invalid_argument,
                    "mean: initial must be 0, as only sums have one");
}

}  // namespace
}  // namespace masu
