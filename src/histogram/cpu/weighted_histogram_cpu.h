// SPDX-License-Identifier: Apache-2.0
// Summing weights by slots on the CPU.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/cpu/histogram_cpu_counter.h"
#include "histogram/cpu/histogram_cpu_slots.h"
#include "histogram/cpu/joint_histogram_cpu.h"
#include "histogram/weighted_sums.h"

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace masu::cpu {

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

// Where the weights of a slot go: those in front of the bins and behind them to the first and the last one.
struct NarrowSlots {
  std::uint64_t slots;
  std::uint64_t bins;
  bool clamp;
};
// Writes the exact sum of each slot's weights, rounded once, to `totals`, which are zeros.
void add_narrow(const SlotSource& source, const NarrowSlots& where, const ArrayView& weights, std::span<double> totals);

}  // namespace masu::cpu
