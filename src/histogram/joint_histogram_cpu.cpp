// SPDX-License-Identifier: Apache-2.0
#include "histogram/joint_histogram_cpu.h"

#include "histogram/histogram_simd_guide.h"

#include <algorithm>
#include <cstring>

namespace masu::cpu {

// The cells of points: each column's slots, joined.
class JointCounter::Points final : public SlotStream {
 public:
  Points(const JointCounter& owner, std::span<const Column> columns) : owner_(owner), columns_(columns) {
    std::uint64_t stride = owner.totals_.size() - 2;
    for (const auto& rule : owner.rules_) {
      stride /= rule->n;
      loops_.push_back({.n = static_cast<std::uint32_t>(rule->n),
                        .stride = static_cast<std::uint32_t>(stride),
                        .clamp = owner.clamp_});
    }
  }

  void write(std::uint64_t first, std::size_t count, SlotHistories& histories, std::uint32_t* cells) const override {
    std::memset(cells, 0, count * sizeof(std::uint32_t));
    alignas(64) std::uint32_t slots[block_elements];
    alignas(64) std::byte gathered[block_elements * sizeof(std::uint64_t)];
    for (std::size_t d = 0; d < columns_.size(); ++d) {
      const Column& column = columns_[d];
      const std::size_t size = size_of(owner_.rules_[d]->dtype);
      const std::byte* x = column.data + first * column.stride;
      if (column.stride != size) {
        for (std::size_t i = 0; i < count; ++i) std::memcpy(gathered + i * size, x + i * column.stride, size);
        x = gathered;
      } else {
        prefetch_next(x, count * size);
      }
      owner_.writers_[d].write(x, count, histories[d], slots);
      join_(slots, count, loops_[d], cells);
    }
    finish_(count, static_cast<std::uint32_t>(owner_.totals_.size() - 2), cells);
  }

 private:
  const JointCounter& owner_;
  std::span<const Column> columns_;
  std::vector<JoinLoop> loops_;
  JoinSlots join_ = join_slots();
  FinishCells finish_ = finish_cells();
};

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
  counter_.count(Points(*this, columns), count, size, totals_);
}

}  // namespace masu::cpu
