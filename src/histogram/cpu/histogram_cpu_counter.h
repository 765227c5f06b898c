// SPDX-License-Identifier: Apache-2.0
// Counts sources of slots with one strategy.
#pragma once

#include "histogram/cpu/histogram_cpu_parts.h"
#include "histogram/cpu/histogram_cpu_tables.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace masu::cpu {

class SlotCounter {
 public:
  // Throws unsupported where the tables of the strategy do not fit.
  SlotCounter(const TableShape& shape, Strategy asked);
  // Adds a source's counts; `size` is the size of an element in bytes.
  void count(const SlotSource& source, std::uint64_t elements, std::size_t size, std::span<std::uint64_t> totals);
  [[nodiscard]] const TableShape& shape() const noexcept { return shape_; }
  [[nodiscard]] Strategy strategy() const noexcept { return strategy_; }

 private:
  TableShape shape_;
  Strategy strategy_;
  std::optional<PartCounter> parts_;
};

}  // namespace masu::cpu
