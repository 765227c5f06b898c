// SPDX-License-Identifier: Apache-2.0
// `masu sort`: its options, and from opening its inputs to writing its outputs.
#pragma once

#include "cli/arrays/array_stream.h"
#include "io/reader.h"
#include "options.h"
#include "program.h"
#include "text.h"

#include <masu/device.h>
#include <masu/io.h>
#include <masu/sort.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

// Sorting of more records than memory holds: as many as fit are sorted by masu::sort at a time and put into temporary
// files, and then merged. What fits is sorted where it is.

// Keys, and the bytes that go with each of them where there are any.
struct Records {
  ArrayView keys;
  const std::byte* payload = nullptr;
  std::string_view text = {};  // of all records, one after the other
};

// The payload of records with text, which each have so many bytes: what follows the first 8 bytes of the key, which
// decides between equal keys as memcmp() does, and then the line.
struct TextSize {
  std::uint32_t key = 0;
  std::uint32_t line = 0;
};

struct RecordShape {
  Dtype keys = Dtype::u8;
  std::size_t payload_bytes = 0;
  bool text = false;  // keys are u64, the payload is a TextSize
  [[nodiscard]] std::size_t bytes() const { return size_of(keys) + payload_bytes; }
};

// Takes records block by block; they are valid during the call.
using RecordSink = std::function<void(const Records&)>;

class ExternalRuns {
 public:
  // Buffers take at most `memory` bytes, but for a few KiB where that is less.
  ExternalRuns(const RecordShape& shape, Order order, std::uint64_t memory, const std::string& folder);

  [[nodiscard]] std::uint64_t count() const noexcept { return runs_.size(); }
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  // Adds a run, which is in order. Runs of equal keys come out in the order in which they were added.
  void add(const Records& run);
  // Adds what follows in the run that was added last.
  void add_to_last(const Records& more);
  // Gives all records in order. `done` gets how many bytes were handled, and may be called from several passes.
  void merge(const RecordSink& sink, const std::function<void(std::uint64_t)>& done);

 private:
  struct Run {
    std::uint64_t first = 0;  // in both files
    std::uint64_t count = 0;
    std::uint64_t text = 0;  // bytes in the file of texts, from its byte `text_first` on
    std::uint64_t text_first = 0;
  };
  [[nodiscard]] std::uint64_t block_bytes() const;
  [[nodiscard]] std::uint64_t most_runs() const;
  [[nodiscard]] Run end() const;
  void append(Run& run, const Records& records);
  void merge_some(std::span<const Run> runs, const RecordSink& sink);
  void reduce(const std::function<void(std::uint64_t)>& done);

  RecordShape shape_;
  Order order_;
  std::uint64_t memory_;
  io::SpoolFile keys_;
  io::SpoolFile payload_;
  io::SpoolFile text_;
  std::vector<Run> runs_;
  std::uint64_t records_ = 0;
};

class ExternalSort {
 public:
  // What goes with the keys: nothing, bytes of the caller's, or each key's own number (u64, from 0), which comes with
  // the keys in order (`number`) or may come alone (`index`).
  enum class Payload { none, given, number, index };
  struct Request {
    Device device;
    RecordShape shape;  // payload_bytes of numbers is 8
    Payload payload = Payload::none;
    Order order = Order::ascending;
    SortAlgorithm algorithm = SortAlgorithm::automatic;
    std::uint64_t memory = 0;
    std::string tmpdir;
    std::optional<std::uint64_t> count;  // where it is known, no more memory is taken than is needed
  };
  explicit ExternalSort(Request request);

  // Records that fit into that much memory beside what sorting needs.
  static std::uint64_t capacity(const Device& device, const RecordShape& shape, std::uint64_t memory);

  // Room for the next records, which the caller fills from its beginning; `payload` only where it is given.
  struct Room {
    std::byte* keys = nullptr;
    std::byte* payload = nullptr;
    std::uint64_t count = 0;  // 1 at least
  };
  Room room();
  void filled(std::uint64_t count) { filled_ += count; }
  // Records that lie in memory, with their payload where it is given.
  void add(const Records& records);

  // Sorts all that was filled in, and gives it in order; nothing comes after it. Each of `rows` rows by itself, where
  // all fits. With `index`, the keys come in order only where not all fits.
  void finish(const RecordSink& sink, std::uint64_t rows = 1);

  // Records so far.
  [[nodiscard]] std::uint64_t count() const noexcept { return spilled_ + filled_; }
  // Runs that were put into files.
  [[nodiscard]] std::uint64_t runs() const noexcept { return run_count_; }
  [[nodiscard]] const Times& times() const noexcept { return times_; }
  // Gets the bytes that were sorted or merged.
  std::function<void(std::uint64_t)> progress = [](std::uint64_t) {};

 private:
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  void reserve();
  void sort_in_memory(std::uint64_t first, std::uint64_t count, std::uint64_t rows, bool index_only);
  void number(std::uint64_t first, std::uint64_t count);
  void spill(std::uint64_t first, std::uint64_t count);
  [[nodiscard]] std::byte* keys(std::uint64_t record) const {
    return keys_.get() + record * size_of(request_.shape.keys);
  }
  [[nodiscard]] std::byte* payload(std::uint64_t record) const {
    return payload_.get() + record * request_.shape.payload_bytes;
  }

  Request request_;
  std::uint64_t capacity_;
  std::uint64_t reserved_ = 0;  // records that keys_ and payload_ have room for
  std::unique_ptr<std::byte[], Free> keys_;
  std::unique_ptr<std::byte[], Free> payload_;
  std::uint64_t filled_ = 0;
  std::uint64_t spilled_ = 0;
  std::uint64_t run_count_ = 0;
  ExternalRuns runs_;
  Times times_;
};

struct SortCommandOptions : ArrayOptions {
  std::string algorithm = "auto";
  std::string values;
  std::string values_dtype;
  std::string values_output;
  std::vector<std::string> keys;  // of --lines
  bool lines = false;
  bool numbers = false;
  bool unique = false;
  bool ignore_case = false;
  bool descending = false;
  bool index = false;
  bool is_sorted = false;
  bool trace = false;

  // Throws invalid_argument for options that exclude each other.
  void check() const;
  [[nodiscard]] bool of_lines() const { return lines || !keys.empty(); }
  [[nodiscard]] Order order() const { return descending ? Order::descending : Order::ascending; }
  [[nodiscard]] std::uint64_t row_count() const { return cli::row_count(rows); }
};

// `masu sort` from opening its inputs to writing its outputs.
struct SortSummary {
  std::uint64_t count = 0;  // of what was not left out
  std::string type;         // as type_name() has it; of lines there is none
  std::string device;
  std::uint64_t rows = 1;
  std::uint64_t runs = 0;  // that were put into temporary files; 0: all was sorted in memory
  io::TextReport text;
  std::vector<std::string> notes;  // of the keys
  std::uint64_t bytes = 0;
  Seconds seconds;
};

// Throws Differs when it is to verify and the reference sorts otherwise; no file is left then.
SortSummary run_sort(const SortCommandOptions& asked, Progress& progress);

// Whole lines of a text in the order of some of their fields (sort_lines.cpp).

// What lines are sorted by: a column, or the whole line where it has no name.
struct LineKey {
  enum class Kind { any, number, text };
  std::string column;
  Kind kind = Kind::any;
  bool descending = false;
};

// COLUMN[:desc|asc][:number|text],… where `usual` says what is not said. Also as sort(1) has them: 3n, 3nr.
std::vector<LineKey> parse_line_keys(std::span<const std::string> asked, const LineKey& usual);

// `masu sort --lines`, `masu topk --lines`.
struct LinesRequest {
  const CommonOptions& common;
  const InputOptions& input;
  std::vector<LineKey> keys;
  std::optional<std::uint64_t> first;
  std::vector<std::string> group = {};  // columns: the first lines of each group
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
