// SPDX-License-Identifier: Apache-2.0
// The stable merge of several sorted runs at once, by a tree of losers (Knuth, The Art of Computer Programming, volume
// 3, section 5.4.1): one comparison for each level of the tree and element.
#pragma once

#include "cli/sort/external_runs.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace masu::cli {

// A part of a file that is read in blocks.
class BlockReader {
 public:
  BlockReader(const ExternalFile& file, std::size_t element, std::uint64_t first, std::uint64_t count,
              std::uint64_t block_bytes);
  // Elements that lie ready at data(); 0 at the end of the part.
  [[nodiscard]] std::uint64_t ready() const noexcept { return ready_; }
  [[nodiscard]] const std::byte* data() const noexcept { return at_; }
  // Goes on by one element, which is ready; true while there are more.
  bool next() {
    at_ += element_;
    return --ready_ != 0 || refill();
  }

 private:
  bool refill();
  const ExternalFile& file_;
  std::size_t element_;
  std::uint64_t next_;   // the element to be read next
  std::uint64_t left_;   // that are not read yet
  std::uint64_t block_;  // elements
  std::unique_ptr<std::byte[]> buffer_;
  const std::byte* at_ = nullptr;
  std::uint64_t ready_ = 0;
};

class ExternalMerge {
 public:
  struct Plan {
    RecordShape shape;
    Order order = Order::ascending;
    std::uint64_t run_bytes = 0;     // of buffers for each run
    std::uint64_t output_bytes = 0;  // of a block of the result
  };
  ExternalMerge(const Plan& plan, const ExternalFile& keys, const ExternalFile& payload);

  // Records in both files; of equal keys, those of the run that was added first come first.
  void add(std::uint64_t first, std::uint64_t count);
  void run(const RecordSink& sink);

 private:
  template <class T>
  void merge_keys(const RecordSink& sink);
  void collect_payload(std::uint64_t count);

  Plan plan_;
  const ExternalFile& key_file_;
  const ExternalFile& payload_file_;
  std::vector<BlockReader> keys_;
  std::vector<BlockReader> payloads_;
  std::uint64_t block_ = 0;               // records of a block of the result
  std::vector<std::uint32_t> sources_;    // which run each record of the block came from
  std::unique_ptr<std::byte[]> payload_;  // of the block
};

}  // namespace masu::cli
