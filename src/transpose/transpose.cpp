// SPDX-License-Identifier: Apache-2.0
// How a matrix is cut into tiles, and the public functions: check, then on the CPU or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "elements/elements.h"
#include "transpose/transpose_plan.h"

#include <masu/transpose.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace masu::transpose_plan {

namespace {

constexpr std::size_t word_bytes = 4;  // elements smaller than this share a word

// Rows and columns of a square tile: runs of at least 128 bytes, in at most 17 KiB of local memory, twice that in
// place. Devices that are no GPUs hide no latency with many loads, and compile them slowly.
unsigned tile_of(const DeviceInfo& device, std::size_t element_bytes, unsigned pack) {
  if (!device.gpu) return bank_words * pack;
  if (pack == 4) return 128;
  return element_bytes <= word_bytes ? 64 : 32;
}

std::uint64_t tile_words(std::uint64_t tile, unsigned pack) {
  return tile * (tile / pack + 1) + tile / bank_words;
}

std::uint64_t stride_of(const Plan& plan) {
  return plan.tile_columns * plan.units | 1;
}

void make_tiles(Plan& plan, const DeviceInfo& device, const Matrix& matrix) {
  plan.strategy = Strategy::tiles;
  const std::size_t bytes = matrix.element_bytes;
  plan.unit = static_cast<unsigned>(std::max(bytes, word_bytes));
  if (bytes < word_bytes) {
    plan.pack = static_cast<unsigned>(word_bytes / bytes);
    plan.aligned = matrix.rows % plan.pack == 0 && matrix.columns % plan.pack == 0 &&
                   matrix.in_offset % word_bytes == 0 && matrix.out_offset % word_bytes == 0;
    // A word that holds elements of two tiles must not be read while the other tile is written.
    if (matrix.in_place && !plan.aligned) {
      plan.pack = 1;
      plan.unit = static_cast<unsigned>(bytes);
      plan.aligned = true;
    }
  }
  std::uint64_t tile = std::min(tile_of(device, bytes, plan.pack), plan.group * plan.pack);
  const std::uint64_t copies = matrix.in_place ? 2 : 1;
  while (tile > plan.pack && copies * tile_words(tile, plan.pack) * plan.unit > device.local_bytes) tile /= 2;
  plan.tile_rows = plan.tile_columns = tile;
}

void make_free(Plan& plan, const DeviceInfo& device, const Matrix& matrix) {
  plan.strategy = Strategy::free;
  plan.unit = call::move_unit(matrix.element_bytes, matrix.in_offset | matrix.out_offset);
  plan.units = static_cast<unsigned>(matrix.element_bytes / plan.unit);
  const std::uint64_t copies = matrix.in_place ? 2 : 1;
  const std::uint64_t elements =
      std::max<std::uint64_t>(1, std::min(free_tile_bytes, device.local_bytes / 2 / copies) / matrix.element_bytes);
  const std::uint64_t edge = std::uint64_t{1} << (static_cast<unsigned>(std::bit_width(elements)) - 1) / 2;
  // What a short side leaves is given to the long one, in whole vectors.
  plan.tile_rows = std::min(matrix.rows, edge);
  plan.tile_columns = std::min(matrix.columns, std::max(edge, elements / plan.tile_rows / bank_words * bank_words));
  plan.tile_rows = std::min(matrix.rows, std::max(edge, elements / plan.tile_columns / bank_words * bank_words));
  if (matrix.in_place) plan.tile_rows = plan.tile_columns = std::min(matrix.rows, edge);
}

}  // namespace

const char* Plan::kernel() const noexcept {
  return strategy == Strategy::tiles ? "transpose_tiles" : "transpose_free";
}

std::uint64_t Plan::local_bytes() const noexcept {
  const std::uint64_t words = strategy == Strategy::tiles ? tile_words(tile_rows, pack) : tile_rows * stride_of(*this);
  const std::uint64_t beside = strategy == Strategy::free ? group : 0;
  return (words * (in_place ? 2 : 1) + beside) * unit;
}

std::vector<runtime::Define> Plan::defines() const {
  std::vector<runtime::Define> result = {{"MASU_GROUP", group},
                                         {"MASU_FREE", strategy == Strategy::free},
                                         {"MASU_WORD", unsigned_type(unit)},
                                         {"MASU_IN_PLACE", in_place},
                                         {"MASU_BAND", band}};
  if (strategy == Strategy::free) {
    result.push_back({"MASU_UNITS", units});
    result.push_back({"MASU_UNROLL", unroll});
  } else {
    result.push_back({"MASU_PACK", pack});
    result.push_back({"MASU_TILE", tile_rows});
    result.push_back({"MASU_RESIDENT_ITEMS", std::max(resident_items, group)});
    result.push_back({"MASU_ALIGNED", aligned});
    result.push_back({"MASU_BANK_WORDS", bank_words});
  }
  return result;
}

Plan make(const DeviceInfo& device, const Matrix& matrix, unsigned group) {
  Plan plan;
  plan.group = group != 0 ? group : std::min(plan.group, std::bit_floor(std::max(1U, device.max_work_group_size)));
  plan.in_place = matrix.in_place;
  const bool whole = matrix.element_bytes <= 16 && std::has_single_bit(matrix.element_bytes) &&
                     (matrix.in_offset | matrix.out_offset) % matrix.element_bytes == 0;
  if (whole && std::min(matrix.rows, matrix.columns) >= least_edge) make_tiles(plan, device, matrix);
  else make_free(plan, device, matrix);
  // More than 8 words for a work-item cost registers, and so work-groups that run at once.
  if (plan.strategy == Strategy::tiles && device.gpu && group == 0 && device.max_work_group_size >= 512 &&
      plan.tile_rows * plan.tile_rows / plan.pack > 8 * plan.group) {
    plan.group = 512;
  }
  const std::uint64_t across = (matrix.columns + plan.tile_columns - 1) / plan.tile_columns;
  const std::uint64_t down = (matrix.rows + plan.tile_rows - 1) / plan.tile_rows;
  plan.groups = std::min(across * down, most_groups);
  return plan;
}

}  // namespace masu::transpose_plan

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
