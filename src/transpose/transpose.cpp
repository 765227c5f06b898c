// SPDX-License-Identifier: Apache-2.0
// The public functions: check, then on the CPU or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "transpose/transpose_plan.h"

#include <masu/transpose.h>

#include <fmt/format.h>

#include <string_view>

namespace masu {

namespace {

// What a kernel multiplies with to divide numbers below 2^16.
std::uint32_t inverse(std::uint64_t divisor) {
  return static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + divisor - 1) / divisor);
}

}  // namespace

Event transpose_on_device(Stream& stream, const BufferBase& in, const transpose_plan::Matrix& matrix,
                          const BufferBase& out, const transpose_plan::Plan& plan) {
  call::Arguments arguments;
  if (plan.strategy == transpose_plan::Strategy::tiles) {
    for (const BufferBase* buffer : {&in, &out}) {
      const std::uint64_t skip = call::place_of(*buffer) % plan.unit;
      arguments.add(call::At{*buffer, buffer->byte_offset() - skip});
      arguments.add(static_cast<std::uint32_t>(skip / matrix.element_bytes));
    }
    arguments.add(call::Arguments(matrix.rows, matrix.columns));
  } else {
    const std::uint64_t row_units = plan.tile_rows * plan.units;
    const std::uint64_t column_units = plan.tile_columns * plan.units;
    arguments.add(call::Arguments(in, out, matrix.rows, matrix.columns, static_cast<std::uint32_t>(plan.tile_rows),
                                  static_cast<std::uint32_t>(plan.tile_columns), inverse(row_units),
                                  inverse(column_units), static_cast<std::uint32_t>(column_units | 1)));
  }
  call::Kernels kernels(stream.device(), transpose_plan::files, plan.defines(), plan.group);
  return kernels.launch(stream, plan.kernel(), plan.groups, arguments, call::local<std::byte>(plan.local_bytes()));
}

namespace {

using transpose_plan::Matrix;

constexpr std::string_view name = "transpose";

void check_shape(std::uint64_t rows, std::uint64_t columns, std::uint64_t in, std::uint64_t out) {
  if (rows != 0 && columns > call::most_elements / rows) {
    call::refuse(name, fmt::format("at most 2^48 elements, got {} x {}", rows, columns));
  }
  if (in != rows * columns || out != rows * columns) {
    call::refuse(name, fmt::format("{} x {} matrices have {} elements, got {} in and {} out", rows, columns,
                                   rows * columns, in, out));
  }
}

// What shares memory must be one square matrix.
void check_place(bool overlap, bool same, std::uint64_t rows, std::uint64_t columns) {
  if (!overlap) return;
  if (!same) call::refuse_overlap(name, "the output and the input, unless they are the same,");
  if (rows != columns)
    call::refuse(name, fmt::format("a matrix must be square to be transposed in place, got {} x {}", rows, columns));
}

Matrix checked(const BufferBase& in, std::size_t element_bytes, std::uint64_t rows, std::uint64_t columns,
               const BufferBase& out) {
  call::check_element_bytes(name, element_bytes);
  check_shape(rows, columns, call::count_of(name, in, element_bytes), call::count_of(name, out, element_bytes));
  call::check_one_device(name, in, out);
  call::check_writable(name, out);
  Matrix matrix{rows, columns, element_bytes, call::place_of(in), call::place_of(out), call::same_place(in, out)};
  check_place(call::overlap(in, out), matrix.in_place, rows, columns);
  return matrix;
}

// Whether the rows stay what they are.
bool is_copy(const Matrix& matrix) {
  return matrix.rows <= 1 || matrix.columns <= 1;
}

void here(const void* in, void* out, const Matrix& matrix, Times* times) {
  const call::Timer timer(times, &Times::compute);
  transpose_cpu(in, out, matrix.element_bytes, matrix.rows, matrix.columns);
}

Event queue(Stream& stream, const BufferBase& in, const Matrix& matrix, const BufferBase& out) {
  if (is_copy(matrix)) {
    return matrix.in_place ? Event() : call::copy(stream, in, out);
  }
  return transpose_on_device(stream, in, matrix, out, transpose_plan::make(stream.device().info(), matrix));
}

}  // namespace

void transpose(const Device& device, const ConstRecordsView& in, std::uint64_t rows, std::uint64_t columns,
               const RecordsView& out, const TransposeOptions& options) {
  call::start_times(options.times);
  call::check_element_bytes(name, in.record_bytes);
  if (in.record_bytes != out.record_bytes) {
    call::refuse(name,
                 fmt::format("elements must have one size, got {} and {} bytes", in.record_bytes, out.record_bytes));
  }
  check_shape(rows, columns, in.count, out.count);
  const std::uint64_t bytes = in.count * in.record_bytes;
  const bool in_place = in.data == out.data;
  check_place(call::overlap(in.data, bytes, out.data, bytes), in_place, rows, columns);
  if (bytes == 0) return;
  if (call::on_cpu(device)) {
    return here(in.data, out.data, {rows, columns, in.record_bytes, 0, 0, in_place}, options.times);
  }
  const double start = call::now();
  Buffer<std::byte> there = call::upload_bytes(device, in.data, bytes);
  Buffer<std::byte> turned = in_place ? there.slice(0, bytes) : Buffer<std::byte>(device, bytes);
  const double brought = call::now() - start;
  transpose(there, in.record_bytes, rows, columns, turned, options);
  const double done = call::now();
  call::download_bytes(turned, out.data);
  if (options.times != nullptr) options.times->transfer += brought + call::now() - done;
}

void transpose(const BufferBase& in, std::size_t element_bytes, std::uint64_t rows, std::uint64_t columns,
               BufferBase& out, const TransposeOptions& options) {
  call::start_times(options.times);
  const Matrix matrix = checked(in, element_bytes, rows, columns, out);
  if (in.size_bytes() == 0) return;
  if (call::on_cpu(in.device())) {
    return here(call::host_address(in), call::host_address(out), matrix, options.times);
  }
  Stream stream = call::timed_stream(in.device(), options.times != nullptr);
  const Event event = queue(stream, in, matrix, out);
  stream.finish();
  if (options.times != nullptr && event.implementation() != nullptr) options.times->compute += event.seconds();
}

Pending<void> transpose(Stream& stream, const BufferBase& in, std::size_t element_bytes, std::uint64_t rows,
                        std::uint64_t columns, BufferBase& out, const TransposeOptions& /*options*/) {
  const Matrix matrix = checked(in, element_bytes, rows, columns, out);
  call::check_stream(name, stream, in);
  if (in.size_bytes() == 0) return {Event(), [] {}};
  if (call::on_cpu(in.device())) {
    stream.finish();
    here(call::host_address(in), call::host_address(out), matrix, nullptr);
    return {Event(), [] {}};
  }
  queue(stream, in, matrix, out);
  return {call::end_of(stream), [] {}};
}

}  // namespace masu
