// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/memory_cache.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace masu::cuda {
namespace {

constexpr std::uint64_t least = 512;        // bytes, what the driver aligns to
constexpr std::size_t most_blocks = 256;    // so that a search is short
constexpr std::uint64_t parts_of_size = 8;  // sizes between a power of two and the next

}  // namespace

std::uint64_t MemoryCache::rounded(std::uint64_t bytes) const noexcept {
  if (bytes > limit_) return bytes;
  const std::uint64_t step = std::max(std::bit_floor(bytes) / parts_of_size, least);
  return (bytes + step - 1) / step * step;
}

CUdeviceptr MemoryCache::take(std::uint64_t bytes) noexcept {
  const auto found =
      std::find_if(blocks_.rbegin(), blocks_.rend(), [bytes](const Block& b) { return b.bytes == bytes; });
  if (found == blocks_.rend()) return 0;
  const CUdeviceptr address = found->address;
  blocks_.erase(std::next(found).base());
  bytes_ -= bytes;
  return address;
}

std::vector<CUdeviceptr> MemoryCache::give(CUdeviceptr address, std::uint64_t bytes) {
  if (bytes > limit_) return {address};
  blocks_.push_back({address, bytes});
  bytes_ += bytes;
  std::vector<CUdeviceptr> rest;
  while (bytes_ > limit_ || blocks_.size() > most_blocks) {
    rest.push_back(blocks_.front().address);
    bytes_ -= blocks_.front().bytes;
    blocks_.pop_front();
  }
  return rest;
}

std::vector<CUdeviceptr> MemoryCache::drop() {
  std::vector<CUdeviceptr> all;
  for (const Block& block : blocks_) all.push_back(block.address);
  blocks_.clear();
  bytes_ = 0;
  return all;
}

}  // namespace masu::cuda
