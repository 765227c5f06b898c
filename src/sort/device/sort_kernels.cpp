// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_kernels.h"

#include "call/operands.h"
#include "gather/gather_plan.h"

#include <algorithm>

namespace masu::sort_kernels {

bool aligned(const BufferBase* buffer, std::uint64_t bytes) {
  return buffer == nullptr || call::place_of(*buffer) % bytes == 0;
}

unsigned Arrays::record_unit() const noexcept {
  if (records == nullptr && odd_places) return 1;
  const std::uint64_t offsets = records == nullptr ? 0 : call::place_of(*records) | call::place_of(*moved_records);
  return std::min(8U, call::move_unit(record_bytes, offsets));
}

void gather(Stream& stream, const BufferBase& records, const BufferBase& moved, const BufferBase& indices,
            std::size_t index_bytes, std::size_t record_bytes, std::uint64_t count, std::uint64_t piece_length,
            DeviceWork& work) {
  const auto plan =
      gather_plan::make(stream.device().info(), record_bytes, call::place_of(records) | moved.byte_offset());
  const std::uint64_t units = count * plan.units;
  const std::uint64_t a_group = std::uint64_t{plan.group} * gather_plan::unroll;
  call::Kernels kernels(stream.device(), gather_plan::gather_files,
                        plan.move_defines(index_bytes == 4 ? Dtype::u32 : Dtype::u64), plan.group);
  const call::At no_notes{indices, 0};  // the indices are right
  work.done(kernels.launch(stream, "gather_records", std::min((units + a_group - 1) / a_group, most_groups), records,
                           moved, indices, units, piece_length, piece_length, piece_length, no_notes,
                           std::uint32_t{0}));
}

}  // namespace masu::sort_kernels
