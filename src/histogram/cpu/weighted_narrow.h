// SPDX-License-Identifier: Apache-2.0
// Totals of float weights on the CPU in narrow sums: rounding errors are added up beside a sum, and where a bound on
// what is lost leaves the rounding open, a wide sum of that bin's weights decides. Memory and time go by the bins that
// are touched, but for the totals themselves.
#pragma once

#include "histogram/cpu/histogram_cpu.h"
#include "histogram/cpu/histogram_cpu_counter.h"
#include "histogram/cpu/histogram_cpu_slots.h"

#include <masu/dtype.h>

#include <cstdint>
#include <span>

namespace masu::cpu {

// Where the weights of a slot go: those in front of the bins and behind them to the first and the last one.
struct NarrowSlots {
  std::uint64_t slots;
  std::uint64_t bins;
  bool clamp;
};
// Writes the exact sum of each slot's weights, rounded once, to `totals`, which are zeros.
void add_narrow(const SlotSource& source, const NarrowSlots& where, const ArrayView& weights, std::span<double> totals);

}  // namespace masu::cpu
