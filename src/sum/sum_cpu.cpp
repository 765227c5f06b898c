// SPDX-License-Identifier: Apache-2.0
// Exact sums by CPU threads: of rows, and of the columns of a matrix in host memory.
#include "call/operands.h"
#include "runtime/parallel.h"
#include "sum/sum_quick.h"
#include "sum/sum_simd.h"
#include "sum/sum_totals.h"

#include <masu/device.h>
#include <masu/sum.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

namespace masu::cpu {

namespace {

// Squares read their data again: from the second cache, if a block is no longer than this.
constexpr std::uint64_t block_bytes = std::uint64_t{128} << 10;
// What is worth a task.
constexpr std::uint64_t task_bytes = std::uint64_t{512} << 10;
constexpr std::uint64_t tasks_a_thread = 4;

// By one thread.
template <class T>
void add_here(const SumNeeds& needs, const T* x, const T* y, std::uint64_t count, Totals& totals) {
  if (needs.products) return add_products(x, y, count, totals.products);
  if (!needs.squares) return add_values(x, count, totals.values);
  if (!needs.values) return add_products(x, x, count, totals.products);
  constexpr std::uint64_t block = block_bytes / sizeof(T);
  for (std::uint64_t first = 0; first < count; first += block) {
    const std::uint64_t length = std::min(block, count - first);
    add_values(x + first, length, totals.values);
    add_products(x + first, x + first, length, totals.products);
  }
}

}  // namespace

void add_totals(Dtype dtype, const SumNeeds& needs, const void* x, const void* y, std::uint64_t count, Totals& totals) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = static_cast<const T*>(x);
    const auto* with = static_cast<const T*>(y);
    const std::uint64_t threads = cpu_threads();
    const std::uint64_t tasks =
        threads == 1 ? 1 : std::clamp<std::uint64_t>(count / (task_bytes / sizeof(T)), 1, threads * tasks_a_thread);
    if (tasks == 1) return add_here(needs, from, with, count, totals);
    std::mutex mutex;
    runtime::parallel_tasks(tasks, [&](std::uint64_t task) {
      // In vectors, so that no cache line is read by two.
      constexpr std::uint64_t line = 64 / sizeof(T);
      const std::uint64_t lines = count / line;
      const std::uint64_t first = lines * task / tasks * line;
      const std::uint64_t end = task + 1 == tasks ? count : lines * (task + 1) / tasks * line;
      Totals own;
      add_here(needs, from + first, with == nullptr ? nullptr : with + first, end - first, own);
      const std::lock_guard lock(mutex);
      totals.values.merge(own.values);
      totals.products.merge(own.products);
    });
  });
}

void add_rows(Dtype dtype, const SumNeeds& needs, const void* x, const void* y, std::uint64_t rows, std::uint64_t count,
              const std::function<void(std::uint64_t, const Totals&)>& sink) {
  const std::uint64_t bytes = std::max<std::uint64_t>(count * size_of(dtype), 1);
  if (rows < std::uint64_t{cpu_threads()} * tasks_a_thread && bytes >= task_bytes) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      Totals totals;
      const std::uint64_t at = row * count * size_of(dtype);
      add_totals(dtype, needs, static_cast<const std::byte*>(x) + at, static_cast<const std::byte*>(y) + at, count,
                 totals);
      sink(row, totals);
    }
    return;
  }
  const std::uint64_t rows_a_task = std::max<std::uint64_t>(task_bytes / bytes, 1);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    runtime::parallel_tasks((rows + rows_a_task - 1) / rows_a_task, [&](std::uint64_t task) {
      const std::uint64_t end = std::min(rows, (task + 1) * rows_a_task);
      for (std::uint64_t row = task * rows_a_task; row < end; ++row) {
        Totals totals;
        add_here(needs, static_cast<const T*>(x) + row * count, static_cast<const T*>(y) + row * count, count, totals);
        sink(row, totals);
      }
    });
  });
}

}  // namespace masu::cpu

namespace masu {

namespace {

// `mean`: or the sums.
void columns_of(std::string_view function, bool mean, const ArrayView& x, std::uint64_t columns,
                const MutableArrayView& result) {
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
      if (cpu::quick_arithmetic() && divisor >> 52 == 0) {
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
