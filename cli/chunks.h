// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "progress.h"

#include <masu/device.h>
#include <masu/io.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>

namespace masu::cli {

// How much of some sources is held at a time: what suits the device for each, but no more than was allowed for all.
std::uint64_t chunk_bytes(const Device& device, std::uint64_t sources, std::optional<std::uint64_t> allowed);

// Reads a source piece by piece, whole pixels at a time: in place where the source can give views, else one piece ahead
// of the caller when there are several.
class ChunkReader {
 public:
  // Holds at most `bytes` of the data, but at least one pixel of `channels` values.
  ChunkReader(io::Source& source, unsigned channels, std::uint64_t bytes, Progress& progress);
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  // The next piece, valid until the next call; empty at the end. Only then is it sure that the pieces were the data.
  ArrayView next();
  // Back to the first piece. What was read whole in one piece is not read again.
  void rewind();
  // Time spent in the source.
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  [[nodiscard]] std::uint64_t elements(std::uint64_t bytes) const;
  void allocate();
  ArrayView next_copy();
  void check_pixels(std::uint64_t count) const;
  std::uint64_t fill(unsigned buffer);
  io::Source& source_;
  Progress& progress_;
  unsigned channels_;
  std::uint64_t bytes_;
  bool in_place_ = true;        // until the source gives no view
  std::uint64_t capacity_ = 0;  // elements in one buffer
  std::unique_ptr<std::byte[]> buffers_[2];
  std::future<std::uint64_t> ahead_;
  unsigned current_ = 1;
  std::uint64_t pieces_ = 0;
  std::uint64_t first_count_ = 0;
  bool ended_ = false;
  bool replay_ = false;
  double seconds_ = 0;
};

}  // namespace masu::cli
