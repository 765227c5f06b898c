// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "chunks.h"

#include <masu/dtype.h>
#include <masu/io.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
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

// Rows of equal length in data that comes in pieces of any length.

// Parts pieces at the ends of rows.
class RowParts {
 public:
  // Takes a part of a row; `ends`: nothing of the row comes after it.
  using Sink = std::function<void(const ArrayView& part, bool ends)>;
  explicit RowParts(std::uint64_t row_length) : row_length_(row_length) {}
  void add(const ArrayView& piece, const Sink& sink);

 private:
  std::uint64_t row_length_;
  std::uint64_t within_ = 0;  // elements of the row that came
};

// Gathers pieces into whole rows. A row that does not come in one piece is copied.
class WholeRows {
 public:
  using Sink = std::function<void(const ArrayView& rows, std::uint64_t count)>;
  explicit WholeRows(std::uint64_t row_length) : row_length_(row_length) {}
  void add(const ArrayView& piece, const Sink& sink);

 private:
  std::uint64_t row_length_;
  std::vector<std::byte> row_;  // what came of a row that is not whole
};

// The elements from `first` on.
ArrayView part_of(const ArrayView& data, std::uint64_t first, std::uint64_t count);

}  // namespace masu::cli
