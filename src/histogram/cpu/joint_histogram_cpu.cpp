// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/joint_histogram_cpu.h"

#include <algorithm>
#include <cstring>

namespace masu::cpu {

JointPoints::JointPoints(std::span<const std::shared_ptr<const BinRule>> rules, std::span<const SlotWriter> writers,
                         bool clamp, std::span<const Column> columns)
    : rules_(rules), writers_(writers), columns_(columns) {
  for (const auto& rule : rules) all_joint_bins_ *= static_cast<std::uint32_t>(rule->n);
  std::uint32_t stride = all_joint_bins_;
  for (const auto& rule : rules) {
    stride /= static_cast<std::uint32_t>(rule->n);
    loops_.push_back({.n = static_cast<std::uint32_t>(rule->n), .stride = stride, .clamp = clamp});
  }
}

void JointPoints::write(std::uint64_t first, std::size_t count, SlotHistories& histories,
                        std::uint32_t* joint_bins) const {
  std::memset(joint_bins, 0, count * sizeof(std::uint32_t));
  alignas(64) std::uint32_t slots[block_elements];
  alignas(64) std::byte gathered[block_elements * sizeof(std::uint64_t)];
  for (std::size_t d = 0; d < columns_.size(); ++d) {
    const Column& column = columns_[d];
    const std::size_t size = size_of(rules_[d]->dtype);
    const std::byte* x = column.data + first * column.stride;
    if (column.stride != size) {
      for (std::size_t i = 0; i < count; ++i) std::memcpy(gathered + i * size, x + i * column.stride, size);
      x = gathered;
    } else {
      prefetch_next(x, count * size);
    }
    writers_[d].write(x, count, histories[d], slots);
    join_(slots, count, loops_[d], joint_bins);
  }
  finish_(count, all_joint_bins_, joint_bins);
}

JointCounter::JointCounter(std::span<const std::shared_ptr<const BinRule>> rules, bool clamp, Strategy strategy,
                           std::span<std::uint64_t> totals)
    : rules_(rules.begin(), rules.end()), clamp_(clamp), counter_({totals.size(), 1}, strategy), totals_(totals) {
  for (const auto& rule : rules_) writers_.emplace_back(*rule);
}

void JointCounter::add(std::span<const ArrayView> columns) {
  std::vector<Column> found;
  for (const ArrayView& column : columns) {
    found.push_back({static_cast<const std::byte*>(column.data), size_of(column.dtype)});
  }
  add(found, columns.front().count);
}

void JointCounter::add_interleaved(const ArrayView& points) {
  const std::size_t size = size_of(points.dtype);
  std::vector<Column> found;
  for (std::size_t d = 0; d < rules_.size(); ++d) {
    found.push_back({static_cast<const std::byte*>(points.data) + d * size, rules_.size() * size});
  }
  add(found, points.count / rules_.size());
}

void JointCounter::add(std::span<const Column> columns, std::uint64_t count) {
  for (SlotWriter& writer : writers_) writer.prepare(count);
  const std::size_t size = size_of(rules_.front()->dtype) * rules_.size();
  counter_.count(JointPoints(rules_, writers_, clamp_, columns), count, size, totals_);
}

}  // namespace masu::cpu
