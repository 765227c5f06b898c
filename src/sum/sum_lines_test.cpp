// SPDX-License-Identifier: Apache-2.0
// Results of lines of host memory, which are rows or the columns of matrices, beside those of each line by itself.
#include "sum/sum_cpu.h"

#include <gtest/gtest.h>

#include "each_instruction_set.h"
#include "sum/sum_test_data.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace masu {
namespace {

using Function = SumRule::Function;
using test::sum_data;

// The result of one line, by the public function of host data.
template <class T>
SumResult of_line(const SumRule& rule, const std::vector<T>& line) {
  const Device cpu = Device::open("cpu");
  const SumOptions options{.result = rule.result, .ddof = rule.ddof, .wrap = true};
  switch (rule.function) {
    case Function::mean: return mean(cpu, ArrayView(line), options);
    case Function::norm2: return norm2(cpu, ArrayView(line), options);
    case Function::variance: return variance(cpu, ArrayView(line), options);
    case Function::standard_deviation: return standard_deviation(cpu, ArrayView(line), options);
    case Function::dot: return dot(cpu, ArrayView(line), ArrayView(line), options);
    default: return sum(cpu, ArrayView(line), options);
  }
}

std::vector<std::byte> bytes_of(const SumResult& result) {
  std::vector<std::byte> bytes(size_of(result.dtype()));
  const auto put = [&](auto value) { std::memcpy(bytes.data(), &value, sizeof value); };
  switch (result.dtype()) {
    case Dtype::i64: put(result.signed_integer()); break;
    case Dtype::u64: put(result.unsigned_integer()); break;
    case Dtype::f16: put(rounded_to<Half>(result.value())); break;
    case Dtype::f32: put(static_cast<float>(result.value())); break;
    default: put(result.value());
  }
  return bytes;
}

using Shapes = std::vector<std::array<std::size_t, 3>>;  // rows, columns, length
const Shapes few_elements{{1, 1, 9},   {5, 1, 40},  {9, 1, 1}, {12, 12, 7},  {70, 70, 70},
                          {12, 4, 33}, {66, 1, 63}, {9, 9, 1}, {517, 517, 3}};

template <class T>
void check_lines(const SumRule& rule, const std::string& name, const Shapes& shapes = few_elements) {
  for (const auto& [rows, columns, length] : shapes) {
    if ((rule.function == Function::dot && columns > 1) || length <= rule.ddof) continue;
    SCOPED_TRACE(std::string(rule.name()) + " " + std::string(to_string(rule.dtype)) + " " + name + " " +
                 std::to_string(rows) + " rows, " + std::to_string(columns) + " columns");
    const std::vector<T> x = sum_data<T>(name, rows * length);
    const std::size_t size = size_of(rule.result_dtype());
    std::vector<std::byte> found(rows * size);
    const ArrayView view(x);
    EXPECT_TRUE(sum_lines(rule, view, view, rows, columns, found.data()));
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<T> line(length);
      const std::size_t first = row / columns * columns * length + row % columns;
      for (std::size_t i = 0; i < length; ++i) line[i] = x[first + i * columns];
      const auto at = found.begin() + static_cast<std::ptrdiff_t>(row * size);
      EXPECT_EQ(std::vector<std::byte>(at, at + static_cast<std::ptrdiff_t>(size)), bytes_of(of_line(rule, line)))
          << row;
    }
  }
}

TEST(SumLines, RowsAndColumns) {
  test::each_instruction_set([] {
    for (const Function function : {Function::sum, Function::dot, Function::mean, Function::norm2, Function::variance,
                                    Function::standard_deviation}) {
      for (const std::string name : {"uniform", "cancelling", "equal", "normal", "zeros", "extremes"}) {
        check_lines<double>({function, Dtype::f64, Dtype::f64}, name);
        check_lines<float>({function, Dtype::f32, Dtype::f32, 1}, name);
        check_lines<float>({function, Dtype::f32, Dtype::f64}, name);
        check_lines<Half>({function, Dtype::f16, Dtype::f16}, name);
        check_lines<std::int16_t>({function, Dtype::i16, Dtype::f64}, name);
        check_lines<std::uint8_t>({function, Dtype::u8, Dtype::f32}, name);
        check_lines<std::uint32_t>({function, Dtype::u32, Dtype::f64, 1}, name);
        check_lines<std::int64_t>({function, Dtype::i64, Dtype::f64}, name);
        check_lines<std::uint64_t>({function, Dtype::u64, Dtype::f64}, name);
      }
    }
  });
}

// So many rows that threads share them, so many columns that their sums are made in several groups, and long rows.
TEST(SumLines, ManyElements) {
  const Shapes shapes{{13, 13, 20011}, {8200, 8200, 3}, {3, 1, 10007}};
  for (const Function function : {Function::sum, Function::mean, Function::variance, Function::standard_deviation}) {
    for (const std::string name : {"uniform", "cancelling", "equal", "extremes"}) {
      check_lines<double>({function, Dtype::f64, Dtype::f64}, name, shapes);
      check_lines<float>({function, Dtype::f32, Dtype::f32, 1}, name, shapes);
      check_lines<std::uint8_t>({function, Dtype::u8, Dtype::f64}, name, shapes);
      check_lines<std::int32_t>({function, Dtype::i32, Dtype::f64}, name, shapes);
      check_lines<std::int64_t>({function, Dtype::i64, Dtype::f64}, name, shapes);
      check_lines<std::uint64_t>({function, Dtype::u64, Dtype::f64}, name, shapes);
    }
  }
}

TEST(SumLines, IntegersThatDoNotFit) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> x{most, 1, 2, 3};
  std::vector<std::int64_t> found(2);
  EXPECT_FALSE(sum_lines({Function::sum, Dtype::i64}, ArrayView(x), ArrayView(x), 2, 1, found.data()));
  EXPECT_EQ(found, (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(), 5}));
}

}  // namespace
}  // namespace masu
