// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_tables.h"

#include "sort/device/sort_plan.h"

#include <algorithm>

namespace masu {

SortTables::SortTables(const Device& device, const Pieces& pieces, std::uint64_t tile, std::uint64_t local,
                       std::uint64_t others)
    : memory_(device, 0) {
  std::vector<std::uint64_t> words;  // of local pieces, then all
  std::vector<std::uint64_t> tiles;
  std::vector<std::uint64_t> chunks;
  std::vector<std::uint64_t> longs;
  for (std::uint64_t piece = 0; piece < pieces.size(); ++piece) {
    const std::uint64_t begin = pieces.begin(piece);
    const std::uint64_t length = pieces.length(piece);
    if (length == 0 || (length > 1 && length <= others)) continue;
    if (length <= local) {
      words.push_back(begin);
      words.push_back(length);
      continue;
    }
    const std::uint64_t first_chunk = chunks.size();
    for (std::uint64_t at = 0, number = 0; at < length; at += tile, ++number) {
      if (number % sort_plan::chunk_tiles == 0) chunks.push_back(tiles.size() / 3);
      chunks.back() += std::uint64_t{1} << 32;
      tiles.push_back(begin + at);
      tiles.push_back(at);
      tiles.push_back(std::min(tile, length - at) | (chunks.size() - 1) << 32);
    }
    long_.push_back({begin, begin + length});
    longs.push_back(begin);
    longs.push_back(first_chunk | (chunks.size() - first_chunk) << 32);
  }
  local_ = words.size() / 2;
  tiles_ = tiles.size() / 3;
  chunks_ = chunks.size();
  for (const auto* const part : {&tiles, &chunks, &longs}) words.insert(words.end(), part->begin(), part->end());
  if (!words.empty()) memory_ = device.upload(words);
}

}  // namespace masu
