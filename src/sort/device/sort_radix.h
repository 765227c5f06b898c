// SPDX-License-Identifier: Apache-2.0
// Radix sort on a device: digit by digit in memory, or, for pieces that fit a work-group, in its local memory.
#pragma once

#include "sort/device/sort_device.h"
#include "sort/device/sort_tables.h"

#include <cstdint>

namespace masu::sort_radix {

// Bytes of temporary memory; enough for records at any place where payload.buffer is null.
std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, const Payload& payload, const SortJob& job);

// The tables of a sort of segments: of those that sort() takes. Segments of 2 to `others` keys are left to someone
// else.
SortTables tables_of(const Device& device, Dtype dtype, const Payload& payload, const SortJob& job,
                     std::uint64_t others);

// As sort_on_device, whose parameters these are. A workspace of workspace_bytes(), from a multiple of 16 on; null:
// allocated. `tables`: of segments, else null; what is outside of segments is copied or counted here.
void sort(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase* result, const Payload& payload,
          const SortJob& job, const BufferBase* workspace, bool may_wait, const SortTables* tables, DeviceWork& work);

}  // namespace masu::sort_radix
