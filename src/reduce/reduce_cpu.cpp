// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce_plan.h"

#include "runtime/parallel.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace masu {

namespace {

// A thread takes this many bytes at a time; longer rows are split.
constexpr std::uint64_t task_bytes = std::uint64_t{1} << 20;
// Rows of fewer elements are compared one by one.
constexpr std::uint64_t few = 16;

// The result, in which the index of an extreme is that of the block that has it.
template <class T>
Reduced best_of(const T* x, std::uint64_t count, ReduceOp op, bool skip) {
  Reduced found;
  if (op == ReduceOp::count_nonzero) {
    found.nonzero = cpu::nonzero_elements(dtype_of<T>, x, count);
    return found;
  }
  const cpu::BestBlocks best = cpu::best_blocks(dtype_of<T>, x, count, op, skip);
  for (int which = 0; which < 2; ++which) {
    if (wants(op, which)) found.extremes[which] = {best.of[which].rank, best.of[which].begin, 0};
  }
  return found;
}

// Turns the blocks into places.
template <class T>
void locate(Reduced& found, const T* x, std::uint64_t count, ReduceOp op, bool skip) {
  for (int which = 0; which < 2; ++which) {
    if (!wants(op, which)) continue;
    Extreme& extreme = found.extremes[which];
    const std::uint64_t block = std::min(cpu::block_bytes / sizeof(T), count - extreme.index);
    extreme.index +=
        cpu::first_of_rank(dtype_of<T>, x + extreme.index, block, ExtremeRule{which == 1, skip}, extreme.rank);
    extreme.bits = std::bit_cast<UnsignedOf<sizeof(T)>>(x[extreme.index]);
  }
}

template <class T>
Reduced reduce_few(const T* x, std::uint64_t count, ReduceOp op, bool skip) {
  Reduced found;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<UnsignedOf<sizeof(T)>>(x[i]);
    for (int which = 0; which < 2; ++which) {
      const Extreme here{ExtremeRule{which == 1, skip}(x[i]), i, bits};
      if (wants(op, which) && here.before(found.extremes[which])) found.extremes[which] = here;
    }
    const bool has_sign = infinity_bits<T> != 0;
    found.nonzero += (has_sign ? static_cast<decltype(bits)>(bits << 1) : bits) != 0 ? 1 : 0;
  }
  return found;
}

}  // namespace

std::vector<Reduced> reduce_cpu(const ArrayView& data, std::uint64_t rows, ReduceOp op, bool skip,
                                std::uint64_t first) {
  const std::uint64_t row = data.count / rows;
  std::vector<Reduced> result(rows);
  dispatch(data.dtype, [&]<class T>(TypeTag<T>) {
    const auto* x = static_cast<const T*>(data.data);
    constexpr std::uint64_t task = task_bytes / sizeof(T);
    const std::uint64_t parts = (row + task - 1) / task;  // tasks of a row
    if (parts > 1) {
      std::vector<Reduced> found(rows * parts);
      runtime::parallel_tasks(rows * parts, [&](std::uint64_t t) {
        const std::uint64_t begin = t % parts * task;
        found[t] = best_of(x + t / parts * row + begin, std::min(task, row - begin), op, skip);
        for (Extreme& extreme : found[t].extremes) extreme.index += begin;
      });
      for (std::size_t t = 0; t < found.size(); ++t) result[t / parts].merge(found[t]);
      for (std::uint64_t r = 0; r < rows; ++r) locate(result[r], x + r * row, row, op, skip);
      return;
    }
    const std::uint64_t together = std::max<std::uint64_t>(1, task / row);  // rows of a task
    runtime::parallel_parts(rows, together, [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t r = first; r < end; ++r) {
        if (row < few) {
          result[r] = reduce_few(x + r * row, row, op, skip);
          continue;
        }
        result[r] = best_of(x + r * row, row, op, skip);
        locate(result[r], x + r * row, row, op, skip);
      }
    });
  });
  for (Reduced& one : result) {
    for (Extreme& extreme : one.extremes) extreme.index += first;
  }
  return result;
}

}  // namespace masu
