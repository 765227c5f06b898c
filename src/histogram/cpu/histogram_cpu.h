// SPDX-License-Identifier: Apache-2.0
// Counting on the CPU.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu_slots.h"
#include "histogram/cpu/histogram_simd.h"
#include "histogram/weighted_sums.h"

#include <masu/dtype.h>
#include <masu/histogram.h>
#include <masu/row_histogram.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace masu::cpu {

// Unsigned integers that are slots themselves: indices, and the bytes of 8-bit data, of i8 too.
template <class T>
class IndexSource final : public SlotSource {
 public:
  explicit IndexSource(const void* data) : data_(static_cast<const T*>(data)) {}
  void write(std::uint64_t first, std::size_t count, SlotHistories& /*histories*/,
             std::uint32_t* slots) const override {
    for (std::size_t i = 0; i < count; ++i) slots[i] = static_cast<std::uint32_t>(data_[first + i]);
  }

 private:
  const T* data_;
};
using ByteSource = IndexSource<std::uint8_t>;

// The slots of elements in memory. With `clamped` bins, values below and above them go to the first and the last one.
class ValueSource final : public SlotSource {
 public:
  ValueSource(const SlotWriter& writer, const ArrayView& data, std::uint64_t clamped = 0)
      : writer_(writer),
        data_(static_cast<const char*>(data.data)),
        size_(size_of(data.dtype)),
        clamped_(static_cast<std::uint32_t>(clamped)) {}
  void write(std::uint64_t first, std::size_t count, SlotHistories& histories, std::uint32_t* slots) const override;

 private:
  const SlotWriter& writer_;
  const char* data_;
  std::size_t size_;
  std::uint32_t clamped_;
};

// Counts interleaved bytes by their value.
void add_bytes(Tables& tables, const std::uint8_t* data, std::uint64_t count, unsigned channels);

// Element i of a column lies at data + i * stride.
struct Column {
  const std::byte* data;
  std::size_t stride;
};

// Counts data that comes in pieces into totals, which must outlive it.
class TableCounter {
 public:
  TableCounter() = default;
  virtual ~TableCounter() = default;
  TableCounter(const TableCounter&) = delete;
  TableCounter& operator=(const TableCounter&) = delete;
  // The next elements: whole pixels. A single column has no gaps.
  virtual void add(std::span<const Column> columns, std::uint64_t count) = 0;
  [[nodiscard]] virtual Strategy strategy() const noexcept = 0;
};

// Keeps the tables that finding slots needs.
class Counter final : public TableCounter {
 public:
  // `totals`: slots_of(rule) for each channel. Throws unsupported where the tables of `strategy` do not fit.
  Counter(std::shared_ptr<const BinRule> rule, unsigned channels, Strategy strategy,
          std::span<std::uint64_t> totals = {});
  void add(std::span<const Column> columns, std::uint64_t count) override {
    this->count({rule_->dtype, columns.front().data, count}, totals_);
  }
  // Adds to other totals.
  void count(const ArrayView& data, std::span<std::uint64_t> totals);
  [[nodiscard]] Strategy strategy() const noexcept override { return counter_.strategy(); }

 private:
  bool count_steps(const ArrayView& data, std::span<std::uint64_t> totals);

  std::shared_ptr<const BinRule> rule_;
  SlotCounter counter_;
  SlotWriter writer_;
  std::span<std::uint64_t> totals_;
};

// Widens lo to hi by integers.
template <class T>
void add_to_range(const T* x, std::uint64_t count, T& lo, T& hi) {
  if constexpr (sizeof(T) >= 4) {
    range_of(x, count, lo, hi);
  } else {
    for (std::uint64_t i = 0; i < count; ++i) {
      lo = std::min(lo, x[i]);
      hi = std::max(hi, x[i]);
    }
  }
}
// The range of the finite values.
std::optional<ValueRange> finite_range(const ArrayView& data);

// Counting rows on the CPU.

class RowCounter final : public TableCounter {
 public:
  // `totals`: rule.n + extra_slots for each row and channel.
  RowCounter(std::shared_ptr<const BinRule> rule, std::uint64_t row_elements, unsigned channels, Strategy strategy,
             std::span<std::uint64_t> totals);
  void add(std::span<const Column> columns, std::uint64_t count) override;
  [[nodiscard]] Strategy strategy() const noexcept override { return strategy_; }

 private:
  void add_rows(const ArrayView& data, std::uint64_t row, std::uint64_t rows);
  void add_long(const ArrayView& data, std::uint64_t row);
  void add_short(const ArrayView& data, std::uint64_t row, Tables* tables) const;
  void add_directly(const ArrayView& data, std::uint64_t row) const;
  // The totals of one row and channel.
  [[nodiscard]] std::uint64_t* table_of(std::uint64_t row, unsigned channel) const {
    return totals_.data() + (row * shape_.channels + channel) * (rule_->n + extra_slots);
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
  std::span<std::uint64_t> totals_;
  std::uint64_t position_ = 0;
};

// Counting points of several columns on the CPU.

// Columns that lie apart, and the coordinates of points that lie one after the other.
std::vector<Column> columns_of(std::span<const ArrayView> columns);
std::vector<Column> columns_of_points(const ArrayView& points, std::size_t columns);

// The joint bins of points: each column's slots, joined. After the joint bins: outside, NaN. Keeps references to what
// it gets.
class JointPoints final : public SlotSource {
 public:
  JointPoints(std::span<const std::shared_ptr<const BinRule>> rules, std::span<const SlotWriter> writers, bool clamp,
              std::span<const Column> columns);
  void write(std::uint64_t first, std::size_t count, SlotHistories& histories,
             std::uint32_t* joint_bins) const override;

 private:
  std::span<const std::shared_ptr<const BinRule>> rules_;
  std::span<const SlotWriter> writers_;
  std::span<const Column> columns_;
  std::uint32_t all_joint_bins_ = 1;
  std::vector<JoinLoop> loops_;
  JoinSlots join_ = join_slots();
  FinishJointBins finish_ = finish_joint_bins();
};

// The slots of one column, or the joint bins of several. Keeps references to what it gets.
class ColumnSource {
 public:
  ColumnSource(std::span<const std::shared_ptr<const BinRule>> rules, std::span<const SlotWriter> writers, bool clamp,
               std::span<const Column> columns);
  [[nodiscard]] const SlotSource& slots() const noexcept;

 private:
  std::optional<ValueSource> one_;
  std::optional<JointPoints> several_;
};

class JointCounter final : public TableCounter {
 public:
  // `totals`: the joint bins, then `outside`, then `nan`.
  JointCounter(std::span<const std::shared_ptr<const BinRule>> rules, bool clamp, Strategy strategy,
               std::span<std::uint64_t> totals);
  void add(std::span<const Column> columns, std::uint64_t count) override;
  [[nodiscard]] Strategy strategy() const noexcept override { return counter_.strategy(); }

 private:
  std::vector<std::shared_ptr<const BinRule>> rules_;
  bool clamp_;
  std::vector<SlotWriter> writers_;
  SlotCounter counter_;
  std::span<std::uint64_t> totals_;
};

// Summing weights by slots on the CPU.

// The slots of a row: the bins and extra_slots of one column, or the joint bins of several, then outside and NaN.
class WeightedCounter {
 public:
  // Adds to `sums`, one entry for each format that is summed, each with the slots of all rows; they must outlive it.
  WeightedCounter(std::span<const std::shared_ptr<const BinRule>> rules, bool clamp, std::uint64_t rows,
                  std::uint64_t row_elements, std::span<WeightSums> sums);
  // Adds the next `count` elements.
  void add(std::span<const Column> columns, const std::byte* weights, std::uint64_t count);

 private:
  // Elements in order with their weights.
  struct Part {
    const SlotSource& source;
    const std::byte* weights;
    std::uint64_t first;
    std::uint64_t count;
  };
  void add_row(std::uint64_t row, const Part& part);
  // By the calling thread, into the row's sums.
  void add_directly(std::uint64_t row, const Part& part);
  // By all threads, each with sums of its own.
  void add_in_tables(std::uint64_t row, const Part& part);
  // By all threads, each of which adds to a share of the slots.
  void add_in_shares(std::uint64_t row, const Part& part);
  // Moves carries on where `count` more weights could be too many for a row.
  void make_room(std::uint64_t row, std::uint64_t count);

  std::vector<std::shared_ptr<const BinRule>> rules_;
  bool clamp_;
  std::uint64_t row_elements_;
  std::span<WeightSums> sums_;
  std::size_t weight_size_;
  std::uint64_t slots_;  // of a row
  std::vector<SlotWriter> writers_;
  std::vector<AddWeights> add_;
  std::vector<std::uint32_t> pending_;  // weights of each row since carries were last moved on
  std::uint64_t position_ = 0;
};

// Totals of float weights on the CPU in narrow sums: rounding errors are added up beside a sum, and where a bound on
// what is lost leaves the rounding open, a wide sum of that bin's weights decides. Memory and time go by the bins that
// are touched, but for the totals themselves.

// Writes the exact sum of each slot's float weights, rounded once, to `totals`, which are zeros. Elements in other
// slots are left out.
void add_narrow(const SlotSource& source, const ArrayView& weights, std::span<double> totals);

}  // namespace masu::cpu
