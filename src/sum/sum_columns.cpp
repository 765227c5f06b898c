// SPDX-License-Identifier: Apache-2.0
// Exact sums and means of the columns of a matrix in host memory.
#include "call/operands.h"
#include "runtime/parallel.h"
#include "sum/sum_cpu.h"
#include "sum/sum_quick.h"

#include <masu/sum.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu {

namespace {

// `mean`: or the sums.
void columns_of(std::string_view function, bool mean, const ArrayView& x, std::uint64_t columns,
                const MutableArrayView& result) {
  const FloatingPointScope usual;
  if (x.dtype != Dtype::f32 && x.dtype != Dtype::f64) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: the dtype must be f32 or f64, got {}", function, to_string(x.dtype)));
  }
  call::check_dtype(function, x.dtype, result.dtype);
  if (columns == 0 || x.count % columns != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: columns must be >= 1 and divide the {} elements, got {}", function, x.count, columns));
  }
  if (result.count != columns) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: the result must have {} elements, got {}", function, columns, result.count));
  }
  const std::uint64_t rows = x.count / columns;
  if (mean && rows == 0)
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: needs at least one element, got 0", function));
  const std::uint64_t divisor = mean ? rows : 1;
  const auto all = [&]<class T>(const T* from, T* to) {
    constexpr std::uint64_t task_columns = 512;
    constexpr std::uint64_t threads_pay = std::uint64_t{1} << 16;
    const auto some = [&](std::uint64_t first, std::uint64_t end) {
      std::vector<std::uint8_t> sure(end - first);
      if (divisor >> 52 == 0) {
        cpu::quick_columns(from, rows, columns, first, end, divisor, to + first, sure.data());
      }
      std::vector<T> column;
      for (std::uint64_t c = first; c < end; ++c) {
        if (sure[c - first] != 0) continue;
        column.resize(rows);
        for (std::uint64_t row = 0; row < rows; ++row) column[row] = from[row * columns + c];
        Totals totals;
        cpu::add_totals(x.dtype, {.values = true}, column.data(), column.data(), rows, totals);
        const fixed::Part sum(totals.values);
        to[c] = static_cast<T>(mean ? fixed::mean_of(sum, rows, x.dtype) : fixed::sum_of(sum, x.dtype));
      }
    };
    if (x.count < threads_pay) return some(0, columns);
    runtime::parallel_tasks((columns + task_columns - 1) / task_columns, [&](std::uint64_t task) {
      some(task * task_columns, std::min(columns, (task + 1) * task_columns));
    });
  };
  if (x.dtype == Dtype::f32) all(static_cast<const float*>(x.data), static_cast<float*>(result.data));
  else all(static_cast<const double*>(x.data), static_cast<double*>(result.data));
}

}  // namespace

void sum_columns(const ArrayView& x, std::uint64_t columns, const MutableArrayView& result) {
  columns_of("sum_columns", false, x, columns, result);
}
void mean_columns(const ArrayView& x, std::uint64_t columns, const MutableArrayView& result) {
  columns_of("mean_columns", true, x, columns, result);
}

}  // namespace masu
