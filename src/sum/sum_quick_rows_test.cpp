// SPDX-License-Identifier: Apache-2.0
// Rows whose results are certain, beside what their exact totals tell.
#include "sum/sum_cpu.h"

#include <gtest/gtest.h>

#include "each_instruction_set.h"
#include "elements/stored_float.h"
#include "plan_devices.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace masu {
namespace {

using Function = SumRule::Function;

// The whole range of the dtype, small numbers, equal ones, and now and then what is no finite number.
template <class T>
std::vector<T> numbers_of_rows(unsigned kind, std::size_t count) {
  std::mt19937_64 random(kind * 100 + count);
  std::normal_distribution<double> normal;
  constexpr bool is_real = is_float(dtype_of<T>);
  std::vector<T> x(count);
  for (T& each : x) {
    double number = kind == 2 ? 3 : kind == 1 ? static_cast<double>(random() % 9) : normal(random) * 60;
    if (!is_signed(dtype_of<T>)) number = std::fabs(number);
    if constexpr (is_stored<T>) each = rounded_to<T>(number);
    else if constexpr (is_real) each = static_cast<T>(number);
    else each = kind == 0 ? static_cast<T>(random()) : static_cast<T>(number);
    if constexpr (is_stored<T>) {
      if (kind == 3) each = rounded_to<T>(random() % 16 == 0 ? -std::ldexp(1, float_format(dtype_of<T>).least) : 0);
    } else if constexpr (is_real) {
      if (kind == 3 && random() % 16 == 0) each = std::numeric_limits<T>::infinity();
    }
  }
  return x;
}

template <class T>
void check_quick_rows(const SumRule& rule, unsigned kind, std::uint64_t rows, std::uint64_t length) {
  if (!cpu::are_quick_rows(rule, rows, length)) return;
  const std::vector<T> x = numbers_of_rows<T>(kind, rows * length);
  std::vector<double> found(rows);
  std::vector<std::uint8_t> sure(rows);
  cpu::quick_rows(rule, x.data(), rows, length, found.data(), sure.data());
  std::uint64_t unsure = 0;
  for (std::uint64_t row = 0; row < rows; ++row) {
    unsure += sure[row] == 0 ? 1 : 0;
    if (sure[row] == 0) continue;
    Totals totals;
    const T* const of_row = x.data() + row * length;
    cpu::add_totals(rule.dtype, rule.needs(), of_row, of_row, length, totals);
    const std::uint64_t expected = rule.bits(Parts(totals), length);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(found[row]), expected)
        << rule.name() << " of " << to_string(rule.dtype) << " as " << to_string(rule.result) << ", kind " << kind
        << ", row " << row << " of " << rows << " of " << length;
  }
  if (!is_float(rule.dtype) && rule.function != Function::standard_deviation) {
    EXPECT_LE(unsure, rows / 16) << rule.name() << " of " << to_string(rule.dtype) << " as " << to_string(rule.result)
                                 << ", kind " << kind << ", ddof " << rule.ddof << ", " << rows << " rows of "
                                 << length;
  }
}

template <class T>
void check_quick_rows() {
  for (const Function function : {Function::sum, Function::mean, Function::variance, Function::standard_deviation}) {
    for (const Dtype result : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
      for (const std::uint64_t length : {1, 2, 3, 10, 16, 31, 32, 33, 100, 1000, 8192, 8193, 32768}) {
        for (const std::uint64_t rows : {1, 2, 64, 70}) {
          if (rows * length > 70000) continue;
          for (unsigned kind = 0; kind < 4; ++kind) {
            for (const std::uint64_t ddof : {0, 1}) {
              if (ddof < length) check_quick_rows<T>({function, dtype_of<T>, result, ddof}, kind, rows, length);
            }
          }
        }
      }
    }
  }
}

TEST(QuickRows, AreAsExactAsTotals) {
  test::each_instruction_set([] {
    for (const Dtype dtype : test::all_dtypes) {
      dispatch(dtype, [](auto tag) { check_quick_rows<typename decltype(tag)::type>(); });
    }
  });
}

}  // namespace
}  // namespace masu
