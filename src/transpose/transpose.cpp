// SPDX-License-Identifier: Apache-2.0
// The public functions: check, then on the CPU or on a device.
#include "runtime/backend.h"
#include "runtime/operands.h"
#include "runtime/whole.h"
#include "transpose/transpose_cpu.h"
#include "transpose/transpose_device.h"
#include "transpose/transpose_plan.h"

#include <masu/transpose.h>

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace masu {

namespace {

using transpose_plan::Matrix;

constexpr std::string_view name = "transpose";

[[noreturn]] void refuse(const std::string& rule) {
  throw Error(ErrorCode::invalid_argument, "transpose: " + rule);
}

void check_shape(std::uint64_t rows, std::uint64_t columns, std::uint64_t in, std::uint64_t out) {
  if (rows != 0 && columns > runtime::most_elements / rows) {
    refuse(fmt::format("at most 2^48 elements, got {} x {}", rows, columns));
  }
  if (in != rows * columns || out != rows * columns) {
    refuse(
        fmt::format("{} x {} matrices have {} elements, got {} in and {} out", rows, columns, rows * columns, in, out));
  }
}

// What shares memory must be one square matrix.
void check_place(bool overlap, bool same, std::uint64_t rows, std::uint64_t columns) {
  if (!overlap) return;
  if (!same) runtime::refuse_overlap(name, "the input, unless they are the same,");
  if (rows != columns)
    refuse(fmt::format("a matrix must be square to be transposed in place, got {} x {}", rows, columns));
}

Matrix checked(const BufferBase& in, std::size_t element_bytes, std::uint64_t rows, std::uint64_t columns,
               const BufferBase& out) {
  runtime::check_element_bytes(name, element_bytes);
  check_shape(rows, columns, runtime::count_of(name, in, element_bytes), runtime::count_of(name, out, element_bytes));
  runtime::check_one_device(name, in, out);
  runtime::check_writable(name, out);
  Matrix matrix{rows, columns, element_bytes, in.byte_offset(), out.byte_offset(), runtime::same_place(in, out)};
  check_place(runtime::overlap(in, out), matrix.in_place, rows, columns);
  return matrix;
}

// Whether the rows stay what they are.
bool is_copy(const Matrix& matrix) {
  return matrix.rows <= 1 || matrix.columns <= 1;
}

void here(const void* in, void* out, const Matrix& matrix, TransposeTimes* times) {
  const double start = runtime::seconds_now();
  transpose_cpu(in, out, matrix.element_bytes, matrix.rows, matrix.columns);
  if (times != nullptr) times->compute += runtime::seconds_now() - start;
}

Event queue(Stream& stream, const BufferBase& in, const Matrix& matrix, const BufferBase& out) {
  if (is_copy(matrix)) {
    if (matrix.in_place) return {};
    return Event(stream.implementation().copy(*out.memory(), out.byte_offset(), *in.memory(), in.byte_offset(),
                                              in.size_bytes()));
  }
  return transpose_on_device(stream, in, matrix, out, transpose_plan::make(stream.device().info(), matrix));
}

}  // namespace

Device device_for_transpose() {
  return runtime::device_for_host_data();
}

void transpose(const Device& device, const ConstRecordsView& in, std::uint64_t rows, std::uint64_t columns,
               const RecordsView& out, const TransposeOptions& options) {
  if (options.times != nullptr) *options.times = {};
  runtime::check_element_bytes(name, in.record_bytes);
  if (in.record_bytes != out.record_bytes) {
    refuse(fmt::format("elements must have one size, got {} and {} bytes", in.record_bytes, out.record_bytes));
  }
  check_shape(rows, columns, in.count, out.count);
  const std::uint64_t bytes = in.count * in.record_bytes;
  const bool in_place = in.data == out.data;
  check_place(runtime::overlap(in.data, bytes, out.data, bytes), in_place, rows, columns);
  if (bytes == 0) return;
  if (device.kind() == DeviceKind::cpu) {
    return here(in.data, out.data, {rows, columns, in.record_bytes, 0, 0, in_place}, options.times);
  }
  const double start = runtime::seconds_now();
  Buffer<std::byte> there = runtime::upload_bytes(device, in.data, bytes);
  Buffer<std::byte> turned = in_place ? there.slice(0, bytes) : Buffer<std::byte>(device, bytes);
  const double brought = runtime::seconds_now() - start;
  transpose(there, in.record_bytes, rows, columns, turned, options);
  const double done = runtime::seconds_now();
  runtime::download_bytes(turned, out.data);
  if (options.times != nullptr) options.times->transfer += brought + runtime::seconds_now() - done;
}

void transpose(const BufferBase& in, std::size_t element_bytes, std::uint64_t rows, std::uint64_t columns,
               BufferBase& out, const TransposeOptions& options) {
  if (options.times != nullptr) *options.times = {};
  const Matrix matrix = checked(in, element_bytes, rows, columns, out);
  if (in.size_bytes() == 0) return;
  if (in.device().kind() == DeviceKind::cpu) {
    return here(runtime::host_address(in), runtime::host_address(out), matrix, options.times);
  }
  Stream stream(in.device(), options.times != nullptr ? Timing::on : Timing::off);
  const Event event = queue(stream, in, matrix, out);
  stream.finish();
  if (options.times != nullptr && event.implementation() != nullptr) options.times->compute += event.seconds();
}

Pending<void> transpose(Stream& stream, const BufferBase& in, std::size_t element_bytes, std::uint64_t rows,
                        std::uint64_t columns, BufferBase& out, const TransposeOptions& /*options*/) {
  const Matrix matrix = checked(in, element_bytes, rows, columns, out);
  runtime::check_stream(name, stream, in);
  if (in.size_bytes() == 0) return {Event(), [] {}};
  if (in.device().kind() == DeviceKind::cpu) {
    stream.finish();
    here(runtime::host_address(in), runtime::host_address(out), matrix, nullptr);
    return {Event(), [] {}};
  }
  return {queue(stream, in, matrix, out), [] {}};
}

}  // namespace masu
