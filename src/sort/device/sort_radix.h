// SPDX-License-Identifier: Apache-2.0
// Radix sort on a device: digit by digit in memory.
#pragma once

#include "sort/device/sort_device.h"

#include <cstdint>
#include <vector>

namespace masu {

// Where the tiles, the chunks and the pieces of a sort of segments lie: what the kernels of sort.cl read where
// MASU_PIECES is 1, in memory of the device.
struct SortTables {
  // Pieces are cut into tiles of `tile` keys. Those of up to `left_out` keys are left out. Waits until all is there.
  SortTables(const Device& device, const Pieces& all, std::uint64_t tile, std::uint64_t left_out);

  std::uint64_t others;  // the longest piece that is left out
  std::uint64_t tiles = 0;
  std::uint64_t chunks = 0;
  std::vector<Run> pieces{};
  Buffer<std::uint64_t> memory;
  // Where each table begins, in bytes: tiles, chunks, pieces.
  [[nodiscard]] static std::uint64_t tiles_at() noexcept { return 0; }
  [[nodiscard]] std::uint64_t chunks_at() const noexcept { return 8 * 3 * tiles; }
  [[nodiscard]] std::uint64_t pieces_at() const noexcept { return chunks_at() + 8 * chunks; }
};

}  // namespace masu

namespace masu::sort_radix {

// Bytes of temporary memory, where pieces of up to `others` keys are left to others; enough for records at any place
// where their array is not there yet.
std::uint64_t workspace_bytes(const DeviceInfo& info, const Arrays& arrays, const SortJob& job, std::uint64_t others);

// The tables of a sort of segments: of those that sort() takes. Segments of up to `others` keys are left to someone
// else.
SortTables tables_of(const Device& device, const Arrays& arrays, const SortJob& job, std::uint64_t others);

// As sort_on_device, whose parameters these are. A workspace of workspace_bytes(), from a multiple of 16 on; null:
// allocated. `tables`: of segments, else null; what is outside of segments is copied or counted here.
void sort(Stream& stream, const Arrays& arrays, const SortJob& job, const BufferBase* workspace, bool may_wait,
          const SortTables* tables, DeviceWork& work);

}  // namespace masu::sort_radix
