// SPDX-License-Identifier: Apache-2.0
// The first values of an order with where they are, of data of any size.
#pragma once

#include "cli/arrays/row_pieces.h"
#include "cli/sort/external_sort.h"
#include "numbered_values.h"

#include <masu/topk.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace masu::cli {

// What is asked of each row.
struct TopkRequest {
  Device device;
  Dtype dtype = Dtype::u8;
  std::uint64_t k = 1;
  TopkOptions how;
  std::uint64_t memory = 0;
  std::string tmpdir;
};

// The first k of one row. They are kept from piece to piece; where k is more than memory holds, the row is sorted
// through files instead.
class RowTopk {
 public:
  explicit RowTopk(const TopkRequest& request);
  void add(const ArrayView& piece);
  // Appends what was found to `entries`; returns the NaNs that were skipped. Nothing comes after it.
  std::uint64_t finish(NumberedValues& entries);
  // Before that: what the rows of all ranks have, which are one.
  void merge_ranks();
  [[nodiscard]] const Times& times() const noexcept { return times_; }

 private:
  std::uint64_t finish_sorted(NumberedValues& entries);
  TopkRequest request_;
  std::optional<TopkAccumulator> accumulator_;
  std::optional<ExternalSort> sorter_;
  Times times_;
};

// The first k of each row of data that comes in pieces.
class TopkTable {
 public:
  // Rows have `row_length` elements; without it all of the data is one.
  TopkTable(TopkRequest request, std::optional<std::uint64_t> row_length);
  void add(const ArrayView& piece);

  struct Result {
    NumberedValues entries;              // row by row, with their indices in the row
    std::vector<std::uint64_t> found;    // entries of each row
    std::vector<std::uint64_t> skipped;  // NaNs of each row that were left out
  };
  // Of all ranks, on the first one. Only once.
  Result finish();
  // Of this rank.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] const Times& times() const noexcept { return times_; }

 private:
  void add_rows(const ArrayView& data, std::uint64_t count);
  void add_part(const ArrayView& part, bool ends);
  void end_row();
  void join_rows();
  void add_times(const Times& times);

  TopkRequest request_;
  std::optional<WholeRows> short_rows_;
  std::optional<RowParts> long_rows_;
  std::optional<RowTopk> row_;
  Result result_;
  std::uint64_t count_ = 0;
  Times times_;
};

}  // namespace masu::cli
