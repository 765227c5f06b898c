// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose_device.h"

#include "runtime/backend.h"
#include "runtime/whole.h"

#include <cstdint>
#include <span>
#include <vector>

namespace masu {

namespace {

// What a kernel multiplies with to divide numbers below 2^16.
std::uint32_t inverse(std::uint64_t divisor) {
  return static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + divisor - 1) / divisor);
}

}  // namespace

Event transpose_on_device(Stream& stream, const BufferBase& in, const transpose_plan::Matrix& matrix,
                          const BufferBase& out, const transpose_plan::Plan& plan) {
  const auto program =
      runtime::own_program(*stream.device().implementation(), std::span(&transpose_plan::file, 1), plan.defines());
  std::vector<KernelArgument> arguments;
  if (plan.strategy == transpose_plan::Strategy::tiles) {
    for (const BufferBase* buffer : {&in, &out}) {
      const std::uint64_t skip = buffer->byte_offset() % plan.unit;
      arguments.emplace_back(whole(*buffer));
      arguments.emplace_back(buffer->byte_offset() - skip);
      arguments.emplace_back(static_cast<std::uint32_t>(skip / matrix.element_bytes));
    }
    arguments.emplace_back(matrix.rows);
    arguments.emplace_back(matrix.columns);
  } else {
    const std::uint64_t row_units = plan.tile_rows * plan.units;
    const std::uint64_t column_units = plan.tile_columns * plan.units;
    for (const BufferBase* buffer : {&in, &out}) {
      arguments.emplace_back(whole(*buffer));
      arguments.emplace_back(buffer->byte_offset());
    }
    arguments.emplace_back(matrix.rows);
    arguments.emplace_back(matrix.columns);
    arguments.emplace_back(static_cast<std::uint32_t>(plan.tile_rows));
    arguments.emplace_back(static_cast<std::uint32_t>(plan.tile_columns));
    arguments.emplace_back(inverse(row_units));
    arguments.emplace_back(inverse(column_units));
    arguments.emplace_back(static_cast<std::uint32_t>(column_units | 1));
  }
  arguments.emplace_back(LocalMemory{static_cast<std::size_t>(plan.local_bytes())});
  const NDRange range(plan.groups * plan.group, plan.group);
  return Event(stream.implementation().launch(*program->kernel(plan.kernel()), range, arguments));
}

}  // namespace masu
