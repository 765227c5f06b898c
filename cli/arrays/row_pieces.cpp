// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/row_pieces.h"

#include <algorithm>

namespace masu::cli {

ArrayView part_of(const ArrayView& data, std::uint64_t first, std::uint64_t count) {
  return {data.dtype, static_cast<const std::byte*>(data.data) + first * size_of(data.dtype), count};
}

void RowParts::add(const ArrayView& piece, const Sink& sink) {
  for (std::uint64_t at = 0; at < piece.count;) {
    const std::uint64_t count = std::min(piece.count - at, row_length_ - within_);
    within_ = (within_ + count) % row_length_;
    sink(part_of(piece, at, count), within_ == 0);
    at += count;
  }
}

void WholeRows::add(const ArrayView& piece, const Sink& sink) {
  const std::size_t size = size_of(piece.dtype);
  const auto keep = [&](const ArrayView& part) {
    const auto* bytes = static_cast<const std::byte*>(part.data);
    row_.insert(row_.end(), bytes, bytes + part.count * size);
  };
  std::uint64_t at = 0;
  if (!row_.empty()) {
    at = std::min(piece.count, row_length_ - row_.size() / size);
    keep(part_of(piece, 0, at));
    if (row_.size() / size < row_length_) return;
    sink({piece.dtype, row_.data(), row_length_}, 1);
    row_.clear();
  }
  const std::uint64_t rows = (piece.count - at) / row_length_;
  if (rows > 0) sink(part_of(piece, at, rows * row_length_), rows);
  at += rows * row_length_;
  keep(part_of(piece, at, piece.count - at));
}

}  // namespace masu::cli
