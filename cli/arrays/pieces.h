// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "chunks.h"

#include <masu/io.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace masu::cli {

// One or several sources of one dtype and equal length, read side by side in pieces.
class Pieces {
 public:
  // Holds at most `bytes` of the data, but at least one pixel of `channels` values of each source.
  Pieces(std::span<const std::unique_ptr<io::Source>> sources, unsigned channels, std::uint64_t bytes,
         Progress& progress);
  // The next piece of each source, all equally long, valid until the next call; empty views at the end. Throws io when
  // the sources turn out to be of different length.
  std::span<const ArrayView> next();
  // Back to the first piece.
  void rewind();
  // Time spent in the sources.
  [[nodiscard]] double seconds() const;

 private:
  std::span<const std::unique_ptr<io::Source>> sources_;
  std::vector<std::unique_ptr<ChunkReader>> readers_;
  std::vector<ArrayView> ahead_;  // what is left of each reader's piece
  std::vector<ArrayView> views_;
};

}  // namespace masu::cli
