// SPDX-License-Identifier: Apache-2.0
// Counting rows on the CPU.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"

#include <masu/row_histogram.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace masu::cpu {

class RowCounter {
 public:
  // Adds to `counts` (rows * channels * rule.n) and `outside` (rows * channels * extra_slots), which must outlive it.
  RowCounter(std::shared_ptr<const BinRule> rule, std::uint64_t row_elements, unsigned channels, Strategy strategy,
             std::span<std::uint64_t> counts, std::span<std::uint64_t> outside);
  // Counts the next elements, whole pixels.
  void add(const ArrayView& data);
  [[nodiscard]] Strategy strategy() const noexcept { return strategy_; }

 private:
  void add_rows(const ArrayView& data, std::uint64_t row, std::uint64_t rows);
  void add_long(const ArrayView& data, std::uint64_t row);
  void add_short(const ArrayView& data, std::uint64_t row, Tables* tables) const;
  void add_directly(const ArrayView& data, std::uint64_t row) const;
  // The counters of one row and channel: n bins, and extra_slots elsewhere.
  struct RowTable {
    std::uint64_t n;
    std::uint64_t* counts;
    std::uint64_t* outside;
    [[nodiscard]] std::uint64_t* at(std::uint64_t bin) const noexcept {
      return bin < n ? counts + bin : outside + (bin - n);
    }
  };
  [[nodiscard]] RowTable table_of(std::uint64_t row, unsigned channel) const {
    const std::uint64_t table = row * shape_.channels + channel;
    return {rule_->n, counts_.data() + table * rule_->n, outside_.data() + table * extra_slots};
  }
  // A slot as the rule has it: 8-bit data is counted by its byte.
  [[nodiscard]] std::uint64_t bin_of(std::uint64_t slot) const { return of_byte_.empty() ? slot : of_byte_[slot]; }
  [[nodiscard]] bool in_table(std::uint64_t elements) const noexcept;

  std::shared_ptr<const BinRule> rule_;
  std::uint64_t row_elements_;
  TableShape shape_;
  Strategy strategy_;
  SlotWriter writer_;
  Counter whole_;                     // of rows that are counted one after the other, by all threads
  std::vector<std::uint64_t> table_;  // its totals
  std::vector<std::uint64_t> of_byte_;
  std::span<std::uint64_t> counts_;
  std::span<std::uint64_t> outside_;
  std::uint64_t position_ = 0;
};

}  // namespace masu::cpu
