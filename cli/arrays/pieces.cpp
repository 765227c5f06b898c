// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/pieces.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <limits>

namespace masu::cli {

Pieces::Pieces(std::span<const std::unique_ptr<io::Source>> sources, unsigned channels, std::uint64_t bytes,
               Progress& progress)
    : sources_(sources), ahead_(sources.size()), views_(sources.size()) {
  const std::uint64_t each = std::max<std::uint64_t>(1, bytes / sources.size());
  for (const auto& source : sources) {
    readers_.push_back(std::make_unique<ChunkReader>(*source, channels, each, progress));
  }
}

std::span<const ArrayView> Pieces::next() {
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (ahead_[i].count == 0) ahead_[i] = readers_[i]->next();
    count = std::min(count, ahead_[i].count);
  }
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (count == 0 && ahead_[i].count != 0) {
      const auto ended =
          std::find_if(ahead_.begin(), ahead_.end(), [](const ArrayView& view) { return view.count == 0; });
      throw Error(ErrorCode::io, fmt::format("the columns must be equally long: {} ends before {}",
                                             sources_[static_cast<std::size_t>(ended - ahead_.begin())]->info().name,
                                             sources_[i]->info().name));
    }
    ArrayView& rest = ahead_[i];
    views_[i] = {rest.dtype, rest.data, count};
    if (count > 0) rest.data = static_cast<const std::byte*>(rest.data) + count * size_of(rest.dtype);
    rest.count -= count;
  }
  return views_;
}

void Pieces::rewind() {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    ahead_[i].count = 0;
    readers_[i]->rewind();
  }
}

double Pieces::seconds() const {
  double sum = 0;
  for (const auto& reader : readers_) sum += reader->seconds();
  return sum;
}

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
