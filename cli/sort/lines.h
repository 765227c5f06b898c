// SPDX-License-Identifier: Apache-2.0
// Whole lines of a text in the order of some of their fields.
#pragma once

#include "cli/sort/sort_job.h"
#include "io/rows.h"
#include "options.h"

#include <masu/device.h>
#include <masu/io.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

// What lines are sorted by: a column, or the whole line where it has no name.
struct LineKey {
  enum class Kind { any, number, text };
  std::string column;
  Kind kind = Kind::any;
  bool descending = false;
};

// COLUMN[:desc|asc][:number|text],… where `usual` says what is not said. Also as sort(1) has them: 3n, 3nr.
std::vector<LineKey> parse_line_keys(std::span<const std::string> asked, const LineKey& usual);

// Makes keys that memcmp() orders. Numbers come by their value, then what is no number (dates by their time and then
// others by their bytes, where any kind may come; else all alike), then what is empty; with `descending` each of them
// the other way round. Of kind `text`, all is ordered by its bytes.
class LineKeys {
 public:
  LineKeys(std::vector<LineKey> keys, bool ignore_case) : keys_(std::move(keys)), ignore_case_(ignore_case) {}
  [[nodiscard]] std::vector<std::string> columns() const;
  // The key of the row, valid until the next call. With `strict`, what should be a number and is none is an error.
  std::string_view of(io::Rows& rows, bool strict);
  // Whether the first key of that row was NaN.
  [[nodiscard]] bool nan() const noexcept { return nan_; }
  // What was no number among numbers, a sentence each.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  struct Seen {
    std::uint64_t numbers = 0;
    std::uint64_t others = 0;  // with the empty ones
    std::uint64_t line = 0;    // of the first of them
    std::string first;
  };
  void put_number(const io::TextNumber& number, bool descending);
  void put_text(std::string_view text);
  void put_other(const LineKey& key, Seen& seen, io::Rows& rows, std::string_view entry, bool strict);

  std::vector<LineKey> keys_;
  bool ignore_case_;
  bool nan_ = false;
  std::vector<Seen> seen_;
  std::string key_;
};

// Sorts lines by such keys, stably, through files where they are more than memory holds.
class LineSort {
 public:
  struct Request {
    Device device;
    std::uint64_t memory = 0;
    std::string tmpdir;
    std::optional<std::uint64_t> first;  // no more than these are wanted
    bool unique = false;                 // of lines with equal keys only the first
  };
  explicit LineSort(Request request);
  // No key may be the beginning of another one.
  void add(std::string_view key, std::string_view line);
  using Sink = std::function<void(std::string_view line)>;
  void finish(const Sink& sink);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // Runs that were put into files.
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_.count(); }
  [[nodiscard]] const Times& times() const noexcept { return times_; }
  // Gets the bytes that were merged.
  std::function<void(std::uint64_t)> progress = [](std::uint64_t) {};

 private:
  struct Chunk {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };
  char* room(std::size_t bytes);
  void sort_held();
  void refine();
  void keep_first();
  void spill();
  void give(std::uint64_t key, const TextSize& size, const char* text, const Sink& sink);

  Request request_;
  std::uint64_t most_records_;
  std::vector<std::uint64_t> keys_;   // the first 8 bytes of each
  std::vector<const char*> records_;  // a TextSize, the rest of the key, the line
  std::vector<Chunk> chunks_;         // that have them
  std::size_t chunk_ = 0;             // of the next record
  std::size_t chunk_used_ = 0;
  std::uint64_t bytes_ = 0;             // of all records
  bool longer_ = false;                 // some key has more than 8 bytes
  std::optional<std::uint64_t> worst_;  // a key of more is not among the first, nor one that is equal and ends there
  std::uint64_t count_ = 0;
  std::uint64_t given_ = 0;
  std::uint64_t last_key_ = 0;  // of what was given
  std::string last_rest_;
  ExternalRuns runs_;
  Times times_;
};

// `masu sort --lines`, `masu topk --lines`.
struct LinesRequest {
  const CommonOptions& common;
  const InputOptions& input;
  std::vector<LineKey> keys;
  std::optional<std::uint64_t> first;
  bool unique = false;
  bool ignore_case = false;
  bool index = false;     // the places of the lines instead of them
  bool skip_nan = false;  // leaves lines out whose first key is NaN
};
// Prints what was left out, too.
SortSummary sort_lines(const LinesRequest& asked, const char* what);

// Wrong use: an ending that is no text's.
void check_line_output(const CommonOptions& common);

}  // namespace masu::cli
