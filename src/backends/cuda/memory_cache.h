// SPDX-License-Identifier: Apache-2.0
// Released device memory, kept for the next allocation of its size: the driver takes from 60 us (small) to a
// millisecond (1 GiB) to allocate and to free. Least recently released goes first where there is too much. Not
// thread-safe.
#pragma once

#include "backends/cuda/driver_api.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace masu::cuda {

class MemoryCache {
 public:
  // Keeps `limit` bytes at most.
  explicit MemoryCache(std::uint64_t limit) noexcept : limit_(limit) {}

  // What is allocated for `bytes`: somewhat more, so that similar sizes share; at most an eighth. What could not be
  // kept is as large as asked.
  [[nodiscard]] std::uint64_t rounded(std::uint64_t bytes) const noexcept;
  // Memory of `bytes`, a rounded size; 0 where none is kept.
  [[nodiscard]] CUdeviceptr take(std::uint64_t bytes) noexcept;
  // Keeps memory that nothing uses; gives what is to be freed instead.
  [[nodiscard]] std::vector<CUdeviceptr> give(CUdeviceptr address, std::uint64_t bytes);
  // Gives everything, to be freed.
  [[nodiscard]] std::vector<CUdeviceptr> drop();
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Block {
    CUdeviceptr address;
    std::uint64_t bytes;
  };
  std::uint64_t limit_;
  std::uint64_t bytes_ = 0;
  std::deque<Block> blocks_;  // the last released is the last
};

}  // namespace masu::cuda
