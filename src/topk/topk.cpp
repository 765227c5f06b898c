// SPDX-License-Identifier: Apache-2.0
// The public functions: validate, plan, select, hand over.
#include "call/launcher.h"
#include "call/operands.h"
#include "topk/topk_cpu.h"
#include "topk/topk_plan.h"

#include <masu/topk.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace masu {

namespace {

constexpr std::uint64_t most_rows = std::uint64_t{1} << 32;

[[noreturn]] void refuse(const std::string& rule) {
  call::refuse(topk_name, rule);
}

// Elements of a row.
std::uint64_t check_shape(std::uint64_t count, std::uint64_t k, const TopkOptions& options) {
  if (options.rows == 0 || options.rows > most_rows || count % options.rows != 0) {
    refuse(fmt::format("rows must be 1 to 2^32 and divide the {} elements, got {}", count, options.rows));
  }
  call::check_nan(topk_name, options.nan, NanPolicy::last);
  const std::uint64_t row = count / options.rows;
  if (k < 1 || k > row) {
    refuse(fmt::format("k must be 1 to {}, the elements{}, got {}", row, options.rows == 1 ? "" : " of a row", k));
  }
  return row;
}

void check_target(const BufferBase& target, std::string_view what, std::uint64_t bytes, const BufferBase& data) {
  call::check_one_device(topk_name, data, target);
  call::check_writable(topk_name, target, what);
  if (target.size_bytes() != bytes) {
    refuse(fmt::format("{} must have {} bytes, got {}", what, bytes, target.size_bytes()));
  }
  if (call::overlap(target, data)) call::refuse_overlap(topk_name, fmt::format("{} and the data", what));
}

// A call on the rows of one buffer must fit the kernels' 32-bit numbers.
bool fits_one_launch(std::uint64_t row, const TopkOptions& options) {
  return row <= topk_plan::most_elements && options.rows < std::uint64_t{1} << 32;
}

TopkResult topk_here(const ArrayView& data, std::uint64_t k, const TopkOptions& options) {
  const call::Timer timer(options.times, &Times::compute);
  TopkResult result = TopkParts::make(data.dtype, options.rows, k);
  cpu::topk_rows(data, options.rows, k, ranking_of(data.dtype, options), TopkParts::target(result));
  return result;
}

// Rows beyond what one launch takes: each is cut into pieces.
TopkResult topk_in_pieces(const BufferBase& data, Dtype dtype, std::uint64_t row, std::uint64_t k,
                          const TopkOptions& options) {
  TopkResult result = TopkParts::make(dtype, options.rows, k);
  const cpu::RowsTarget target = TopkParts::target(result);
  TopkOptions one = options;
  one.rows = 1;
  for (std::uint64_t r = 0; r < options.rows; ++r) {
    TopkAccumulator accumulator(data.device(), dtype, k, one);
    const std::uint64_t bytes = row * size_of(dtype);
    accumulator.add_buffer(Buffer<const std::byte>(data.device(), data.memory(), data.byte_offset() + r * bytes, bytes),
                           dtype);
    const TopkResult found = accumulator.result();
    std::copy(found.indices().begin(), found.indices().end(), target.indices + r * k);
    std::copy_n(static_cast<const std::byte*>(found.view().data), found.size() * size_of(dtype),
                static_cast<std::byte*>(target.values) + r * k * size_of(dtype));
    target.found[r] = found.size();
    target.skipped[r] = found.skipped();
    call::add_times(options.times, accumulator.times());
  }
  return result;
}

}  // namespace

TopkResult topk(const Device& device, const ArrayView& data, std::uint64_t k, const TopkOptions& options) {
  const FloatingPointScope usual;
  check_shape(data.count, k, options);
  call::start_times(options.times);
  if (call::on_cpu(device)) return topk_here(data, k, options);
  if (options.rows == 1) {
    TopkAccumulator accumulator(device, data.dtype, k, options);
    accumulator.add(data);
    call::add_times(options.times, accumulator.times());
    return accumulator.result();
  }
  const double start = call::now();
  const Buffer<std::byte> buffer = call::upload(device, data);
  const double brought = call::now() - start;
  TopkResult result = topk(buffer, data.dtype, k, options);
  call::add_times(options.times, {brought, 0});
  return result;
}

TopkResult topk(const BufferBase& data, Dtype dtype, std::uint64_t k, const TopkOptions& options) {
  const FloatingPointScope usual;
  const std::uint64_t row = check_shape(call::count_of(topk_name, data, dtype), k, options);
  call::start_times(options.times);
  if (call::on_cpu(data.device())) return topk_here(call::host_view(data, dtype), k, options);
  if (!fits_one_launch(row, options)) return topk_in_pieces(data, dtype, row, k, options);
  Stream stream = call::timed_stream(data.device(), options.times != nullptr);
  DeviceTopk job(data, dtype, options, options.rows, row, k, false);
  job.start(stream, data.byte_offset());
  return TopkParts::finish(stream, job, dtype, options.rows, k, false, options.times);
}

Pending<TopkResult> topk(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t k,
                         const TopkOptions& options) {
  const FloatingPointScope usual;
  const std::uint64_t row = check_shape(call::count_of(topk_name, data, dtype), k, options);
  call::check_stream(topk_name, stream, data);
  TopkOptions quiet = options;
  quiet.times = nullptr;
  if (call::on_cpu(stream.device())) {
    stream.finish();  // what was given to it before may still change the data
    auto result = std::make_shared<TopkResult>(topk_here(call::host_view(data, dtype), k, quiet));
    return {call::end_of(stream), [result] { return std::move(*result); }};
  }
  if (!fits_one_launch(row, options)) {
    return {call::end_of(stream), [&data, dtype, row, k, quiet] { return topk_in_pieces(data, dtype, row, k, quiet); }};
  }
  call::check_capture(topk_name, stream, options.workspace,
                      DeviceTopk::bytes(data.device(), dtype, quiet, options.rows, row, k, true, true));
  auto job = std::make_shared<DeviceTopk>(data, dtype, quiet, options.rows, row, k, true);
  job->enqueue(stream, data.byte_offset());
  const std::uint64_t rows = options.rows;
  return {call::end_of(stream),
          [job, &stream, dtype, rows, k] { return TopkParts::finish(stream, *job, dtype, rows, k, true); }};
}

namespace {

// Elements of a row.
std::uint64_t check_targets(const BufferBase& data, Dtype dtype, std::uint64_t k, const BufferBase& values,
                            const BufferBase& indices, const TopkOptions& options) {
  const std::uint64_t row = check_shape(call::count_of(topk_name, data, dtype), k, options);
  check_target(values, "values", options.rows * k * size_of(dtype), data);
  check_target(indices, "indices", options.rows * k * sizeof(std::uint64_t), data);
  call::check_apart(topk_name, "values and indices", values, indices);
  return row;
}

}  // namespace

void topk(const BufferBase& data, Dtype dtype, std::uint64_t k, BufferBase& values, BufferBase& indices,
          const TopkOptions& options) {
  const FloatingPointScope usual;
  const std::uint64_t row = check_targets(data, dtype, k, values, indices, options);
  const std::uint64_t places = options.rows * k;
  const bool here = call::on_cpu(data.device());
  Stream stream = call::timed_stream(data.device(), options.times != nullptr && !here);
  if (!here && fits_one_launch(row, options)) {
    call::start_times(options.times);
    DeviceTopk job(data, dtype, options, options.rows, row, k, false, &indices, &values);
    job.start(stream, data.byte_offset());
    job.finish(stream);
    if (options.times != nullptr) options.times->compute += job.seconds();
    return;
  }
  const TopkResult result = topk(data, dtype, k, options);
  std::vector<std::uint64_t> all_indices(places, no_index);
  std::vector<std::byte> all_values(places * size_of(dtype), std::byte{0xff});
  for (std::uint64_t r = 0; r < options.rows; ++r) {
    std::copy(result.indices(r).begin(), result.indices(r).end(),
              all_indices.begin() + static_cast<std::ptrdiff_t>(r * k));
    std::copy_n(static_cast<const std::byte*>(result.view(r).data), result.size(r) * size_of(dtype),
                all_values.data() + r * k * size_of(dtype));
  }
  stream.write_bytes(values, 0, all_values.data(), all_values.size());
  stream.write_bytes(indices, 0, all_indices.data(), places * sizeof(std::uint64_t));
  stream.finish();
}

Pending<void> topk(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t k, BufferBase& values,
                   BufferBase& indices, const TopkOptions& options) {
  const FloatingPointScope usual;
  call::check_stream(topk_name, stream, data);
  const std::uint64_t row = check_targets(data, dtype, k, values, indices, options);
  TopkOptions quiet = options;
  quiet.times = nullptr;
  if (!call::on_cpu(data.device()) && fits_one_launch(row, quiet)) {
    call::check_capture(topk_name, stream, options.workspace,
                        DeviceTopk::bytes(data.device(), dtype, quiet, quiet.rows, row, k, true, false));
    auto job = std::make_shared<DeviceTopk>(data, dtype, quiet, quiet.rows, row, k, true, &indices, &values);
    job->enqueue(stream, data.byte_offset());
    return {call::end_of(stream), [job] {}};
  }
  stream.finish();  // what was given to it before may still change the data
  topk(data, dtype, k, values, indices, quiet);
  return {Event(), [] {}};
}

std::uint64_t topk_workspace(const Device& device, Dtype dtype, std::uint64_t count, std::uint64_t k,
                             const TopkOptions& options) {
  const std::uint64_t row = check_shape(count, k, options);
  if (call::on_cpu(device)) return 0;
  const std::uint64_t length = std::min(row, topk_plan::most_elements);
  const std::uint64_t rows = fits_one_launch(row, options) ? options.rows : 1;
  return DeviceTopk::bytes(device, dtype, options, rows, length, std::min(k, length), true, true);
}

}  // namespace masu
