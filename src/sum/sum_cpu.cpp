// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_cpu.h"

#include "elements/order.h"
#include "runtime/parallel.h"
#include "sum/sum_quick.h"
#include "sum/sum_simd.h"

#include <masu/device.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <optional>
#include <type_traits>
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
  dispatch(dtype, [&]<class T>(TypeTag<T>) {
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
  dispatch(dtype, [&]<class T>(TypeTag<T>) {
    runtime::parallel_parts(rows, rows_a_task, [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t row = first; row < end; ++row) {
        Totals totals;
        add_here(needs, static_cast<const T*>(x) + row * count, static_cast<const T*>(y) + row * count, count, totals);
        sink(row, totals);
      }
    });
  });
}

namespace {

using Function = SumRule::Function;

// Elements that are worth a task of results.
constexpr std::uint64_t task_elements = std::uint64_t{1} << 16;

bool is_quick(const SumRule& rule, std::uint64_t length) {
  if (length == 0) return false;
  if (is_stored_float(rule.dtype)) {
    return rule.function == Function::dot && rule.result == rule.dtype && length <= quick_dot_stored;
  }
  const bool known = rule.is_spread() ? length <= quick_spread_elements : rule.function != Function::norm2;
  return known && is_float(rule.dtype) && !is_stored_float(rule.result);
}

// Calls some(first, end) for parts of the rows, on threads where these pay.
template <class F>
void in_tasks(std::uint64_t rows, std::uint64_t length, const F& some) {
  if (rows < 2 || rows * length < 2 * task_elements || length > task_elements) return some(0, rows);
  const std::uint64_t each = std::max<std::uint64_t>(task_elements / length, 1);
  runtime::parallel_parts(rows, each, some);
}

template <class T>
void take_exactly(const SumRows& to, std::uint64_t row, const T* x, const T* y) {
  Totals totals;
  add_totals(to.rule().dtype, to.rule().needs(), x, y, to.length(), totals);
  to.take(row, totals);
}

// Rows of floats one after the other: those whose rounding is proved without exact totals, and the others.
template <class T>
void sum_quickly(const SumRows& to, const T* x, const T* y, std::uint64_t rows) {
  const SumRule& rule = to.rule();
  const std::uint64_t length = to.length();
  const std::uint64_t divisor = rule.function == Function::mean ? length : 1;
  const bool root = rule.function == Function::standard_deviation;
  const double addend = to_f64(std::bit_cast<T>(static_cast<UnsignedOf<sizeof(T)>>(rule.addend)));
  // For more f32 than that the bound proves no result of f64.
  const bool proves = rule.is_spread() || rule.dtype == rule.result || rule.dtype == Dtype::f64 || length <= quick_few;
  const bool together =
      proves && rows > 1 && length <= quick_piece && addend == 0 && !rule.is_spread() && rule.function != Function::dot;
  const auto one = [&](std::uint64_t row) {
    const T* const from = x + row * length;
    const T* const with = y + row * length;
    std::optional<double> found;
    if constexpr (is_stored<T>) {
      if (proves) found = quick_stored_dot(rule.dtype, from, with, length);
    } else {
      if (proves && rule.function == Function::dot) found = quick_dot(from, with, length, rule.result);
      else if (proves && rule.is_spread()) found = quick_spread(from, {length, rule.ddof, root, rule.result});
      else if (proves) found = quick_sum(from, length, rule.result, divisor, addend);
    }
    if (found) to.take(row, *found);
    else take_exactly(to, row, from, with);
  };
  in_tasks(rows, length, [&](std::uint64_t first, std::uint64_t end) {
    std::array<double, quick_rows_together> values;
    std::array<std::uint8_t, quick_rows_together> sure{};
    for (std::uint64_t begin = first; begin < end; begin += quick_rows_together) {
      const std::uint64_t here = std::min(quick_rows_together, end - begin);
      if constexpr (!is_stored<T>) {
        const QuickRows of{here, length, rule.result, divisor};
        if (together) quick_sums(x + begin * length, of, values.data(), sure.data());
      }
      for (std::uint64_t i = 0; i < here; ++i) {
        if (sure[i] != 0) to.take(begin + i, values[i]);
        else one(begin + i);
      }
    }
  });
}

// The same of rows that are worked on many at a time, of any dtype.
void sum_together(const SumRows& to, const std::byte* x, std::uint64_t rows) {
  const std::size_t bytes = to.length() * size_of(to.rule().dtype);
  in_tasks(rows, to.length(), [&](std::uint64_t first, std::uint64_t end) {
    std::vector<double> values(end - first);
    std::vector<std::uint8_t> sure(end - first);
    quick_rows(to.rule(), x + first * bytes, end - first, to.length(), values.data(), sure.data());
    to.take(first, values.data(), end - first);
    for (std::uint64_t row = first; row < end; ++row) {
      if (sure[row - first] == 0) take_exactly(to, row, x + row * bytes, x + row * bytes);
    }
  });
}

}  // namespace

void sum_rows(const SumRows& to, const void* x, const void* y, std::uint64_t count) {
  const SumRule& rule = to.rule();
  const std::uint64_t length = to.length();
  if (length == 0) return to.take_nothing(count);
  if (rule.addend == 0 && are_quick_rows(rule, count, length))
    return sum_together(to, static_cast<const std::byte*>(x), count);
  if (!is_quick(rule, length)) {
    return add_rows(rule.dtype, rule.needs(), x, y, count, length,
                    [&](std::uint64_t row, const Totals& totals) { to.take(row, totals); });
  }
  dispatch(rule.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (is_float_type<T>) sum_quickly(to, static_cast<const T*>(x), static_cast<const T*>(y), count);
  });
}

}  // namespace masu::cpu
