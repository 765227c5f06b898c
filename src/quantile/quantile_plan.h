// SPDX-License-Identifier: Apache-2.0
// What is launched for selection and partition on a device, and the constants of the room.
#pragma once

#include "elements/elements.h"

#include <masu/device.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::quantile_plan {

// On the CPU: bits of a digit, and of all tables of a pass together (512 KiB).
inline constexpr unsigned most_digit_bits = 16;
inline constexpr unsigned least_digit_bits = 4;
inline constexpr unsigned table_bits = 16;
// So few elements that still matter are collected and sorted.
inline constexpr std::uint64_t most_collected = std::uint64_t{1} << 19;
// Host data goes to a device in pieces of this.
inline constexpr std::uint64_t piece_bytes = std::uint64_t{64} << 20;
inline constexpr unsigned group = 256;

inline unsigned work_group(const DeviceInfo& device) {
  return device.gpu ? group : 64;
}
// Elements that a work-item of a partition takes, one behind the other.
inline unsigned item_elements(const DeviceInfo& device) {
  return device.gpu ? 16 : 8;
}
inline std::uint64_t tile_elements(const DeviceInfo& device) {
  return std::uint64_t{work_group(device)} * item_elements(device);
}
// Room for a tile in local memory, in elements: MASU_STAGED.
inline std::uint64_t staged_elements(const DeviceInfo& device) {
  return tile_elements(device) + tile_elements(device) / 32;
}
inline constexpr std::array<std::string_view, 4> files = {"src/elements/elements.cl", "src/elements/order.cl",
                                                          "src/elements/group_scan.cl", "src/quantile/quantile.cl"};
inline std::vector<runtime::Define> defines(const DeviceInfo& device, Dtype dtype) {
  return element_defines(dtype, {{"MASU_GROUP", work_group(device)}, {"MASU_ITEM_ELEMENTS", item_elements(device)}});
}

}  // namespace masu::quantile_plan
