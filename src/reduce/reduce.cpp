// SPDX-License-Identifier: Apache-2.0
// The public functions: check, then on the CPU or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "reduce/reduce_plan.h"
#include "reduce/reduce_rank.h"

#include <masu/histogram.h>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace masu {

namespace {

constexpr std::array<std::string_view, 4> op_names = {"min", "max", "minmax", "count-nonzero"};

bool skips(const ReduceOptions& options) {
  return options.nan == NanPolicy::skip;
}

// Elements of a row.
std::uint64_t check_shape(std::uint64_t count, ReduceOp op, const ReduceOptions& options) {
  call::check_count(reduce_name, count);
  call::check_nan(reduce_name, options.nan, NanPolicy::propagate);
  if (options.rows == 0 || options.rows > call::most_elements || count % options.rows != 0) {
    call::refuse(reduce_name,
                 fmt::format("rows must be at least 1 and divide the {} elements, got {}", count, options.rows));
  }
  if (count == 0 && op != ReduceOp::count_nonzero) {
    call::refuse(reduce_name, fmt::format("{} needs at least one element, got none", to_string(op)));
  }
  return count / options.rows;
}

ReduceResult empty_result(Dtype dtype, ReduceOp op, std::uint64_t rows) {
  return ReduceParts::make(dtype, op, skips({}), std::vector<Reduced>(rows));
}

ReduceResult here(const ArrayView& data, ReduceOp op, const ReduceOptions& options) {
  const call::Timer timer(options.times, &Times::compute);
  return ReduceParts::make(data.dtype, op, skips(options), reduce_cpu(data, options.rows, op, skips(options)));
}

reduce_plan::Plan plan_for(const Device& device, Dtype dtype, std::uint64_t row, ReduceOp op,
                           const ReduceOptions& options) {
  return reduce_plan::make(device.info(), dtype, op, skips(options), options.rows, row);
}

void check_targets(const ReduceTargets& to, const BufferBase& data, Dtype dtype, std::uint64_t rows) {
  struct Target {
    const BufferBase* memory;
    std::string_view name;
    std::size_t bytes;
  };
  const std::size_t size = size_of(dtype);
  constexpr std::size_t word = sizeof(std::uint64_t);
  const std::array<Target, 7> targets = {{{to.min, "min", size},
                                          {to.max, "max", size},
                                          {to.min_indices, "min_indices", word},
                                          {to.max_indices, "max_indices", word},
                                          {to.nonzero, "nonzero", word},
                                          {to.all, "all", 1},
                                          {to.any, "any", 1}}};
  for (auto target = targets.begin(); target != targets.end(); ++target) {
    if (target->memory == nullptr) continue;
    call::check_results(reduce_name, target->name, *target->memory, data.device(), rows, target->bytes, {&data});
    for (auto before = targets.begin(); before != target; ++before) {
      if (before->memory == nullptr || !call::overlap(*before->memory, *target->memory)) continue;
      call::refuse_overlap(reduce_name, fmt::format("{} and {}", before->name, target->name));
    }
  }
}

// On `cpu`, into its memory.
void put_here(const std::vector<Reduced>& rows, Dtype dtype, std::uint64_t row_length, bool skip,
              const ReduceTargets& to) {
  const auto put = [](const BufferBase* target, std::uint64_t row, const auto& value, std::size_t bytes) {
    if (target != nullptr) std::memcpy(call::host_address(*target) + row * bytes, &value, bytes);
  };
  for (std::uint64_t row = 0; row < rows.size(); ++row) {
    const Reduced& found = rows[row];
    for (int which = 0; which < 2; ++which) {
      const Extreme& extreme = found.extremes[which];
      put(which == 0 ? to.min : to.max, row, extreme.bits, size_of(dtype));
      put(which == 0 ? to.min_indices : to.max_indices, row, extreme.place(dtype, skip), sizeof(std::uint64_t));
    }
    put(to.nonzero, row, found.nonzero, sizeof(std::uint64_t));
    put(to.all, row, static_cast<std::uint8_t>(found.nonzero == row_length), 1);
    put(to.any, row, static_cast<std::uint8_t>(found.nonzero != 0), 1);
  }
}

}  // namespace

std::string_view to_string(ReduceOp op) noexcept {
  return op_names[static_cast<std::size_t>(op)];
}

void detail::check_one_row(const ReduceOptions& options) {
  if (options.rows != 1) {
    call::refuse(reduce_name, fmt::format("this function has one result, so rows must be 1, got {}", options.rows));
  }
}

std::uint64_t reduce_workspace(const Device& device, Dtype dtype, std::uint64_t count, ReduceOp op,
                               const ReduceOptions& options) {
  if (count == 0) return 0;
  const std::uint64_t row = check_shape(count, op, options);
  return call::on_cpu(device) ? 0 : plan_for(device, dtype, row, op, options).workspace();
}

ReduceResult reduce(const Device& device, const ArrayView& data, ReduceOp op, const ReduceOptions& options) {
  const FloatingPointScope usual;
  call::start_times(options.times);
  check_shape(data.count, op, options);
  if (data.count == 0) return empty_result(data.dtype, op, options.rows);
  if (call::on_cpu(device)) return here(data, op, options);
  if (options.rows == 1) {
    ReduceAccumulator accumulator(device, data.dtype, op, options);
    accumulator.add(data);
    ReduceResult result = accumulator.result();
    call::add_times(options.times, accumulator.times());
    return result;
  }
  const double start = call::now();
  const Buffer<std::byte> there = call::upload(device, data);
  const double brought = call::now() - start;
  ReduceResult result = reduce(there, data.dtype, op, options);
  call::add_times(options.times, {brought, 0});
  return result;
}

ReduceResult reduce(const BufferBase& data, Dtype dtype, ReduceOp op, const ReduceOptions& options) {
  const FloatingPointScope usual;
  call::start_times(options.times);
  const std::uint64_t count = call::count_of(reduce_name, data, dtype);
  const std::uint64_t row = check_shape(count, op, options);
  if (count == 0) return empty_result(dtype, op, options.rows);
  const Device& device = data.device();
  if (call::on_cpu(device)) return here(call::host_view(data, dtype), op, options);
  Stream stream = call::timed_stream(device, options.times != nullptr);
  DeviceReduce job(data, plan_for(device, dtype, row, op, options), options.workspace);
  job.start(stream, data, data.byte_offset());
  ReduceResult result = ReduceParts::make(dtype, op, skips(options), job.fetch(stream));
  if (options.times != nullptr) options.times->compute += job.seconds();
  return result;
}

Pending<ReduceResult> reduce(Stream& stream, const BufferBase& data, Dtype dtype, ReduceOp op,
                             const ReduceOptions& options) {
  const FloatingPointScope usual;
  const std::uint64_t count = call::count_of(reduce_name, data, dtype);
  const std::uint64_t row = check_shape(count, op, options);
  const Device& device = stream.device();
  call::check_stream(reduce_name, stream, data);
  ReduceOptions untimed = options;
  untimed.times = nullptr;
  if (count == 0 || call::on_cpu(device)) {
    stream.finish();  // what was given to it before may still change the data
    auto result = std::make_shared<ReduceResult>(count == 0 ? empty_result(dtype, op, options.rows)
                                                            : here(call::host_view(data, dtype), op, untimed));
    return {call::end_of(stream), [result] { return std::move(*result); }};
  }
  const reduce_plan::Plan plan = plan_for(device, dtype, row, op, options);
  call::check_capture(reduce_name, stream, options.workspace, plan.workspace());
  auto job = std::make_shared<DeviceReduce>(data, plan, options.workspace);
  job->start(stream, data, data.byte_offset());
  const bool skip = skips(options);
  return {call::end_of(stream),
          [job, &stream, dtype, op, skip] { return ReduceParts::make(dtype, op, skip, job->fetch(stream)); }};
}

ReduceOp ReduceTargets::op() const {
  const bool least = min != nullptr || min_indices != nullptr;
  const bool greatest = max != nullptr || max_indices != nullptr;
  const bool counted = nonzero != nullptr || all != nullptr || any != nullptr;
  if (counted == (least || greatest)) {
    call::refuse(reduce_name,
                 fmt::format("the targets must be extremes, or what is counted, got {}", counted ? "both" : "neither"));
  }
  if (counted) return ReduceOp::count_nonzero;
  return !greatest ? ReduceOp::min : !least ? ReduceOp::max : ReduceOp::minmax;
}

Pending<void> reduce(Stream& stream, const BufferBase& data, Dtype dtype, const ReduceTargets& to,
                     const ReduceOptions& options) {
  const FloatingPointScope usual;
  const ReduceOp op = to.op();
  call::check_stream(reduce_name, stream, data);
  const std::uint64_t count = call::count_of(reduce_name, data, dtype);
  const std::uint64_t row = check_shape(count, op, options);
  const Device& device = stream.device();
  check_targets(to, data, dtype, options.rows);
  if (count == 0) {
    if (to.nonzero != nullptr) call::clear(stream, *to.nonzero, 0, to.nonzero->size_bytes());
    if (to.any != nullptr) call::fill(stream, *to.any, std::uint8_t{0});
    if (to.all != nullptr) call::fill(stream, *to.all, std::uint8_t{1});
    return {call::end_of(stream), [] {}};
  }
  if (call::on_cpu(device)) {
    stream.finish();  // what was given to it before may still change the data
    put_here(reduce_cpu(call::host_view(data, dtype), options.rows, op, skips(options)), dtype, row, skips(options),
             to);
    return {Event(), [] {}};
  }
  const reduce_plan::Plan plan = plan_for(device, dtype, row, op, options);
  call::check_capture(reduce_name, stream, options.workspace, plan.workspace());
  auto job = std::make_shared<DeviceReduce>(data, plan, options.workspace, to);
  job->start(stream, data, data.byte_offset());
  return {call::end_of(stream), [job] {}};
}

}  // namespace masu
