// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/partitioner.h"

#include "call/operands.h"

#include <algorithm>

namespace masu {

using histogram_plan::KernelKind;
using histogram_plan::Plan;

// Sizes (one for each part), begins (one more), and the sorted elements.
std::uint64_t Partitioner::parts_bytes(const Plan& plan) {
  return call::aligned(plan.parts * sizeof(std::uint32_t)) + call::aligned((plan.parts + 1) * sizeof(std::uint32_t));
}

std::uint64_t Partitioner::bytes_for(const Plan& plan, std::uint64_t elements) {
  return parts_bytes(plan) + call::aligned(elements * sizeof(std::uint16_t));
}

std::uint64_t Partitioner::elements_in(const Plan& plan, std::uint64_t bytes) {
  constexpr std::uint64_t least = 1 << 15;  // below this, clearing the tables is all that happens
  const std::uint64_t room = bytes - std::min(bytes, parts_bytes(plan));
  const std::uint64_t most = room / call::workspace_alignment * call::workspace_alignment / sizeof(std::uint16_t);
  return std::clamp(most, least, histogram_plan::partition_elements);
}

std::uint64_t Partitioner::chunk_elements(const Plan& plan, const HistogramOptions& options) {
  if (options.workspace == nullptr && options.memory == 0) return histogram_plan::partition_elements;
  return elements_in(plan, options.workspace != nullptr ? options.workspace->size_bytes() : options.memory / 2);
}

Partitioner::Partitioner(const Device& device, const DeviceRules& rules, const Plan& plan, std::uint64_t slots)
    : plan_(plan),
      slots_(slots),
      sizes_(of_step(device, rules, plan, KernelKind::sizes)),
      scan_(of_step(device, rules, plan, KernelKind::scan)),
      scatter_{plan, rules.kernels(plan)},
      parts_(of_step(device, rules, plan, KernelKind::parts)) {}

Partitioner::Launch Partitioner::of_step(const Device& device, const DeviceRules& rules, const Plan& plan,
                                         KernelKind kernel) {
  const Plan step = histogram_plan::step(device.info(), plan, kernel);
  return {step, rules.kernels(step)};
}

void Partitioner::count(Stream& stream, const BufferBase& memory, const call::Arguments& input, std::uint64_t elements,
                        const BufferBase& totals, std::vector<Event>& launches) {
  // The kernels get the memory whole and where the three arrays begin in it: views of it are not for every device.
  const std::uint64_t sizes_at = memory.byte_offset();
  const std::uint64_t size_bytes = call::aligned(plan_.parts * sizeof(std::uint32_t));
  const call::Arguments temporary(memory, sizes_at + size_bytes, sizes_at + parts_bytes(plan_));
  const auto launch = [&](Launch& step, std::uint64_t groups, const auto&... arguments) {
    launches.push_back(step.kernels.launch(stream, step.plan.kernel_name(), groups, arguments...));
  };
  const auto groups_for = [&](const Launch& step) {
    const std::uint64_t tile = std::uint64_t{step.plan.group} * step.plan.unroll;
    return std::clamp<std::uint64_t>((elements + tile - 1) / tile, 1, step.plan.groups);
  };
  const auto words = [](std::uint64_t count) { return call::local<std::uint32_t>(count); };

  call::clear(stream, memory, 0, size_bytes);
  launch(sizes_, groups_for(sizes_), input, temporary, words(sizes_.plan.local_words));
  launch(scan_, 1, temporary, plan_.parts, words(scan_.plan.local_words));
  launch(scatter_, groups_for(scatter_), input, temporary, plan_.parts, words(plan_.parts), words(plan_.parts),
         words(std::uint64_t{plan_.group} * plan_.unroll), words(plan_.group));
  launch(parts_, groups_for(parts_), temporary, plan_.parts, static_cast<std::uint32_t>(slots_),
         call::memory_of(totals), totals.byte_offset() / sizeof(std::uint64_t), words(parts_.plan.local_words));
}

}  // namespace masu
