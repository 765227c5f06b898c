// SPDX-License-Identifier: Apache-2.0
// The public functions that merge sorted runs.
#include "call/launcher.h"
#include "call/operands.h"
#include "sort/cpu/sort_cpu_stable.h"
#include "sort/device/sort_merge.h"

#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

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

// Where elements come from and where they go.
void check_places(std::string_view function, std::string_view name, const BufferBase& from, const BufferBase& to,
                  std::uint64_t count, std::size_t bytes) {
  for (const BufferBase* place : {&from, &to}) {
    const std::uint64_t got = call::count_of(function, *place, bytes);
    if (got != count) {
      call::refuse(function, fmt::format("{} and result must have an element for each key, got {} for {} keys", name,
                                         got, count));
    }
    call::check_writable(function, *place, name);
  }
  call::check_one_device(function, from, to);
  call::check_apart(function, fmt::format("{} and result", name), from, to);
}

void check_runs(std::string_view function, std::span<const std::uint64_t> runs, std::uint64_t count) {
  if (runs.empty() || runs.front() != 0 || runs.back() != count) {
    const std::string got = runs.empty() ? "none" : fmt::format("{} to {}", runs.front(), runs.back());
    call::refuse(function,
                 fmt::format("runs must begin with 0 and end with {}, the number of keys, got {}", count, got));
  }
  const auto place = std::ranges::is_sorted_until(runs);
  if (place == runs.end()) return;
  call::refuse(function, fmt::format("runs must be non-decreasing, got {} after {} at place {}", *place, *(place - 1),
                                     place - runs.begin()));
}

void check(const Merge& merge, std::span<const std::uint64_t> runs) {
  const std::uint64_t count = call::count_of(merge.function, merge.keys, merge.dtype);
  call::check_count(merge.function, count);
  const bool with_values = merge.values != nullptr;
  check_places(merge.function, with_values ? "keys" : "data", merge.keys, merge.result, count, size_of(merge.dtype));
  if (with_values) {
    call::check_element_bytes(merge.function, merge.value_bytes);
    check_places(merge.function, "values", *merge.values, *merge.result_values, count, merge.value_bytes);
    call::check_one_device(merge.function, merge.keys, *merge.values);
    for (const BufferBase* keys : {&merge.keys, &merge.result}) {
      for (const BufferBase* values : {merge.values, merge.result_values}) {
        call::check_apart(merge.function, "keys and values", *keys, *values);
      }
    }
  }
  check_runs(merge.function, runs, count);
}

void run(const Merge& merge, std::span<const std::uint64_t> given, Order order) {
  check(merge, given);
  if (given.back() == 0) return;
  // Empty runs would take passes.
  std::vector<std::uint64_t> runs;
  std::ranges::unique_copy(given, std::back_inserter(runs));
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
