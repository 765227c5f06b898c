// SPDX-License-Identifier: Apache-2.0
#include "histogram/partitioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace masu {

using histogram_plan::KernelKind;
using histogram_plan::Plan;

namespace {

constexpr std::uint64_t alignment = 16;  // of the three arrays in the temporary memory

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// A view of memory for the partitioner, wherever it comes from.
Buffer<std::byte> memory_of(const Device& device, const BufferBase* workspace, std::uint64_t bytes) {
  if (workspace == nullptr) return Buffer<std::byte>(device, bytes);
  if (!(workspace->device() == device) || workspace->size_bytes() < bytes || workspace->memory()->read_only() ||
      workspace->byte_offset() % alignment != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("histogram: workspace must be at least {} writable bytes on {} that begin at a multiple of "
                            "16, got {} on {}",
                            bytes, device.id(), workspace->size_bytes(), workspace->device().id()));
  }
  return Buffer<std::byte>(device, workspace->memory(), workspace->byte_offset(), workspace->size_bytes());
}

}  // namespace

// Sizes (one for each part), begins (one more), and the sorted elements.
std::uint64_t Partitioner::parts_bytes(const Plan& plan) {
  return aligned(plan.parts * sizeof(std::uint32_t)) + aligned((plan.parts + 1) * sizeof(std::uint32_t));
}

std::uint64_t Partitioner::bytes_for(const Plan& plan, std::uint64_t elements) {
  return parts_bytes(plan) + aligned(elements * sizeof(std::uint16_t));
}

std::uint64_t Partitioner::chunk_elements(const Plan& plan, const HistogramOptions& options) {
  constexpr std::uint64_t least = 1 << 15;  // below this, clearing the tables is all that happens
  if (options.workspace == nullptr && options.memory == 0) return histogram_plan::partition_elements;
  const std::uint64_t bytes = options.workspace != nullptr ? options.workspace->size_bytes() : options.memory / 2;
  const std::uint64_t fixed = parts_bytes(plan) + alignment;
  const std::uint64_t most = bytes <= fixed ? 0 : (bytes - fixed) / sizeof(std::uint16_t);
  return std::clamp(most, least, histogram_plan::partition_elements);
}

Partitioner::Partitioner(const Device& device, const DeviceRules& rules, const Plan& plan, std::uint64_t slots,
                         std::uint64_t elements, const BufferBase* workspace)
    : device_(device),
      plan_(plan),
      slots_(slots),
      elements_(elements),
      memory_(memory_of(device, workspace, bytes_for(plan, elements))),
      sizes_(prepare(rules, KernelKind::sizes)),
      scan_(prepare(rules, KernelKind::scan)),
      scatter_{plan, rules.kernel(plan)},
      parts_(prepare(rules, KernelKind::parts)) {}

Partitioner::Launch Partitioner::prepare(const DeviceRules& rules, KernelKind kernel) const {
  const Plan plan = histogram_plan::step(device_.info(), plan_, kernel);
  return {plan, rules.kernel(plan)};
}

void Partitioner::count(Stream& stream, const std::vector<KernelArgument>& input, std::uint64_t elements,
                        const BufferBase& totals, std::vector<Event>& launches) {
  // The kernels get the memory whole and where the three arrays begin in it: views of it are not for every device.
  const std::uint64_t sizes_at = memory_.byte_offset();
  const std::uint64_t begins_at = sizes_at + aligned(plan_.parts * sizeof(std::uint32_t));
  const std::uint64_t sorted_at = sizes_at + parts_bytes(plan_);
  Buffer<std::byte> sizes = memory_.slice(0, aligned(plan_.parts * sizeof(std::uint32_t)));
  const std::array<KernelArgument, 4> temporary{whole(memory_), sizes_at, begins_at, sorted_at};
  const auto launch = [&](const Launch& step, std::uint64_t groups, const std::vector<KernelArgument>& arguments) {
    const NDRange range(groups * step.plan.group, step.plan.group);
    launches.emplace_back(stream.implementation().launch(*step.kernel, range, arguments));
  };
  const auto groups_for = [&](const Launch& step) {
    const std::uint64_t tile = std::uint64_t{step.plan.group} * step.plan.unroll;
    return std::clamp<std::uint64_t>((elements + tile - 1) / tile, 1, step.plan.groups);
  };
  const auto words = [](std::uint64_t count) { return KernelArgument(LocalMemory{count * sizeof(std::uint32_t)}); };

  stream.fill(sizes, std::byte{0});
  std::vector<KernelArgument> arguments = input;
  arguments.insert(arguments.end(), temporary.begin(), temporary.end());
  arguments.push_back(words(sizes_.plan.local_words));
  launch(sizes_, groups_for(sizes_), arguments);
  arguments.assign(temporary.begin(), temporary.end());
  arguments.emplace_back(plan_.parts);
  arguments.push_back(words(scan_.plan.local_words));
  launch(scan_, 1, arguments);
  arguments = input;
  arguments.insert(arguments.end(), temporary.begin(), temporary.end());
  for (const KernelArgument& argument : {KernelArgument(plan_.parts), words(plan_.parts), words(plan_.parts),
                                         words(std::uint64_t{plan_.group} * plan_.unroll), words(plan_.group)}) {
    arguments.push_back(argument);
  }
  launch(scatter_, groups_for(scatter_), arguments);
  arguments.assign(temporary.begin(), temporary.end());
  arguments.emplace_back(plan_.parts);
  arguments.emplace_back(static_cast<std::uint32_t>(slots_));
  arguments.emplace_back(totals);
  arguments.push_back(words(parts_.plan.local_words));
  launch(parts_, groups_for(parts_), arguments);
}

}  // namespace masu
