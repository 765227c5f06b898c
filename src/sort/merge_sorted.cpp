// SPDX-License-Identifier: Apache-2.0
// The public functions that merge sorted runs.
#include "call/launcher.h"
#include "call/operands.h"
#include "sort/cpu/sort_cpu_stable.h"
#include "sort/device/sort_merge.h"

#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace masu {

namespace {

// Keys and what moves with them, from one place to another.
struct Merge {
  std::string_view function;
  Dtype dtype;
  BufferBase& keys;
  BufferBase& result;
  BufferBase* values = nullptr;
  BufferBase* result_values = nullptr;
  std::size_t value_bytes = 0;
};

void check_place(std::string_view function, const BufferBase& from, const BufferBase& to, std::uint64_t count,
                 std::size_t bytes) {
  const std::uint64_t got = call::count_of(function, to, bytes);
  if (call::count_of(function, from, bytes) != count || got != count) {
    call::refuse(function, fmt::format("data, result and values must have one size, got {} for {} keys", got, count));
  }
  call::check_one_device(function, from, to);
  call::check_writable(function, from, "data");
  call::check_writable(function, to, "the result");
  call::check_apart(function, "data and result", from, to);
}

void check(const Merge& merge, std::span<const std::uint64_t> runs) {
  const std::uint64_t count = call::count_of(merge.function, merge.keys, merge.dtype);
  call::check_count(merge.function, count);
  check_place(merge.function, merge.keys, merge.result, count, size_of(merge.dtype));
  if (merge.values != nullptr) {
    call::check_element_bytes(merge.function, merge.value_bytes);
    check_place(merge.function, *merge.values, *merge.result_values, count, merge.value_bytes);
    call::check_one_device(merge.function, merge.keys, *merge.values);
    for (const BufferBase* keys : {&merge.keys, &merge.result}) {
      for (const BufferBase* values : {merge.values, merge.result_values}) {
        call::check_apart(merge.function, "keys and values", *keys, *values);
      }
    }
  }
  if (runs.empty() || runs.front() != 0 || runs.back() != count || !std::ranges::is_sorted(runs)) {
    call::refuse(merge.function, fmt::format("runs must be non-decreasing offsets from 0 to {}, the keys", count));
  }
}

void run(const Merge& merge, std::span<const std::uint64_t> runs, Order order) {
  check(merge, runs);
  if (runs.back() == 0) return;
  const bool with_values = merge.values != nullptr;
  if (call::on_cpu(merge.keys.device())) {
    cpu::MergeArrays arrays{call::host_address(merge.keys), call::host_address(merge.result)};
    if (with_values) {
      arrays.values = call::host_address(*merge.values);
      arrays.merged_values = call::host_address(*merge.result_values);
      arrays.value_bytes = merge.value_bytes;
    }
    return cpu::merge_runs(merge.dtype, arrays, runs, order, cpu::Threads::all);
  }
  sort_kernels::Arrays arrays;
  arrays.dtype = merge.dtype;
  arrays.order = order;
  arrays.source = &merge.keys;
  arrays.target = &merge.result;
  if (with_values) {
    arrays.records = merge.values;
    arrays.moved_records = merge.result_values;
    arrays.record_bytes = merge.value_bytes;
  }
  Stream stream = call::timed_stream(merge.keys.device(), false);
  DeviceWork work;
  sort_merge::merge(stream, arrays, runs, work);
  stream.finish();
}

}  // namespace

void merge_sorted(BufferBase& data, Dtype dtype, std::span<const std::uint64_t> runs, BufferBase& result,
                  const SortOptions& options) {
  run({"merge_sorted", dtype, data, result}, runs, options.order);
}

void merge_sorted_by_key(BufferBase& keys, Dtype dtype, BufferBase& values, std::size_t value_bytes,
                         std::span<const std::uint64_t> runs, BufferBase& result_keys, BufferBase& result_values,
                         const SortOptions& options) {
  run({"merge_sorted_by_key", dtype, keys, result_keys, &values, &result_values, value_bytes}, runs, options.order);
}

}  // namespace masu
