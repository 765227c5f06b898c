// SPDX-License-Identifier: Apache-2.0
// Results of lines of host memory, which may be the columns of matrices.
#include "call/operands.h"
#include "elements/order.h"
#include "elements/stored_float.h"
#include "runtime/parallel.h"
#include "sum/sum_cpu.h"

#include <masu/sum.h>
#include <masu/transpose.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu {

namespace {

using Function = SumRule::Function;

// The columns of one matrix of `rows` rows. Those for which nothing is certain are copied and added as rows.
void take_columns(const SumRule& rule, const std::byte* x, std::uint64_t rows, std::uint64_t columns, std::byte* to) {
  constexpr std::uint64_t many_rows = 256;  // which threads share: a part of the columns reads all their pages
  constexpr std::uint64_t task_columns = 512;
  constexpr std::uint64_t task_elements = std::uint64_t{1} << 15;
  const std::size_t size = size_of(rule.dtype);
  const std::size_t result_size = size_of(rule.result);
  const auto some = [&](std::uint64_t first, std::uint64_t end) {
    const auto values = std::make_unique_for_overwrite<double[]>(end - first);
    const auto sure = std::make_unique_for_overwrite<std::uint8_t[]>(end - first);
    const bool all = cpu::quick_columns(rule, x + first * size, {rows, columns, end - first}, values.get(), sure.get());
    SumRows(rule, rows, to, nullptr).take(first, values.get(), end - first);
    if (all) return;
    std::vector<std::uint64_t> left;
    for (std::uint64_t c = first; c < end; ++c) {
      if (sure[c - first] == 0) left.push_back(c);
    }
    std::vector<std::byte> lines(left.size() * rows * size);
    std::vector<std::byte> found(left.size() * result_size);
    constexpr std::uint64_t together = 16;  // columns, which often share lines of the cache
    dispatch(rule.dtype, [&]<class T>(TypeTag<T>) {
      runtime::parallel_parts(left.size(), together, [&](std::uint64_t begin, std::uint64_t stop) {
        T* line = reinterpret_cast<T*>(lines.data()) + begin * rows;
        for (std::uint64_t row = 0; row < rows; ++row, ++line) {
          for (std::uint64_t i = begin; i < stop; ++i)
            line[(i - begin) * rows] = reinterpret_cast<const T*>(x)[row * columns + left[i]];
        }
      });
    });
    cpu::sum_rows(SumRows(rule, rows, found.data(), nullptr), lines.data(), lines.data(), left.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      std::memcpy(to + left[i] * result_size, found.data() + i * result_size, result_size);
    }
  };
  if (rows * columns < 2 * task_elements || rows >= many_rows) return some(0, columns);
  runtime::parallel_parts(columns, std::max(task_columns, task_elements / rows), some);
}

// The results of lines of one element: this, or for a variance 0; no zero is negative, and all NaNs are one.
template <class T, class R>
void write_single(const T* from, std::uint64_t count, bool spread, R* to) {
  const R nan = rounded_to<R>(std::numeric_limits<double>::quiet_NaN());
  for (std::uint64_t i = 0; i < count; ++i) {
    ComputedAs<R> number;
    if constexpr (is_stored<T>) number = to_float(from[i]);
    else number = static_cast<R>(from[i]);
    const auto result = (spread ? number * 0 : number) + 0;
    if constexpr (is_stored<T>) to[i] = std::isnan(result) ? nan : result == 0 ? R{0} : from[i];
    else to[i] = std::isnan(result) ? nan : result;
  }
}

// Lines of one element. False where the result has another dtype.
bool take_single(const SumRule& rule, const void* x, std::uint64_t count, void* results) {
  constexpr std::uint64_t task_elements = std::uint64_t{1} << 17;
  const bool real = is_float(rule.dtype);
  const bool known = (real && rule.function == Function::sum) || rule.function == Function::mean || rule.is_spread();
  if (!known || rule.result != (real ? rule.dtype : Dtype::f64)) return false;
  dispatch(rule.dtype, [&]<class T>(TypeTag<T>) {
    using R = std::conditional_t<is_float_type<T>, T, double>;
    runtime::parallel_parts(count, task_elements, [&](std::uint64_t first, std::uint64_t end) {
      write_single(static_cast<const T*>(x) + first, end - first, rule.is_spread(), static_cast<R*>(results) + first);
    });
  });
  return true;
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
  const bool quick = rule.addend == 0;
  if (quick && length == 1 && take_single(rule, x.data, rows, results)) return true;
  if (quick && columns > 1 && cpu::are_quick_columns(rule, length)) {
    const std::uint64_t elements = length * columns;
    for (std::uint64_t first = 0; first < x.count; first += elements) {
      take_columns(rule, static_cast<const std::byte*>(x.data) + first * size_of(rule.dtype), length, columns,
                   static_cast<std::byte*>(results) + first / length * size_of(rule.result));
    }
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
