// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/device_rules.h"

#include "call/operands.h"

#include <algorithm>
#include <utility>

namespace masu {

std::vector<SlotRule> joint_slot_rules(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules) {
  std::vector<SlotRule> result;
  for (const auto& rule : rules) result.emplace_back(*rule, device.info(), true);
  // One type of positions serves all columns.
  if (!histogram_plan::positions_in_double(result)) return result;
  result.clear();
  for (const auto& rule : rules) result.emplace_back(*rule, device.info(), true, true);
  return result;
}

std::uint64_t joint_slots(std::span<const SlotRule> columns) noexcept {
  constexpr std::uint64_t extra = 2;
  std::uint64_t bins = 1;
  for (const SlotRule& column : columns) bins *= column.bins;
  return bins + extra;
}

double take_seconds(std::vector<Event>& launches) try {
  double seconds = 0;
  for (const Event& event : std::exchange(launches, {})) seconds += event.seconds();
  return seconds;
} catch (const Error& error) {
  if (error.code() != ErrorCode::unsupported) throw;
  return 0;
}

DeviceRules::DeviceRules(const Device& device, std::vector<SlotRule> columns, const histogram_plan::Plan& plan,
                         bool joint, const TableUpload& upload)
    : device_(device), columns_(std::move(columns)), joint_(joint) {
  const bool in_double = histogram_plan::positions_in_double(columns_);
  tables_.reserve(2 * columns_.size());
  const auto uploaded = [&](std::span<const std::byte> bytes) -> const BufferBase& {
    if (bytes.empty() && upload.filler != nullptr) return *upload.filler;
    Buffer<std::byte>& table = tables_.emplace_back(device_, std::max<std::size_t>(bytes.size(), 16));
    if (bytes.empty()) return table;
    if (upload.stream != nullptr) upload.stream->write(table, bytes);
    else table.write(bytes);
    return table;
  };
  for (SlotRule& column : columns_) {
    column.make_guide(plan.cells, plan.guide_words);
    const BufferBase& thresholds = uploaded(column.thresholds);
    const BufferBase& guide = uploaded(std::as_bytes(std::span(column.guide)));
    arguments_.push_back(column.arguments(thresholds, guide, in_double, device_.info().fp64));
  }
}

call::Kernels DeviceRules::kernels(const histogram_plan::Plan& plan) const {
  return {device_, plan.files(), plan.defines(device_.info(), columns_, joint_), plan.group};
}

call::Arguments DeviceRules::input(std::span<const call::At> columns, std::uint64_t first, std::uint64_t count,
                                   std::uint64_t slots) const {
  const auto from = [&](std::size_t d) {
    return call::At{columns[d].buffer, columns[d].offset + first * size_of(columns_[d].element)};
  };
  constexpr std::uint64_t one_row = 0;
  if (!joint_) {
    return call::Arguments(from(0), count, one_row, one_row, static_cast<std::uint32_t>(slots), arguments_[0]);
  }
  call::Arguments result(count, static_cast<std::uint32_t>(slots));
  for (std::size_t d = 0; d < columns_.size(); ++d) {
    result.add(from(d));
    result.add(arguments_[d]);
  }
  return result;
}

call::Arguments DeviceRules::local(const histogram_plan::Plan& plan) const {
  if (plan.local_words == 0) return call::Arguments();
  const auto table = call::local<std::uint32_t>(plan.local_words);
  if (!plan.guide_local) return call::Arguments(table);
  const SlotRule& rule = columns_.front();
  // The thresholds may be of 8 bytes each; local memory arguments follow each other at multiples of 16.
  return call::Arguments(table, call::local<std::uint32_t>(rule.guide.size()),
                         LocalMemory{std::max<std::size_t>(rule.thresholds.size(), 8)},
                         static_cast<std::uint32_t>(rule.guide.size()), rule.reachable);
}

using histogram_plan::KernelKind;
using histogram_plan::Plan;

namespace {

using histogram_plan::block_elements;

// Of a block: its elements, a word that tells what it is, and its number in the order of the parts.
constexpr std::uint64_t block_bytes = block_elements * sizeof(std::uint16_t) + 2 * sizeof(std::uint32_t);

std::uint64_t tile_of(const Plan& plan) {
  return std::uint64_t{plan.group} * plan.unroll;
}

std::uint64_t full_blocks(std::uint64_t elements) {
  return (elements + block_elements - 1) / block_elements;
}

// Two counters of blocks for each part.
std::uint64_t counter_bytes(const Plan& plan) {
  return call::aligned(2 * plan.parts * sizeof(std::uint32_t));
}

std::uint64_t tiles_of(const Plan& plan, std::uint64_t elements) {
  return (elements + tile_of(plan) - 1) / tile_of(plan);
}

}  // namespace

// The counters, and where parts begin.
std::uint64_t Partitioner::parts_bytes(const Plan& plan) {
  return counter_bytes(plan) + call::aligned((plan.parts + 1) * sizeof(std::uint32_t));
}

std::uint64_t Partitioner::groups_for(const Plan& plan, std::uint64_t elements) {
  // Each has a block of each part that is not full: of those there are not many times as many as of the others.
  constexpr std::uint64_t times = 4;
  const std::uint64_t open = std::min(times * full_blocks(elements), histogram_plan::most_open_blocks);
  return std::clamp<std::uint64_t>(std::min(tiles_of(plan, elements), open / plan.parts), 1, plan.groups);
}

std::uint64_t Partitioner::blocks_for(const Plan& plan, std::uint64_t elements) {
  const std::uint64_t whole = elements / tile_of(plan);
  return whole * full_blocks(tile_of(plan)) + full_blocks(elements - whole * tile_of(plan)) +
         groups_for(plan, elements) * plan.parts;
}

std::uint64_t Partitioner::bytes_for(const Plan& plan, std::uint64_t elements) {
  return call::aligned(parts_bytes(plan) + blocks_for(plan, elements) * block_bytes);
}

std::uint64_t Partitioner::elements_in(const Plan& plan, std::uint64_t bytes) {
  constexpr std::uint64_t least = 1 << 15;  // below this, clearing the tables is all that happens
  constexpr std::uint64_t most = histogram_plan::partition_elements;
  const std::uint64_t blocks = (bytes - std::min(bytes, parts_bytes(plan))) / block_bytes;
  std::uint64_t elements = 0;
  for (std::uint64_t more = most; more >= block_elements; more /= 2) {
    if (blocks_for(plan, elements + more) <= blocks) elements += more;
  }
  return std::clamp(elements, least, most);
}

std::uint64_t Partitioner::chunk_elements(const Plan& plan, const HistogramOptions& options) {
  if (options.workspace == nullptr && options.memory == 0) return histogram_plan::partition_elements;
  return elements_in(plan, options.workspace != nullptr ? options.workspace->size_bytes() : options.memory / 2);
}

Partitioner::Partitioner(const Device& device, const DeviceRules& rules, const Plan& plan, std::uint64_t slots)
    : plan_(plan),
      slots_(slots),
      scatter_{plan, rules.kernels(plan)},
      order_(of_step(device, rules, plan, KernelKind::order)),
      parts_(of_step(device, rules, plan, KernelKind::parts)) {}

Partitioner::Launch Partitioner::of_step(const Device& device, const DeviceRules& rules, const Plan& plan,
                                         KernelKind kernel) {
  const Plan step = histogram_plan::step(device.info(), plan, kernel);
  return {step, rules.kernels(step)};
}

void Partitioner::count(Stream& stream, const BufferBase& memory, const call::Arguments& input, std::uint64_t elements,
                        const BufferBase& totals, std::vector<Event>& launches) {
  // The kernels get the memory whole and where the arrays begin in it: views of it are not for every device.
  const std::uint64_t counters_at = memory.byte_offset();
  const std::uint64_t blocks = blocks_for(plan_, elements);
  const std::uint64_t sorted_at = counters_at + parts_bytes(plan_);
  const std::uint64_t owners_at = sorted_at + blocks * block_elements * sizeof(std::uint16_t);
  const call::Arguments temporary(memory, counters_at + counter_bytes(plan_), owners_at,
                                  owners_at + blocks * sizeof(std::uint32_t), sorted_at, plan_.parts);
  const auto launch = [&](Launch& step, std::uint64_t groups, const auto&... arguments) {
    launches.push_back(step.kernels.launch(stream, step.plan.kernel_name(), groups, arguments...));
  };
  const auto words = [](std::uint64_t count) { return call::local<std::uint32_t>(count); };

  call::clear(stream, memory, 0, counter_bytes(plan_));
  launch(scatter_, groups_for(plan_, elements), input, temporary, words(std::uint64_t{1} + plan_.parts),
         words(std::uint64_t{4} * plan_.parts), words(tile_of(plan_)), words(plan_.group));
  launch(order_, std::clamp<std::uint64_t>(blocks / plan_.group, 1, plan_.groups), temporary,
         static_cast<std::uint32_t>(blocks), words(plan_.parts), words(plan_.parts), words(order_.plan.local_words));
  launch(parts_, std::clamp<std::uint64_t>(elements / tile_of(plan_), 1, parts_.plan.groups), temporary,
         static_cast<std::uint32_t>(slots_), call::memory_of(totals), totals.byte_offset() / sizeof(std::uint64_t),
         words(parts_.plan.local_words));
}

}  // namespace masu
