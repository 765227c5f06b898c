// SPDX-License-Identifier: Apache-2.0
// What to launch to find runs on a device, and every constant of the kernels: they stand here once and reach the
// kernels as defines.
#pragma once

#include "call/operands.h"
#include "runtime/kernel_source.h"

#include <masu/device.h>
#include <masu/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::unique_plan {

// Bytes of an element's place in an order: 32 bits while they suffice.
constexpr std::size_t index_bytes(std::uint64_t count) {
  return count <= std::uint64_t{1} << 32 ? 4 : 8;
}

struct Plan {
  unsigned group = 256;      // work-items in a work-group
  unsigned unroll = 8;       // 16-byte loads in flight
  unsigned words = 4;        // words of the mask that a work-item has of a tile
  std::uint64_t lead = 0;    // most elements between a multiple of 16 bytes and the data
  std::uint64_t tiles = 1;   // of all
  std::uint64_t a_span = 1;  // tiles of a work-group
  std::uint64_t spans = 1;   // work-groups

  [[nodiscard]] std::uint64_t tile_words() const noexcept { return std::uint64_t{group} * words; }
  [[nodiscard]] std::uint64_t tile_bits() const noexcept { return tile_words() * 32; }
  // Starts of a tile that are put into order in local memory; with more of them, each element finds its place itself.
  [[nodiscard]] std::uint64_t staged() const noexcept { return tile_bits() / 4; }
  // The mask, and two words for each span.
  [[nodiscard]] std::uint64_t mask_bytes() const noexcept { return tiles * tile_words() * sizeof(std::uint32_t); }
  [[nodiscard]] std::uint64_t span_bytes() const noexcept { return spans * 2 * sizeof(std::uint32_t); }
  [[nodiscard]] std::uint64_t workspace() const noexcept {
    return call::aligned(mask_bytes()) + call::aligned(span_bytes());
  }
  // `places`: bytes of an element's place in the order.
  [[nodiscard]] std::vector<runtime::Define> defines(Dtype dtype, std::size_t places) const;
};

inline constexpr std::array<std::string_view, 3> files = {"src/elements/elements.cl", "src/elements/group_scan.cl",
                                                          "src/unique/unique.cl"};

// For `count` elements. `group`, `most_spans`: not those that suit the device, for tests.
Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t count, unsigned group = 0, std::uint64_t most_spans = 0);

}  // namespace masu::unique_plan
