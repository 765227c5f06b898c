// SPDX-License-Identifier: Apache-2.0
// Where the tiles, the chunks and the pieces of a sort of segments lie: what the kernels of sort.cl and sort_local.cl
// read where MASU_PIECES is 1, in memory of the device.
#pragma once

#include "sort/sort_job.h"

#include <masu/buffer.h>

#include <cstdint>
#include <span>
#include <vector>

namespace masu {

class SortTables {
 public:
  // Pieces of up to `local` keys are for one work-group each; longer ones are cut into tiles of `tile` keys. Pieces of
  // 2 to `others` keys are left out. Waits until all is there.
  SortTables(const Device& device, const Pieces& pieces, std::uint64_t tile, std::uint64_t local, std::uint64_t others);

  [[nodiscard]] const BufferBase& memory() const noexcept { return memory_; }
  [[nodiscard]] std::uint64_t local_pieces() const noexcept { return local_; }
  [[nodiscard]] std::uint64_t tiles() const noexcept { return tiles_; }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return chunks_; }
  // The keys of each piece that is cut into tiles.
  [[nodiscard]] std::span<const Run> long_pieces() const noexcept { return long_; }
  // Where each table begins, in bytes: local pieces, tiles, chunks, long pieces.
  [[nodiscard]] std::uint64_t local_at() const noexcept { return 0; }
  [[nodiscard]] std::uint64_t tiles_at() const noexcept { return 8 * 2 * local_; }
  [[nodiscard]] std::uint64_t chunks_at() const noexcept { return tiles_at() + 8 * 3 * tiles_; }
  [[nodiscard]] std::uint64_t pieces_at() const noexcept { return chunks_at() + 8 * chunks_; }

 private:
  std::uint64_t local_ = 0;
  std::uint64_t tiles_ = 0;
  std::uint64_t chunks_ = 0;
  std::vector<Run> long_;
  Buffer<std::uint64_t> memory_;
};

}  // namespace masu
