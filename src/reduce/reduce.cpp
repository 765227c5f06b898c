// SPDX-License-Identifier: Apache-2.0
// The public functions: check, then on the CPU or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/timer.h"
#include "reduce/reduce_cpu.h"
#include "reduce/reduce_device.h"
#include "reduce/reduce_plan.h"
#include "reduce/reduce_result.h"

#include <masu/histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

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

}  // namespace

std::string_view to_string(ReduceOp op) noexcept {
  return op_names[static_cast<std::size_t>(op)];
}

Device device_for_reduce(std::uint64_t bytes) {
  // As for counting: to read and to move the data is what takes the time.
  return device_for_histogram(bytes);
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
    return {stream.record(), [result] { return std::move(*result); }};
  }
  auto job = std::make_shared<DeviceReduce>(data, plan_for(device, dtype, row, op, options), options.workspace);
  job->start(stream, data, data.byte_offset());
  const bool skip = skips(options);
  return {stream.record(),
          [job, &stream, dtype, op, skip] { return ReduceParts::make(dtype, op, skip, job->fetch(stream)); }};
}

}  // namespace masu
