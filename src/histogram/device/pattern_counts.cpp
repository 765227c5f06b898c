// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/pattern_counts.h"

#include "call/launcher.h"
#include "call/operands.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/device/slot_kernels.h"
#include "runtime/backend.h"

#include <utility>

namespace masu {

namespace {

SlotRule pattern_rule(const DeviceInfo& device, Dtype dtype) {
  const Dtype bits = size_of(dtype) == 1 ? Dtype::u8 : Dtype::u16;
  return {BinRule(Bins::integers(PatternCounts::patterns_of(dtype)), bits, false), device};
}

}  // namespace

PatternCounts::PatternCounts(const DeviceInfo& device, Dtype dtype, std::uint64_t count)
    : count_(count),
      rule_(pattern_rule(device, dtype)),
      plan_(histogram_plan::make(device, rule_, 1, Strategy::automatic)),
      temporary_(call::aligned(rule_.slots * sizeof(std::uint64_t))),
      bytes_(temporary_ + CountingKernels::temporary_bytes(plan_, count, {})) {}

void PatternCounts::count(Stream& stream, const BufferBase& data, const Buffer<std::byte>& memory,
                          std::vector<Event>& launches) {
  const Buffer<std::byte> totals = memory.slice(0, temporary_);
  const Buffer<std::byte> temporary = memory.slice(temporary_, bytes_ - temporary_);
  launches.push_back(call::clear(stream, totals, 0, totals.size_bytes()));
  // These bins have no tables.
  const Buffer<std::byte> filler(memory.device(), memory.memory(), 0, memory.memory()->bytes());
  const call::At at{data, data.byte_offset()};
  CountingKernels(memory.device(), std::move(rule_), plan_, {.filler = &filler})
      .count(stream, {{&at, 1}, count_}, totals, &temporary, launches);
}

}  // namespace masu
