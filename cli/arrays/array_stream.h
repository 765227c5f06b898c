// SPDX-License-Identifier: Apache-2.0
// A pass, or several, over the one input of a command that takes its numbers piece by piece.
#pragma once

#include "chunks.h"
#include "cli/arrays/array_input.h"
#include "times.h"

#include <masu/device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace masu::cli {

class ArrayStream {
 public:
  // Runs on --device, or on what `choose` says of that many bytes.
  ArrayStream(const InputOptions& input, const CommonOptions& common, Device (*choose)(std::uint64_t bytes),
              std::string what);

  [[nodiscard]] const io::SourceInfo& info() const { return source_->info(); }
  [[nodiscard]] const Device& device() const { return device_; }
  // Where the data of streams must be kept to be read again, this is said before the first pass.
  void keep() { source_->keep_for_rewind(); }
  // All of it in memory, for --verify; the time does not count.
  [[nodiscard]] std::vector<std::byte> whole();
  // The number of elements, read through where it is not known.
  std::uint64_t count() { return measure(*source_); }
  // Elements of each of so many rows; a usage error where they do not come out even.
  std::uint64_t row_length(std::uint64_t rows);
  // Bytes of the largest piece that next passes give.
  void limit_pieces(std::uint64_t bytes) { piece_bytes_ = std::min(piece_bytes_, bytes); }

  // Gives every piece of the data, until `take` says false. A later pass starts from the beginning again.
  void pass(const std::function<bool(const ArrayView&)>& take);

  [[nodiscard]] std::uint64_t bad_lines() const { return source_->bad_lines(); }
  // What was read in all passes.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // What it took since the beginning.
  [[nodiscard]] Seconds seconds(double transfer, double compute) const;

 private:
  Clock::time_point began_ = Clock::now();
  std::string what_;
  std::unique_ptr<io::Source> source_;
  double opening_;  // seconds: a text is parsed then
  Device device_;
  Progress progress_;
  std::uint64_t piece_bytes_;
  std::optional<ChunkReader> reader_;
  std::uint64_t bytes_ = 0;
  double aside_ = 0;
};

}  // namespace masu::cli
