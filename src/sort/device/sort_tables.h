// SPDX-License-Identifier: Apache-2.0
// Where the tiles, the chunks and the pieces of a sort of several pieces lie: what the kernels of sort.cl and
// sort_local.cl read where MASU_PIECES is 1.
#pragma once

#include "sort/sort_job.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace masu {

class SortTables {
 public:
  // Pieces of up to `local` keys are for one work-group each; longer ones are cut into tiles of `tile` keys. Pieces of
  // 2 to `others` keys are left out.
  SortTables(const Pieces& pieces, std::uint64_t tile, std::uint64_t local, std::uint64_t others);

  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_; }
  [[nodiscard]] std::vector<std::uint64_t> take_words() noexcept { return std::move(words_); }
  [[nodiscard]] std::uint64_t local_pieces() const noexcept { return local_; }
  [[nodiscard]] std::uint64_t tiles() const noexcept { return tiles_; }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::uint64_t long_pieces() const noexcept { return long_; }
  // Where each table begins, in bytes: local pieces, tiles, chunks, long pieces.
  [[nodiscard]] std::uint64_t local_at() const noexcept { return 0; }
  [[nodiscard]] std::uint64_t tiles_at() const noexcept { return 8 * 2 * local_; }
  [[nodiscard]] std::uint64_t chunks_at() const noexcept { return tiles_at() + 8 * 3 * tiles_; }
  [[nodiscard]] std::uint64_t pieces_at() const noexcept { return chunks_at() + 8 * chunks_; }

  static std::uint64_t most_bytes(std::uint64_t pieces, std::uint64_t tiles, std::uint64_t chunks) noexcept {
    return 8 * (2 * pieces + 3 * tiles + chunks + 2 * pieces);
  }

 private:
  std::vector<std::uint64_t> words_;
  std::uint64_t local_ = 0;
  std::uint64_t tiles_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t long_ = 0;
};

}  // namespace masu
