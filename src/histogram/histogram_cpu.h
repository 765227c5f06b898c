// SPDX-License-Identifier: Apache-2.0
// Counting on the CPU.
#pragma once

#include "histogram/bin_rule.h"
#include "histogram/histogram_cpu_streams.h"

#include <masu/histogram.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace masu::cpu {

// Slots of one channel in the totals: 256 (the byte itself) for 8-bit data, otherwise rule.n + extra_slots.
std::uint64_t slots_of(const BinRule& rule) noexcept;

// Counts data that comes in pieces; keeps the tables that finding slots needs.
class Counter {
 public:
  // Throws unsupported where the tables of `strategy` do not fit.
  Counter(std::shared_ptr<const BinRule> rule, unsigned channels, Strategy strategy);
  // Adds the counts of `data` to `totals`, slots_of(rule) entries for each channel.
  void count(const ArrayView& data, std::span<std::uint64_t> totals);
  [[nodiscard]] Strategy strategy() const noexcept { return counter_.strategy(); }

 private:
  std::shared_ptr<const BinRule> rule_;
  StreamCounter counter_;
  SlotWriter writer_;
};

// The same for data that comes in one piece; returns the strategy.
Strategy count(const BinRule& rule, const ArrayView& data, unsigned channels, Strategy strategy,
               std::span<std::uint64_t> totals);

// The range of the finite values.
std::optional<ValueRange> finite_range(const ArrayView& data);

}  // namespace masu::cpu
