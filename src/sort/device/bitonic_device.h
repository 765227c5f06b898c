// SPDX-License-Identifier: Apache-2.0
// The bitonic network on a device: stages within tiles by sort_rows, then for each further stage its far passes, up to
// three a launch, and one launch for the rest.
#pragma once

#include "sort/device/sort_kernels.h"
#include "sort/device/sort_rows.h"

#include <cstdint>

namespace masu::bitonic {

// Bytes of temporary memory for `pieces` of `piece_length` keys: an index for each key, where keys alone could be seen
// to change places or records move, and a copy of the records; nothing for pieces that fit a work-group.
std::uint64_t workspace_bytes(const DeviceInfo& device, const sort_kernels::Arrays& arrays, std::uint64_t pieces,
                              std::uint64_t piece_length);

// Sorts `pieces` of equal length, one after the other, stably. As Arrays: keys go from source to target; with indices
// and no target, the keys stay (workspace has room for a copy); records move within their array. A workspace of
// workspace_bytes(), from a multiple of 16 on; null: allocated.
void sort(Stream& stream, const sort_kernels::Arrays& arrays, std::uint64_t pieces, std::uint64_t piece_length,
          const BufferBase* workspace, DeviceWork& work);

// The kernels' constants, for tests: of bitonic_far for 1 to 3 passes, of bitonic_near for 0.
std::vector<runtime::Define> defines(const DeviceInfo& device, Dtype dtype, Order order, unsigned index_bytes,
                                     unsigned fused);
std::span<const std::string_view> files() noexcept;

}  // namespace masu::bitonic
