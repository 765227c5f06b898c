// SPDX-License-Identifier: Apache-2.0
// Counting points of several columns on the CPU.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu_counter.h"
#include "histogram/cpu/histogram_cpu_slots.h"
#include "histogram/cpu/histogram_simd_guide.h"

#include <masu/histogram.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace masu::cpu {

// Element i of a column lies at data + i * stride.
struct Column {
  const std::byte* data;
  std::size_t stride;
};

// The joint bins of points: each column's slots, joined. Behind the joint bins: outside, NaN. Keeps references to what
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

class JointCounter {
 public:
  // `totals`: the joint bins, then `outside`, then `nan`. It must outlive the counter.
  JointCounter(std::span<const std::shared_ptr<const BinRule>> rules, bool clamp, Strategy strategy,
               std::span<std::uint64_t> totals);
  // Counts points whose columns have the rules' dtype and the same length.
  void add(std::span<const ArrayView> columns);
  // Counts points that lie one after the other.
  void add_interleaved(const ArrayView& points);
  [[nodiscard]] Strategy strategy() const noexcept { return counter_.strategy(); }

 private:
  void add(std::span<const Column> columns, std::uint64_t count);

  std::vector<std::shared_ptr<const BinRule>> rules_;
  bool clamp_;
  std::vector<SlotWriter> writers_;
  SlotCounter counter_;
  std::span<std::uint64_t> totals_;
};

}  // namespace masu::cpu
