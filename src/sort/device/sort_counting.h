// SPDX-License-Identifier: Apache-2.0
// Keys of 8 and 16 bits on a device: counted, and written anew. Equal integers have equal bits, so the result is the
// same as if they had been moved; of floats, zeros of both signs and NaNs are moved (sort_special).
#pragma once

#include "runtime/kernel_source.h"
#include "sort/device/sort_device.h"
#include "sort/device/sort_special.h"

#include <cstdint>
#include <vector>

namespace masu::sort_counting {

// Whether counting takes less than passes for keys alone, in one piece: all counts are scanned, however many keys there
// are. The places of floats that move have 32 bits.
[[nodiscard]] inline bool serves(Dtype dtype, std::uint64_t keys) noexcept {
  if (size_of(dtype) > 2 || (is_float(dtype) && keys >> 32 != 0)) return false;
  return keys >= (size_of(dtype) == 1 ? sort_plan::tuned.counted_bytes : sort_plan::tuned.counted_shorts);
}

// Bytes of temporary memory.
std::uint64_t workspace_bytes(const DeviceInfo& device, Dtype dtype, std::uint64_t keys);

// Sorts keys alone. A workspace of workspace_bytes(), from a multiple of 16 on; null: allocated.
void sort(Stream& stream, const Arrays& arrays, std::uint64_t count, const BufferBase* workspace, DeviceWork& work);

// What its kernels are built from.
inline constexpr auto files = sort_special::files("src/sort/device/sort_marks.cl", "src/sort/device/sort_fill.cl");
std::vector<runtime::Define> defines(const DeviceInfo& device, Dtype dtype);

}  // namespace masu::sort_counting
