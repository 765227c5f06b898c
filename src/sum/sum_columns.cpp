// SPDX-License-Identifier: Apache-2.0
// Results of lines of host memory, which may be the columns of matrices.
#include "call/operands.h"
#include "runtime/parallel.h"
#include "sum/sum_cpu.h"
#include "sum/sum_quick.h"

#include <masu/sum.h>
#include <masu/transpose.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu {

namespace {

using Function = SumRule::Function;

// The columns of one matrix of `rows` rows, sums or means of floats that are rounded to their dtype. Those for which
// nothing is certain are copied and added exactly.
template <class T>
void sum_columns_of(const SumRule& rule, const T* x, std::uint64_t rows, std::uint64_t columns, T* to) {
  constexpr std::uint64_t task_columns = 512;
  constexpr std::uint64_t threads_pay = std::uint64_t{1} << 16;
  const std::uint64_t divisor = rule.function == Function::mean ? rows : 1;
  const auto some = [&](std::uint64_t first, std::uint64_t end) {
    std::vector<std::uint8_t> sure(end - first);
    if (divisor >> 52 == 0) cpu::quick_columns(x, rows, columns, first, end, divisor, to + first, sure.data());
    std::vector<T> column;
    for (std::uint64_t c = first; c < end; ++c) {
      if (sure[c - first] != 0) continue;
      column.resize(rows);
      for (std::uint64_t row = 0; row < rows; ++row) column[row] = x[row * columns + c];
      cpu::sum_rows(SumRows(rule, rows, reinterpret_cast<std::byte*>(to + c), nullptr), column.data(), column.data(),
                    1);
    }
  };
  if (rows * columns < threads_pay) return some(0, columns);
  runtime::parallel_parts(columns, task_columns, some);
}

// The columns of matrices of `length` rows, as rows.
std::vector<std::byte> columns_as_rows(const ArrayView& x, std::uint64_t length, std::uint64_t columns) {
  const Device cpu = Device::open("cpu");
  const std::size_t size = size_of(x.dtype);
  const std::uint64_t elements = length * columns;
  std::vector<std::byte> result(x.count * size);
  for (std::uint64_t first = 0; first < x.count; first += elements) {
    const auto* const from = static_cast<const std::byte*>(x.data) + first * size;
    transpose(cpu, ConstRecordsView(from, size, elements), length, columns,
              RecordsView(result.data() + first * size, size, elements));
  }
  return result;
}

void check_and_sum(std::string_view function, const SumRule& rule, const ArrayView& x, std::uint64_t columns,
                   const MutableArrayView& result) {
  if (x.dtype != Dtype::f32 && x.dtype != Dtype::f64) {
    call::refuse(function, fmt::format("the dtype must be f32 or f64, got {}", to_string(x.dtype)));
  }
  call::check_dtype(function, x.dtype, result.dtype);
  if (columns == 0 || x.count % columns != 0) {
    call::refuse(function, fmt::format("columns must be >= 1 and divide the {} elements, got {}", x.count, columns));
  }
  if (result.count != columns) {
    call::refuse(function, fmt::format("the result must have {} elements, got {}", columns, result.count));
  }
  if (rule.function == Function::mean && x.count == 0) {
    call::refuse(function, "needs at least one element, got 0");
  }
  sum_lines(rule, x, x, columns, columns, result.data);
}

}  // namespace

bool sum_lines(const SumRule& rule, const ArrayView& x, const ArrayView& y, std::uint64_t rows, std::uint64_t columns,
               void* results, bool refuses) {
  const FloatingPointScope usual;
  const std::uint64_t length = x.count / rows;
  const bool adds = rule.function == Function::sum || rule.function == Function::mean;
  if (columns == rows && columns > 1 && length != 0 && adds && rule.result == rule.dtype &&
      size_of(rule.dtype) >= sizeof(float)) {
    if (rule.dtype == Dtype::f32)
      sum_columns_of(rule, static_cast<const float*>(x.data), length, columns, static_cast<float*>(results));
    else sum_columns_of(rule, static_cast<const double*>(x.data), length, columns, static_cast<double*>(results));
    return true;
  }
  const void* of_x = x.data;
  const void* of_y = y.data;
  std::vector<std::byte> made;
  if (columns > 1 && length != 0) {
    made = columns_as_rows(x, length, columns);
    of_x = of_y = made.data();
  }
  std::atomic<bool> misfit = false;
  cpu::sum_rows(SumRows(rule, length, static_cast<std::byte*>(results), refuses ? nullptr : &misfit), of_x, of_y, rows);
  return !misfit;
}

void sum_columns(const ArrayView& x, std::uint64_t columns, const MutableArrayView& result) {
  check_and_sum("sum_columns", {Function::sum, x.dtype, x.dtype}, x, columns, result);
}
void mean_columns(const ArrayView& x, std::uint64_t columns, const MutableArrayView& result) {
  check_and_sum("mean_columns", {Function::mean, x.dtype, x.dtype}, x, columns, result);
}

}  // namespace masu
