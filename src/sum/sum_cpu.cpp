// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_cpu.h"

#include "runtime/parallel.h"
#include "sum/sum_simd.h"

#include <masu/device.h>

#include <algorithm>
#include <cstring>
#include <mutex>

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

std::vector<std::byte> columns_as_rows(const ArrayView& x, std::uint64_t rows, std::uint64_t columns) {
  const std::size_t size = size_of(x.dtype);
  const std::uint64_t length = x.count / rows;
  std::vector<std::byte> result(x.count * size);
  const auto* const from = static_cast<const std::byte*>(x.data);
  runtime::parallel_tasks(rows / columns, [&](std::uint64_t matrix) {
    const std::uint64_t first = matrix * length * columns;
    for (std::uint64_t line = 0; line < length; ++line) {
      for (std::uint64_t column = 0; column < columns; ++column) {
        std::memcpy(result.data() + (first + column * length + line) * size,
                    from + (first + line * columns + column) * size, size);
      }
    }
  });
  return result;
}

}  // namespace masu::cpu
