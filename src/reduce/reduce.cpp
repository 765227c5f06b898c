// SPDX-License-Identifier: Apache-2.0
// The public functions: check, then on the CPU or on a device.
#include "reduce/reduce_checks.h"
#include "reduce/reduce_cpu.h"
#include "reduce/reduce_device.h"
#include "reduce/reduce_plan.h"
#include "reduce/reduce_result.h"
#include "runtime/backend.h"

#include <masu/histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace masu {

namespace {

constexpr std::array<std::string_view, 4> op_names = {"min", "max", "minmax", "count-nonzero"};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void start_times(const ReduceOptions& options) {
  if (options.times != nullptr) *options.times = {};
}

void add_times(const ReduceOptions& options, double transfer, double compute) {
  if (options.times == nullptr) return;
  options.times->transfer += transfer;
  options.times->compute += compute;
}

bool skips(const ReduceOptions& options) {
  return options.nan == NanRule::skip;
}

// Elements of a row.
std::uint64_t check_shape(std::uint64_t count, ReduceOp op, const ReduceOptions& options) {
  if (count > reduce_most_elements) refuse_reduce(fmt::format("at most 2^48 elements, got {}", count));
  if (options.rows == 0 || options.rows > reduce_most_elements || count % options.rows != 0) {
    refuse_reduce(fmt::format("rows must be at least 1 and divide the {} elements, got {}", count, options.rows));
  }
  if (count == 0 && op != ReduceOp::count_nonzero) {
    refuse_reduce(fmt::format("{} needs at least one element, got none", to_string(op)));
  }
  return count / options.rows;
}

ReduceResult empty_result(Dtype dtype, ReduceOp op, std::uint64_t rows) {
  return ReduceParts::make(dtype, op, skips({}), std::vector<Reduced>(rows));
}

ReduceResult here(const ArrayView& data, ReduceOp op, const ReduceOptions& options) {
  const double start = now();
  ReduceResult result =
      ReduceParts::make(data.dtype, op, skips(options), reduce_cpu(data, options.rows, op, skips(options)));
  add_times(options, 0, now() - start);
  return result;
}

ArrayView host_view(const BufferBase& data, Dtype dtype) {
  return {dtype, static_cast<const std::byte*>(data.native()) + data.byte_offset(), data.size_bytes() / size_of(dtype)};
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
    refuse_reduce(fmt::format("this function has one result, so rows must be 1, got {}", options.rows));
  }
}

std::uint64_t reduce_workspace(const Device& device, Dtype dtype, std::uint64_t count, ReduceOp op,
                               const ReduceOptions& options) {
  if (count == 0) return 0;
  const std::uint64_t row = check_shape(count, op, options);
  return device.kind() == DeviceKind::cpu ? 0 : plan_for(device, dtype, row, op, options).workspace();
}

ReduceResult reduce(const Device& device, const ArrayView& data, ReduceOp op, const ReduceOptions& options) {
  start_times(options);
  check_shape(data.count, op, options);
  if (data.count == 0) return empty_result(data.dtype, op, options.rows);
  if (device.kind() == DeviceKind::cpu) return here(data, op, options);
  if (options.rows == 1) {
    ReduceAccumulator accumulator(device, data.dtype, op, options);
    accumulator.add(data);
    ReduceResult result = accumulator.result();
    const ReduceTimes times = accumulator.times();
    add_times(options, times.transfer, times.compute);
    return result;
  }
  const double start = now();
  const std::span bytes(static_cast<const std::byte*>(data.data), data.count * size_of(data.dtype));
  const Buffer<std::byte> there = device.upload(bytes);
  const double brought = now() - start;
  ReduceResult result = reduce(there, data.dtype, op, options);
  add_times(options, brought, 0);
  return result;
}

ReduceResult reduce(const BufferBase& data, Dtype dtype, ReduceOp op, const ReduceOptions& options) {
  start_times(options);
  const std::uint64_t count = reduce_elements_of(data, dtype);
  const std::uint64_t row = check_shape(count, op, options);
  if (count == 0) return empty_result(dtype, op, options.rows);
  const Device& device = data.device();
  if (device.kind() == DeviceKind::cpu) return here(host_view(data, dtype), op, options);
  Stream stream(device, options.times != nullptr ? Timing::on : Timing::off);
  DeviceReduce job(device, plan_for(device, dtype, row, op, options), options.workspace);
  job.start(stream, data, data.byte_offset());
  ReduceResult result = ReduceParts::make(dtype, op, skips(options), job.fetch(stream));
  if (options.times != nullptr) add_times(options, 0, job.seconds());
  return result;
}

Pending<ReduceResult> reduce(Stream& stream, const BufferBase& data, Dtype dtype, ReduceOp op,
                             const ReduceOptions& options) {
  const std::uint64_t count = reduce_elements_of(data, dtype);
  const std::uint64_t row = check_shape(count, op, options);
  const Device& device = stream.device();
  if (!(device == data.device())) {
    refuse_reduce(
        fmt::format("stream and buffer must be of one device, got {} and {}", device.id(), data.device().id()));
  }
  ReduceOptions untimed = options;
  untimed.times = nullptr;
  if (count == 0 || device.kind() == DeviceKind::cpu) {
    stream.finish();  // what was given to it before may still change the data
    auto result = std::make_shared<ReduceResult>(count == 0 ? empty_result(dtype, op, options.rows)
                                                            : here(host_view(data, dtype), op, untimed));
    return {stream.record(), [result] { return std::move(*result); }};
  }
  auto job = std::make_shared<DeviceReduce>(device, plan_for(device, dtype, row, op, options), options.workspace);
  job->start(stream, data, data.byte_offset());
  const bool skip = skips(options);
  return {stream.record(),
          [job, &stream, dtype, op, skip] { return ReduceParts::make(dtype, op, skip, job->fetch(stream)); }};
}

}  // namespace masu
