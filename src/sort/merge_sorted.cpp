// SPDX-License-Identifier: Apache-2.0
// The public functions that merge sorted runs; segments that are prepared; the schedule of the bitonic network.
#include "call/launcher.h"
#include "call/operands.h"
#include "sort/cpu/sort_cpu.h"
#include "sort/device/sort_device.h"
#include "sort/device/sort_plan.h"

#include <masu/bitonic.h>
#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
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
  const FloatingPointScope usual;
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

namespace {

constexpr std::string_view name = "PreparedSegments";

std::string text_of(Payload::Kind moved, std::size_t bytes) {
  switch (moved) {
    case Payload::Kind::none: return "alone";
    case Payload::Kind::records: return fmt::format("with values of {} bytes", bytes);
    case Payload::Kind::indices: break;
  }
  return fmt::format("with indices of {} bytes", bytes);
}

}  // namespace

void check_segments(std::string_view function, std::span<const std::uint64_t> offsets, std::uint64_t count) {
  const auto falls = std::ranges::adjacent_find(offsets, std::ranges::greater());
  if (falls != offsets.end()) {
    call::refuse(function, fmt::format("segment offsets must be non-decreasing, got {} after {} at place {}",
                                       *(falls + 1), *falls, falls - offsets.begin() + 1));
  }
  if (!offsets.empty() && offsets.back() > count) {
    call::refuse(function, fmt::format("segments must end at or before {}, got {}", count, offsets.back()));
  }
}

PreparedSegments::State::State(const Device& on, Dtype keys, std::uint64_t count,
                               std::span<const std::uint64_t> segments, Payload::Kind moved, std::size_t bytes)
    : device_(on), dtype_(keys), payload_{moved, nullptr, bytes}, offsets_(segments.begin(), segments.end()) {
  call::check_count(name, count);
  if (moved == Payload::Kind::records) call::check_element_bytes(name, bytes);
  if (offsets_.size() < 2) call::refuse(name, fmt::format("at least two offsets, got {}", offsets_.size()));
  check_segments(name, offsets_, count);
  pieces_ = {count, 1, offsets_};
  pieces_.most = pieces_.longest();
  if (!call::on_cpu(device_) && count != 0)
    tables_.emplace(device_, dtype_, payload_, job(name, count, Order::ascending));
}

SortJob PreparedSegments::State::job(std::string_view function, std::uint64_t count, Order order) const {
  if (count != pieces_.count) {
    call::refuse(function, fmt::format("the segments are prepared for {} keys, got {}", pieces_.count, count));
  }
  return {order, SortAlgorithm::automatic, pieces_, function};
}

void PreparedSegments::State::check(std::string_view function, const Device& on, Dtype keys, Payload::Kind moved,
                                    std::size_t bytes, const BufferBase* values) const {
  if (!(on == device_) || keys != dtype_ || moved != payload_.kind || bytes != payload_.bytes) {
    call::refuse(function, fmt::format("the segments are prepared for {} {} on {}, got {} {} on {}", to_string(dtype_),
                                       text_of(payload_.kind, payload_.bytes), device_.id(), to_string(keys),
                                       text_of(moved, bytes), on.id()));
  }
  if (values != nullptr && !call::on_cpu(on) && sort_plan::carried(bytes) && !sort_kernels::aligned(values, bytes)) {
    call::refuse(function, fmt::format("with prepared segments, values must begin at a multiple of {} bytes, got {}",
                                       bytes, call::place_of(*values)));
  }
}

PreparedSegments::PreparedSegments(const Device& device, Dtype dtype, std::uint64_t count,
                                   std::span<const std::uint64_t> offsets, std::size_t value_bytes)
    : state_(std::make_unique<const State>(device, dtype, count, offsets,
                                           value_bytes == 0 ? Payload::Kind::none : Payload::Kind::records,
                                           value_bytes)) {}

PreparedSegments PreparedSegments::for_argsort(const Device& device, Dtype dtype, std::uint64_t count,
                                               std::span<const std::uint64_t> offsets, Dtype index_dtype) {
  return PreparedSegments(
      std::make_unique<const State>(device, dtype, count, offsets, Payload::Kind::indices, size_of(index_dtype)));
}

PreparedSegments::PreparedSegments(std::unique_ptr<const State> state) noexcept : state_(std::move(state)) {}
PreparedSegments::PreparedSegments(PreparedSegments&&) noexcept = default;
PreparedSegments& PreparedSegments::operator=(PreparedSegments&&) noexcept = default;
PreparedSegments::~PreparedSegments() = default;

std::vector<BitonicPass> bitonic_schedule(std::uint64_t count) {
  const auto stages = static_cast<std::uint32_t>(count < 2 ? 0 : std::bit_width(count - 1));
  std::vector<BitonicPass> schedule;
  schedule.reserve(std::size_t{stages} * (stages + 1) / 2);
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (std::uint32_t pass = 0; pass <= stage; ++pass) {
      schedule.push_back({stage, pass, std::uint64_t{1} << (stage - pass), stage + 1 == stages});
    }
  }
  return schedule;
}

}  // namespace masu
