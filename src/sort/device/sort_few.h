// SPDX-License-Identifier: Apache-2.0
// Some thousands to some millions of keys of 4 and 8 bytes alone: brought to buckets of the range that a sample spans,
// neighbours of which each work-group sorts in local memory. What is too crowded for that is sorted by sort_once.
#pragma once

#include "runtime/kernel_source.h"
#include "sort/device/sort_device.h"
#include "sort/device/sort_plan.h"

#include <cstdint>
#include <vector>

namespace masu::sort_few {

struct Plan {
  unsigned items = 0;  // keys that a work-item holds; 0: the device or the keys are none for it
  unsigned loads = 0;  // the most keys of a work-item that are brought to their buckets
  unsigned tile = 0;   // keys that a work-group brings to their buckets
  unsigned part = 0;   // keys of neighbouring buckets from which on they are enough for a work-group
  unsigned most = 0;   // keys of a bucket

  [[nodiscard]] std::uint64_t tiles(std::uint64_t count) const noexcept { return (count + tile - 1) / tile; }
  [[nodiscard]] std::uint64_t parts(std::uint64_t count) const noexcept { return (count + part - 1) / part; }
};
inline constexpr unsigned group = 512;
inline constexpr auto files =
    sort_plan::files("src/sort/device/sort_placed.cl", "src/elements/group_scan.cl", "src/sort/device/sort_counters.cl",
                     "src/sort/device/sort_bins.cl", "src/sort/device/sort_few.cl");
Plan plan_of(const DeviceInfo& info, Dtype dtype, std::uint64_t count);
std::vector<runtime::Define> defines(const DeviceInfo& info, const Plan& plan, Dtype dtype);

// Where it is faster than the other ways, in one piece.
bool serves(const DeviceInfo& info, Dtype dtype, std::uint64_t count);
std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, std::uint64_t count);

// Sorts keys alone. A workspace of workspace_bytes(), from a multiple of 16 on; null: allocated. On a device that has
// no sort_once, crowded keys are left as they are: for tests.
void sort(Stream& stream, const Arrays& arrays, std::uint64_t count, const BufferBase* workspace, DeviceWork& work);

}  // namespace masu::sort_few
