// SPDX-License-Identifier: Apache-2.0
// How data is scanned, and every constant of the kernels and of the CPU's threads.
#pragma once

#include "runtime/program_cache.h"

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/scan.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::scan_plan {

inline constexpr std::array<std::string_view, 2> files = {"src/reduce/reduce_elements.cl", "src/scan/scan.cl"};
// Of temporary memory, in bytes.
inline constexpr std::uint64_t alignment = 16;
// What one CPU thread takes at a time: it stays in the second-level cache between its total and its scan.
inline constexpr std::uint64_t cpu_piece_bytes = std::uint64_t{1} << 18;
inline constexpr unsigned cpu_pieces_a_thread = 2;

struct Plan {
  Dtype dtype = Dtype::u8;
  ScanOp op = ScanOp::sum;
  bool exclusive = false;
  bool segmented = false;
  unsigned group = 256;  // work-items in a work-group
  unsigned vectors = 4;  // 16-byte vectors of a work-item in a tile
  std::uint64_t count = 0;
  std::uint64_t chunk = 1;   // tiles that a work-group takes
  std::uint64_t groups = 1;  // work-groups

  [[nodiscard]] std::uint64_t tile_elements() const noexcept;
  // The chunks' totals, as pairs of words, and one more: what comes behind all.
  [[nodiscard]] std::uint64_t workspace() const noexcept;
  // Local memory of the kernels: a tile, and the work-items' totals.
  [[nodiscard]] std::uint64_t tile_bytes() const noexcept;
  [[nodiscard]] std::uint64_t totals_bytes() const noexcept;
  [[nodiscard]] std::vector<runtime::Define> defines() const;
};

// `group`, `most_groups`: not those that suit the device, for tests.
Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t count, ScanOp op, bool exclusive, bool segmented,
          unsigned group = 0, std::uint64_t most_groups = 0);

}  // namespace masu::scan_plan
