// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/device_rules.h"

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

}  // namespace masu
