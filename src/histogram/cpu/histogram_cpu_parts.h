// SPDX-License-Identifier: Apache-2.0
// Strategy::partitioned on the CPU.
#pragma once

#include "histogram/cpu/histogram_cpu_tables.h"

#include <cstdint>
#include <memory>
#include <span>

namespace masu::cpu {

// Counts sources of slots: values are first sorted into parts of the counters that the second-level cache holds, then
// the parts are counted one by one. Keeps its memory, under 48 MiB a thread, from one source to the next.
class PartCounter {
 public:
  explicit PartCounter(const TableShape& shape);
  PartCounter(PartCounter&&) noexcept;
  PartCounter& operator=(PartCounter&&) noexcept;
  ~PartCounter();
  void count(const SlotSource& source, std::uint64_t elements, std::span<std::uint64_t> totals);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace masu::cpu
