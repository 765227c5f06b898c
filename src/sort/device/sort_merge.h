// SPDX-License-Identifier: Apache-2.0
// Merge sort on a device: runs by sort_rows, then stable merges, two runs into one, from one memory to another and
// back.
#pragma once

#include "sort/device/sort_device.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace masu::sort_merge {

// Bytes of temporary memory for `pieces` of `piece_length` keys: a copy of the keys, and one of what moves with them.
// Records of other sizes than 1, 2, 4 and 8 bytes, or at odd places, go by indices, which take more where records are
// short; indices alone take two copies of the keys, since the keys themselves stay.
std::uint64_t workspace_bytes(const DeviceInfo& device, const sort_kernels::Arrays& arrays, std::uint64_t pieces,
                              std::uint64_t piece_length);

// Sorts `pieces` of equal length, one after the other, stably. As Arrays: keys go from source to target; with indices
// and no target, the keys stay; records move within their array. A workspace of workspace_bytes(), from a multiple of
// 16 on; null: allocated.
void sort(Stream& stream, const sort_kernels::Arrays& arrays, std::uint64_t pieces, std::uint64_t piece_length,
          const BufferBase* workspace, DeviceWork& work);

// Merges sorted runs of arrays.source, of which none is empty and each lies after the one before, into arrays.target,
// and records with them, stably. With more than two runs the sources are written to as well. Needs no memory.
void merge(Stream& stream, const sort_kernels::Arrays& arrays, std::vector<Run> runs, DeviceWork& work);

// What moves with a key: units of 0, 1, 2, 4 or 8 bytes.
struct Moved {
  unsigned unit_bytes = 0;
  unsigned units = 0;
};
// The kernel's constants, for tests.
std::vector<runtime::Define> defines(const DeviceInfo& device, Dtype dtype, Order order, Moved moved);
std::span<const std::string_view> files() noexcept;

}  // namespace masu::sort_merge
