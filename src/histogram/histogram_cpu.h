// SPDX-License-Identifier: Apache-2.0
// Counting on the CPU. The totals have `slots(rule)` entries for each channel.
#pragma once

#include "histogram/bin_rule.h"

#include <masu/histogram.h>

#include <cstdint>
#include <optional>
#include <span>

namespace masu::cpu {

// Adds the counts of `data` to `totals`. `strategy` is automatic, sequential, global, private_ or lanes; returns what
// was used. `table` slots a channel: 256 (the byte itself) for 8-bit data, otherwise rule.n + extra_slots.
Strategy count(const BinRule& rule, const ArrayView& data, unsigned channels, Strategy strategy,
               std::span<std::uint64_t> totals);

// The range of the finite values.
std::optional<ValueRange> finite_range(const ArrayView& data);

}  // namespace masu::cpu
