// SPDX-License-Identifier: Apache-2.0
// The one input of a command that takes its numbers as an array, and a pass, or several, over it piece by piece.
#pragma once

#include "chunks.h"
#include "options.h"
#include "shared_input.h"
#include "terminal.h"

#include <masu/device.h>
#include <masu/io.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace masu::cli {

// The input of a command that takes one, which the ranks share: texts by lines where `lines` (shared_input.h).
// `in_place`: pieces of files may be had without a copy.
SharedSource open_array(const InputOptions& input, const CommonOptions& common, bool in_place, bool lines);
// The same for another file than the input's, read by its content or as `dtype`.
SharedSource open_array(const std::string& path, const std::string& dtype, const CommonOptions& common);

// Bytes of the elements, where their number is known.
std::optional<std::uint64_t> known_bytes(const io::Source& source);

// Fewer than `count` elements only at the end.
std::uint64_t read_elements(io::Source& source, void* target, std::uint64_t count);

// The number of elements, read through to the end and back again where it is not known.
std::uint64_t measure(io::Source& source);

// All of the elements; then the source stands at its beginning again.
std::vector<std::byte> read_and_rewind(io::Source& source);

// Whether the bar is drawn, as the options say it.
std::string progress_mode(const CommonOptions& common);

// Says on standard error that a file has more images than the one that is read.
void note_images(const io::SourceInfo& info);
// What all these commands say on standard error behind a result, but for --quiet.
void note_bad_lines(const std::string& name, std::uint64_t bad_lines);
void note_result(const CommonOptions& common, const std::string& name, std::uint64_t bad_lines, std::uint64_t count);
// `,"bad_lines":N` of JSON where there are any.
std::string json_bad_lines(std::uint64_t bad_lines);

// A pass, or several, over the one input of a command that takes its numbers piece by piece.
class ArrayStream {
 public:
  // Runs on --device, or on what device_for() says. `whole_rows`: row_length() will be called.
  ArrayStream(const InputOptions& input, const CommonOptions& common, Work work, std::string what,
              bool whole_rows = false);

  [[nodiscard]] const io::SourceInfo& info() const { return source_->info(); }
  [[nodiscard]] const Device& device() const { return device_; }
  // Where the data of streams must be kept to be read again, this is said before the first pass.
  void keep() { source_->keep_for_rewind(); }
  // All of it in memory, for --verify; the time does not count. Rank 0 alone has it.
  [[nodiscard]] std::vector<std::byte> whole();
  // The number of elements of all ranks where it is known; count() reads through where it is not.
  [[nodiscard]] std::optional<std::uint64_t> known_count() const { return known_count_; }
  std::uint64_t count();
  // Elements of each of so many rows; a usage error where they do not come out even. Each rank gets whole rows.
  std::uint64_t row_length(std::uint64_t rows);
  // Of these, the rows of this rank.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  // Bytes of the largest piece that next passes give.
  void limit_pieces(std::uint64_t bytes) { piece_bytes_ = std::min(piece_bytes_, bytes); }
  // The same of the smallest, before the first pass, whatever little memory is allowed.
  void least_pieces(std::uint64_t bytes) { piece_bytes_ = std::max(piece_bytes_, bytes); }

  // Gives every piece of this rank's data. A later pass starts from the beginning again.
  void each(const std::function<void(const ArrayView&)>& take);
  // The same, until `take` says false.
  void pass(const std::function<bool(const ArrayView&)>& take);
  // Ends the passes on all ranks: returns the sum of what they counted.
  std::uint64_t settle(std::uint64_t counted);

  // Of all ranks, when the passes have ended.
  [[nodiscard]] std::uint64_t bad_lines() const { return bad_lines_.value_or(source_->bad_lines()); }
  // What was read in all passes.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // What it took since the beginning.
  [[nodiscard]] Seconds seconds(const Times& times) const;

 private:
  Clock::time_point began_ = Clock::now();
  std::string what_;
  std::string input_;
  io::SourceOptions options_;
  SharedSource shared_;
  std::unique_ptr<io::Source>& source_ = shared_.source;
  double opening_;  // seconds: a text is parsed then
  std::optional<std::uint64_t> known_count_;
  Device device_;
  Progress progress_;
  std::uint64_t piece_bytes_;
  std::optional<ChunkReader> reader_;
  bool cut_ = false;
  std::uint64_t rows_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<std::uint64_t> bad_lines_;  // of all ranks
  double aside_ = 0;
};

}  // namespace masu::cli
