// SPDX-License-Identifier: Apache-2.0
// Clusters: neighbouring work-groups that are on the device at once, so that they may wait for each other. They do in
// one launch what else takes two, for so few elements that a launch costs more than the work.
#pragma once

#include <masu/device.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>

namespace masu {

// Work-groups of a cluster on this device; 1 where there are none: before compute capability 9.0.
inline unsigned cluster_groups(const DeviceInfo& device) noexcept {
  constexpr unsigned portable = 8;  // small parts of a device may have room for fewer
  constexpr int first = 90;
  if (device.kind != DeviceKind::cuda || device.compute_units < 2 * portable) return 1;
  const std::string_view name = device.architecture;
  int architecture = 0;
  std::from_chars(name.data() + std::min<std::size_t>(name.size(), 3), name.data() + name.size(), architecture);
  return architecture >= first ? portable : 1;
}

// Work-items of a work-group: a power of 2, as many as are wanted or as the device takes.
inline unsigned work_group(const DeviceInfo& device, unsigned wanted, unsigned least = 1) noexcept {
  return std::bit_floor(std::max(least, std::min(wanted, device.max_work_group_size)));
}

}  // namespace masu
