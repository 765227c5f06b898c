// SPDX-License-Identifier: Apache-2.0
// Sorted runs in temporary files, and their merge into one.
#pragma once

#include "cli/sort/external_file.h"

#include <masu/sort.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace masu::cli {

// Keys, and the bytes that go with each of them where there are any.
struct Records {
  ArrayView keys;
  const std::byte* payload = nullptr;
};

struct RecordShape {
  Dtype keys = Dtype::u8;
  std::size_t payload_bytes = 0;
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
  // Gives all records in order. `done` is told how many bytes were handled, and may be called from several passes.
  void merge(const RecordSink& sink, const std::function<void(std::uint64_t)>& done);

 private:
  struct Run {
    std::uint64_t first = 0;  // in both files
    std::uint64_t count = 0;
  };
  [[nodiscard]] std::uint64_t block_bytes() const;
  [[nodiscard]] std::uint64_t most_runs() const;
  [[nodiscard]] std::uint64_t append(const Records& records);
  void merge_some(std::span<const Run> runs, const RecordSink& sink);
  void reduce(const std::function<void(std::uint64_t)>& done);

  RecordShape shape_;
  Order order_;
  std::uint64_t memory_;
  ExternalFile keys_;
  ExternalFile payload_;
  std::vector<Run> runs_;
  std::uint64_t records_ = 0;
};

}  // namespace masu::cli
