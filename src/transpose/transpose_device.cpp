// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose_device.h"

#include "call/launcher.h"
#include "call/operands.h"

#include <cstddef>
#include <cstdint>

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

}  // namespace masu
