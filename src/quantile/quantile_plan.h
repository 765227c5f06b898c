// SPDX-License-Identifier: Apache-2.0
// What is launched for a partition on a device, and the constants of the room but those of selection_plan.h.
#pragma once

#include "elements/elements.h"
#include "quantile/selection_plan.h"

#include <masu/device.h>

#include <algorithm>
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

// The parts of the data that work-groups take one each, in whole tiles of the selection.
struct Chunks {
  std::uint64_t groups = 1;
  std::uint64_t vectors = 0;  // of each
};

// The stable partition around a key; `index_bytes`: 0, or of the indices that are written in place of elements.
struct Partition {
  selection_plan::Plan selection;
  unsigned index_bytes = 0;
  unsigned group = 256;
  unsigned unroll = 1;  // vectors of a work-item in a tile

  // Work-groups of a compute unit at a time.
  static constexpr unsigned groups_a_unit = 4;
  static constexpr std::array<std::string_view, 6> files = {"src/elements/elements.cl",   "src/elements/order.cl",
                                                            "src/elements/group_scan.cl", "src/elements/soft_float.cl",
                                                            "src/quantile/selection.cl",  "src/quantile/quantile.cl"};
  [[nodiscard]] std::vector<runtime::Define> defines() const {
    return element_defines(selection.dtype, {{"MASU_GROUP", group},
                                             {"MASU_UNROLL", unroll},
                                             {"MASU_UNROLLED", selection.gpu ? "MASU_PRAGMA_UNROLL" : ""},
                                             {"MASU_INDEX_BYTES", index_bytes},
                                             {"MASU_GROUPS_A_UNIT", groups_a_unit},
                                             {"MASU_FILTER_TILE", selection.tile_vectors()}});
  }
  [[nodiscard]] Chunks chunks(std::uint64_t count) const noexcept {
    const std::uint64_t tiles = selection.tiles(count);
    const std::uint64_t groups = std::clamp<std::uint64_t>(
        tiles, 1, std::uint64_t{selection.compute_units} * (selection.gpu ? groups_a_unit : 1));
    const std::uint64_t each = (tiles + groups - 1) / groups;
    return {.groups = (tiles + each - 1) / each, .vectors = each * selection.tile_vectors()};
  }
  // Local memory for two tiles of what is written, or for the sums of all chunks.
  [[nodiscard]] std::uint64_t staged_bytes() const noexcept {
    using selection_plan::vector_bytes;
    constexpr std::uint64_t ends = 6;  // vectors: of each part two are not full
    const std::uint64_t element = size_of(selection.dtype);
    const std::uint64_t elements = std::uint64_t{group} * unroll * (vector_bytes / element);
    const std::uint64_t tile = index_bytes == 0 ? elements * element + ends * vector_bytes
                                                : (elements + ends * (vector_bytes / index_bytes)) * 2;
    const std::uint64_t sums = std::uint64_t{group} * 4 * sizeof(std::uint64_t);
    return std::max(2 * tile, sums);
  }
};
inline Partition partition(const DeviceInfo& device, Dtype dtype, unsigned index_bytes) {
  Partition plan{.selection = selection_plan::make(device, dtype), .index_bytes = index_bytes};
  constexpr unsigned most_group = 256;
  plan.group = std::min(plan.selection.group, most_group);
  // A work-item's elements are at most 32, and a tile divides the selection's.
  if (plan.selection.gpu) plan.unroll = std::min(plan.selection.unroll, size_of(dtype) == 1 ? 2U : 4U);
  while (plan.group > 16 && plan.staged_bytes() > device.local_bytes) plan.group /= 2;
  return plan;
}

}  // namespace masu::quantile_plan
