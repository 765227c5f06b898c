// SPDX-License-Identifier: Apache-2.0
// Integers of 8 and 16 bits on a device: counted, and written anew. Equal ones have equal bits, so that nobody sees
// that they did not move.
#pragma once

#include "sort/device/sort_device.h"
#include "sort/device/sort_plan.h"

#include <cstdint>
#include <vector>

namespace masu::sort_counting {

// Whether it is the way for keys alone, in one piece.
bool serves(Dtype dtype, const Payload& payload, const SortJob& job);

// Bytes of temporary memory.
std::uint64_t scratch_bytes(const DeviceInfo& device, Dtype dtype, std::uint64_t keys);

// Sorts `keys` into `result`, which may be the same. Scratch of scratch_bytes(), from a multiple of 16 on; null:
// allocated.
void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase& result, const SortJob& job,
          const BufferBase* scratch, DeviceWork& work);

// What its kernels are built from, for work-groups of `group`.
inline constexpr auto files = sort_plan::files("src/sort/device/sort_fill.cl");
std::vector<runtime::Define> defines(Dtype dtype, std::uint64_t group);

}  // namespace masu::sort_counting
