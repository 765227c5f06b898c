// SPDX-License-Identifier: Apache-2.0
// The public functions that merge sorted runs.
#include "call/launcher.h"
#include "call/operands.h"
#include "sort/cpu/sort_cpu_keys.h"
#include "sort/device/sort_kernels.h"

#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
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

// The runs that have elements.
std::vector<Run> runs_of(std::string_view function, std::span<const std::uint64_t> offsets, std::uint64_t count) {
  if (offsets.size() % 2 != 0) {
    call::refuse(function, fmt::format("runs must be pairs of offsets, got {} of them", offsets.size()));
  }
  const auto place = std::ranges::is_sorted_until(offsets);
  if (place != offsets.end()) {
    call::refuse(function, fmt::format("runs must be non-decreasing offsets, got {} after {} at place {}", *place,
                                       *(place - 1), place - offsets.begin()));
  }
  if (!offsets.empty() && offsets.back() > count) {
    call::refuse(function, fmt::format("runs must end at or before {}, got {}", count, offsets.back()));
  }
  std::vector<Run> runs;
  for (std::size_t r = 0; r < offsets.size(); r += 2) {
    if (offsets[r] != offsets[r + 1]) runs.push_back({offsets[r], offsets[r + 1]});
  }
  return runs;
}

// Where elements come from and where they go.
void check_places(std::string_view function, std::string_view name, const BufferBase& from, const BufferBase& to,
                  std::uint64_t count, std::uint64_t merged, std::size_t bytes) {
  const std::uint64_t has = call::count_of(function, from, bytes);
  if (has != count) {
    call::refuse(function, fmt::format("there must be a value for each key, got {} for {} keys", has, count));
  }
  const std::uint64_t got = call::count_of(function, to, bytes);
  if (got != merged) {
    call::refuse(function,
                 fmt::format("the result of {} must have the {} elements of the runs, got {}", name, merged, got));
  }
  call::check_writable(function, from, name);
  call::check_writable(function, to, "the result");
  call::check_one_device(function, from, to);
  if (call::overlap(from, to)) call::refuse_overlap(function, fmt::format("{} and result", name));
}

std::vector<Run> check(const Merge& merge, std::span<const std::uint64_t> offsets) {
  const std::uint64_t count = call::count_of(merge.function, merge.keys, merge.dtype);
  std::vector<Run> runs = runs_of(merge.function, offsets, count);
  std::uint64_t merged = 0;
  for (const Run& run : runs) merged += run.size();
  const bool with_values = merge.values != nullptr;
  check_places(merge.function, with_values ? "keys" : "data", merge.keys, merge.result, count, merged,
               size_of(merge.dtype));
  if (with_values) {
    call::check_element_bytes(merge.function, merge.value_bytes);
    check_places(merge.function, "values", *merge.values, *merge.result_values, count, merged, merge.value_bytes);
    call::check_one_device(merge.function, merge.keys, *merge.values);
    for (const BufferBase* keys : {&merge.keys, &merge.result}) {
      for (const BufferBase* values : {merge.values, merge.result_values}) {
        call::check_apart(merge.function, "keys and values", *keys, *values);
      }
    }
  }
  return runs;
}

void run(const Merge& merge, std::span<const std::uint64_t> offsets, Order order) {
  std::vector<Run> runs = check(merge, offsets);
  if (runs.empty()) return;
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
  sort_merge::merge(stream, arrays, std::move(runs), work);
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
