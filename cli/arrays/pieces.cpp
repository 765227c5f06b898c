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

}  // namespace masu::cli
