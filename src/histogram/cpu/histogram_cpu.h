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

// Element i of a column lies at data + i * stride.
struct Column {
  const std::byte* data;
  std::size_t stride;
};
// Columns that lie apart, and the coordinates of points that lie one after the other.
std::vector<Column> columns_of(std::span<const ArrayView> columns);
std::vector<Column> columns_of_points(const ArrayView& points, std::size_t columns);

inline constexpr std::uint64_t byte_values = 256;

// Finds the slots of one column, or the joint bins of several, with outside and NaN after them. Keeps references to the
// rules.
class SlotFinder {
 public:
  SlotFinder(BinRules rules, bool joint);
  // Says that so many elements will come. Not while others write.
  void prepare(std::uint64_t elements);

  [[nodiscard]] bool is_joint() const noexcept { return !loops_.empty(); }
  [[nodiscard]] std::uint64_t slots() const noexcept { return slots_; }
  // Bytes of an element of all columns.
  [[nodiscard]] std::size_t element_bytes() const noexcept { return size_ * rules_.size(); }
  [[nodiscard]] const BinRule& rule() const noexcept { return *rules_.front(); }
  [[nodiscard]] SlotWriter& writer() noexcept { return writers_.front(); }
  // 8-bit data is counted by its byte: whether that is so, the counters of a channel, and what belongs to counter
  // number i of all channels among their slots.
  [[nodiscard]] bool counts_bytes() const noexcept { return !of_byte_.empty(); }
  [[nodiscard]] std::uint64_t counters() const noexcept { return counts_bytes() ? byte_values : slots_; }
  [[nodiscard]] std::uint64_t slot_of_counter(std::uint64_t i) const noexcept {
    return counts_bytes() ? i / byte_values * slots_ + of_byte_[i % byte_values] : i;
  }

 private:
  friend class ColumnSource;
  BinRules rules_;
  std::vector<SlotWriter> writers_;
  std::size_t size_;  // of a coordinate
  std::uint64_t slots_;
  std::span<const std::uint32_t> of_byte_;  // of one column of bytes
  std::vector<JoinLoop> loops_;             // of joint bins
  JoinSlots join_ = nullptr;
  FinishJointBins finish_ = nullptr;
};

// The slots of elements in memory. Keeps references to what it gets.
class ColumnSource final : public SlotSource {
 public:
  ColumnSource(const SlotFinder& finder, std::span<const Column> columns) : finder_(finder), columns_(columns) {}
  void write(std::uint64_t first, std::size_t count, SlotHistories& histories, std::uint32_t* slots) const override;

 private:
  const SlotFinder& finder_;
  std::span<const Column> columns_;
};

// Counts interleaved bytes by their value.
void add_bytes(Tables& tables, const std::uint8_t* data, std::uint64_t count, unsigned channels);

// Counts data that comes in pieces into totals, or sums its weights; those and the rules must outlive it.
class TableCounter {
 public:
  TableCounter() = default;
  virtual ~TableCounter() = default;
  TableCounter(const TableCounter&) = delete;
  TableCounter& operator=(const TableCounter&) = delete;
  // The next elements: whole pixels. A single column has no gaps. Weights are the last column.
  virtual void add(std::span<const Column> columns, std::uint64_t count) = 0;
  [[nodiscard]] virtual Strategy strategy() const noexcept = 0;
};

// One table for each channel, of all elements or of each row, or one of joint bins.
class Counter final : public TableCounter {
 public:
  // `totals`: the bins and extra_slots for each row and channel, or the joint bins, then `outside`, then `nan`. Throws
  // unsupported where the tables of `strategy` do not fit.
  Counter(BinRules rules, bool joint, unsigned channels, Strategy strategy, std::span<std::uint64_t> totals,
          std::uint64_t row_elements = no_row_end);
  Counter(const std::shared_ptr<const BinRule>& rule, unsigned channels, Strategy strategy)
      : Counter({&rule, 1}, false, channels, strategy, {}) {}
  void add(std::span<const Column> columns, std::uint64_t count) override;
  // Adds the counts of one column to other totals.
  void count(const ArrayView& data, std::span<std::uint64_t> totals);
  [[nodiscard]] Strategy strategy() const noexcept override { return strategy_; }

 private:
  bool count_steps(const ArrayView& data, std::span<std::uint64_t> totals);
  // Whole rows, or a part of one.
  void add_rows(const ArrayView& data, std::uint64_t row, std::uint64_t rows);
  // A row or a part of it by one thread, in tables where they are worth it.
  void add_short(const ArrayView& data, std::span<std::uint64_t> totals, Tables* tables) const;
  // Whether so many elements of a row pay for tables; bytes do a little later.
  [[nodiscard]] bool pays_for_tables(std::uint64_t elements) const {
    return elements >= (finder_.counts_bytes() ? 4 : 1) * counter_.shape().counters();
  }
  // The totals of all channels of a row.
  [[nodiscard]] std::span<std::uint64_t> totals_of(std::uint64_t row) const {
    const std::uint64_t size = finder_.slots() * counter_.shape().channels;
    return totals_.subspan(row * size, size);
  }

  SlotFinder finder_;
  SlotCounter counter_;
  Strategy strategy_;
  std::uint64_t row_elements_;
  std::span<std::uint64_t> totals_;
  std::uint64_t position_ = 0;
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

// Summing weights by slots on the CPU.

class WeightedCounter final : public TableCounter {
 public:
  // Adds to `sums`, one entry for each format that is summed, each with the slots of all rows; they must outlive it.
  WeightedCounter(BinRules rules, std::uint64_t rows, std::uint64_t row_elements, std::span<WeightSums> sums);
  void add(std::span<const Column> columns, std::uint64_t count) override;
  [[nodiscard]] Strategy strategy() const noexcept override { return Strategy::automatic; }

 private:
  // Elements in order with their weights.
  struct Part {
    const SlotSource& source;
    const std::byte* weights;
    std::uint64_t first;
    std::uint64_t count;
  };
  void add_row(std::uint64_t row, const Part& part);
  // Adds to sums of all rows, or of one, number 0.
  void add_to(std::span<WeightSums> sums, std::uint64_t row, const Part& part) const;
  // By the calling thread, into the row's sums.
  void add_directly(std::uint64_t row, const Part& part);
  // By all threads, each with sums of its own.
  void add_in_tables(std::uint64_t row, const Part& part);
  // By all threads, each of which adds to a share of the slots.
  void add_in_shares(std::uint64_t row, const Part& part);
  // Moves carries on where `count` more weights could be too many for a row.
  void make_room(std::uint64_t row, std::uint64_t count);

  SlotFinder finder_;
  std::uint64_t slots_;  // of a row
  std::uint64_t row_elements_;
  std::span<WeightSums> sums_;
  std::size_t weight_size_;
  std::vector<AddWeights> add_;
  std::vector<std::uint32_t> pending_;  // weights of each row since carries were last moved on
  std::uint64_t position_ = 0;
};

// Totals of float weights on the CPU in narrow sums: rounding errors are added up beside a sum, and where a bound on
// what is lost leaves the rounding open, a wide sum of that bin's weights decides. Memory and time go by the bins that
// are touched, but for the totals themselves.

// Writes the exact sum of each slot's float weights, or of their squares, rounded once, to `totals`, which are zeros.
// Elements in other slots are left out.
void add_narrow(const SlotSource& source, const ArrayView& weights, std::span<double> totals, bool squared = false);

}  // namespace masu::cpu
