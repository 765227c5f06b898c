// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/weighted_kernels.h"

#include "call/operands.h"

#include <algorithm>
#include <vector>

namespace masu {

namespace {

std::vector<SlotRule> weighted_slot_rules(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules) {
  if (rules.size() > 1) return joint_slot_rules(device, rules);
  return {SlotRule(*rules.front(), device.info())};
}

// With values outside in the outer bins, where the kernels do not know the bins.
std::vector<std::uint32_t> weighted_slots_by_value(std::span<const std::shared_ptr<const BinRule>> rules,
                                                   std::uint64_t counted, bool clamp) {
  if (rules.size() > 1) return {};
  const BinRule& rule = *rules.front();
  std::vector<std::uint32_t> slot_of = histogram_plan::slots_by_value(rule, counted);
  if (!clamp) return slot_of;
  for (std::uint32_t& slot : slot_of) {
    if (slot == rule.n + slot_below) slot = 0;
    if (slot == rule.n + slot_above) slot = static_cast<std::uint32_t>(rule.n - 1);
  }
  return slot_of;
}

// Where the list of each slot of the rule begins, one more, and the lists.
std::vector<std::uint32_t> lists_of(std::span<const std::uint32_t> slot_of, std::uint64_t rule_slots) {
  std::vector<std::uint32_t> lists(rule_slots + 1 + slot_of.size());
  for (const std::uint32_t slot : slot_of) ++lists[slot + 1];
  for (std::uint64_t slot = 0; slot < rule_slots; ++slot) lists[slot + 1] += lists[slot];
  std::vector<std::uint32_t> next(lists.begin(), lists.begin() + static_cast<std::ptrdiff_t>(rule_slots));
  for (std::uint32_t value = 0; value < slot_of.size(); ++value) {
    lists[rule_slots + 1 + next[slot_of[value]]++] = value;
  }
  return lists;
}

}  // namespace

WeightedKernels::WeightedKernels(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules,
                                 std::span<const WeightFormat> formats, const WeightedOptions& options,
                                 std::uint64_t row_elements, const TableUpload& upload,
                                 const std::optional<weighted_plan::Trial>& trial)
    : WeightedKernels(device, rules, weighted_slot_rules(device, rules), formats, options, row_elements, upload,
                      trial) {}

WeightedKernels::WeightedKernels(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules,
                                 std::vector<SlotRule> columns, std::span<const WeightFormat> formats,
                                 const WeightedOptions& options, std::uint64_t row_elements, const TableUpload& upload,
                                 const std::optional<weighted_plan::Trial>& trial)
    : device_(device),
      options_(options),
      row_elements_(row_elements),
      slots_(columns.size() == 1 ? columns.front().slots : joint_slots(columns)),
      rule_slots_(rules.size() > 1 ? slots_ : rules.front()->n + extra_slots),
      rules_(device, columns, plan_of(columns, formats.front(), {}).base, rules.size() > 1, upload),
      lists_(device, 0) {
  slot_of_ = weighted_slots_by_value(rules, slots_, options.outside == Outside::clamp);
  if (!slot_of_.empty()) lists_ = device.upload(lists_of(slot_of_, rule_slots_));
  std::uint64_t first = 0;
  for (const WeightFormat& format : formats) {
    const weighted_plan::Plan plan = plan_of(columns, format, trial);
    const auto kernels_of = [&](const weighted_plan::Plan& of) {
      return call::Kernels(device, of.base.files(), of.defines(device.info(), rules_.columns(), rules.size() > 1),
                           of.base.group);
    };
    sums_.push_back({plan, kernels_of(plan), std::nullopt,
                     call::Kernels(device, weighted_plan::rounding_files,
                                   weighted_plan::rounding_defines(device.info(), format, !slot_of_.empty()),
                                   weighted_plan::rounding_group(device.info())),
                     Buffer<std::uint32_t>(device, 1), first});
    sums_.back().description.fill(plan.tables.wide.description(0));
    if (plan.tables.narrow) sums_.back().window = kernels_of(plan.window());
    first += slots_ * options.rows * (format.digits() + 1);
  }
}

weighted_plan::Plan WeightedKernels::plan_of(std::span<const SlotRule> columns, const WeightFormat& format,
                                             const std::optional<weighted_plan::Trial>& trial) const {
  weighted_plan::Plan plan =
      weighted_plan::make(device_.info(), columns, slots_, format, options_.outside == Outside::clamp);
  if (trial) {
    plan.tables = trial->tables;
    plan.base.group = trial->group;
    plan.base.groups = trial->groups;
    plan.base.unroll = trial->unroll;
  }
  return plan;
}

std::uint64_t WeightedKernels::totals_bytes() const noexcept {
  const Sums& last = sums_.back();
  return (last.first + slots_ * options_.rows * (last.plan.format.digits() + 1)) * sizeof(std::uint64_t);
}

bool WeightedKernels::has_window() const noexcept {
  return sums_.front().window.has_value() || sums_.back().window.has_value();
}

std::uint64_t WeightedKernels::temporary_bytes(std::uint64_t /*count*/) const {
  return has_window() ? weighted_plan::descriptions * sizeof(std::uint32_t) : 0;
}

void WeightedKernels::launch(Stream& stream, const CountedData& data, std::uint64_t first, std::uint64_t count,
                             std::uint64_t length, std::uint64_t row, const BufferBase& totals,
                             const BufferBase* temporary, std::vector<Event>& launches) {
  // A launch of another stream may still read the description of before.
  const std::uint64_t description = has_window() ? described_++ % weighted_plan::descriptions : 0;
  for (Sums& each : sums_) {
    const weighted_plan::Plan& plan = each.plan;
    const call::At& by = data.arrays.back();
    const call::At weights{by.buffer, by.offset + first * size_of(plan.format.weights)};
    const BufferBase& layouts = each.window ? *temporary : each.description;
    const std::uint64_t layout = layouts.byte_offset() / sizeof(std::uint32_t) + (each.window ? description : 0);
    if (each.window) {
      launches.push_back(each.window->launch(stream, plan.window().base.kernel_name(), 1, weights, count,
                                             plan.tables.narrow->description(0), plan.tables.wide.description(0),
                                             call::memory_of(layouts), layout, call::local<std::uint32_t>(2)));
    }
    const std::uint64_t row_count = count / length;
    const std::uint32_t parts = plan.parts_for(length, row_count);
    const std::uint64_t groups = std::min<std::uint64_t>(row_count * parts, plan.base.groups);
    launches.push_back(each.kernels.launch(stream, plan.base.kernel_name(), groups,
                                           rules_.input(data.arrays, first, count, slots_), weights, length, parts,
                                           row * slots_, call::memory_of(layouts), layout, call::memory_of(totals),
                                           totals.byte_offset() / sizeof(std::uint64_t) + each.first,
                                           call::local<std::uint32_t>(plan.local_words(slots_))));
  }
}

// Parts of rows, and whole rows together.
void WeightedKernels::count(Stream& stream, const CountedData& data, const BufferBase& totals,
                            const BufferBase* temporary, std::vector<Event>& launches) {
  for (std::uint64_t first = 0; first < data.count;) {
    const std::uint64_t row = (data.position + first) / row_elements_;
    const std::uint64_t in_row = (data.position + first) % row_elements_;
    const std::uint64_t whole_rows = in_row == 0 ? (data.count - first) / row_elements_ : 0;
    // A row is shared by as many groups as there are, but for short ones.
    const std::uint64_t most = weighted_plan::group_elements;
    std::uint64_t taken = std::min({row_elements_ - in_row, data.count - first, most});
    std::uint64_t length = taken;
    if (whole_rows > 1 && row_elements_ <= most) {
      taken = whole_rows * row_elements_;
      length = row_elements_;
    }
    launch(stream, data, first, taken, length, row, totals, temporary, launches);
    first += taken;
  }
}

void WeightedKernels::collect(std::span<const std::uint64_t> totals, std::span<WeightSums> sums) const {
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const std::size_t words = sums[k].format().digits() + 1;
    for (std::uint64_t row = 0; row < options_.rows; ++row) {
      for (std::uint64_t slot = 0; slot < slots_; ++slot) {
        sums[k].add_digits(row * rule_slots_ + (slot_of_.empty() ? slot : slot_of_[slot]),
                           totals.data() + sums_[k].first + (row * slots_ + slot) * words);
      }
    }
  }
}

void WeightedKernels::round(Stream& stream, std::size_t k, const BufferBase& totals, const Rounded& to) {
  Sums& from = sums_[k];
  const std::uint64_t all = rule_slots_ * options_.rows;
  const std::uint64_t groups = std::min<std::uint64_t>(all, weighted_plan::rounding_groups(device_.info()));
  // What is not wanted gets the place of the sums, and is not written.
  const BufferBase& integers = to.integers != nullptr ? *to.integers : to.sums;
  const BufferBase& status = to.status != nullptr ? *to.status : to.sums;
  const BufferBase& lists = slot_of_.empty() ? static_cast<const BufferBase&>(from.description) : lists_;
  const std::uint32_t wanted = (to.integers != nullptr ? 1 : 0) | (to.status != nullptr ? 2 : 0);
  from.rounding.launch(stream, "weighted_round", groups, call::memory_of(totals),
                       totals.byte_offset() / sizeof(std::uint64_t) + from.first, slots_, rule_slots_,
                       std::uint64_t{options_.rows}, KernelArgument(lists), to.sums, integers, status, wanted,
                       call::local<std::uint64_t>(weighted_plan::rounding_words(from.plan.format)),
                       call::local<std::uint32_t>(weighted_plan::rounding_words(from.plan.format)),
                       call::local<std::uint32_t>(2 * (from.plan.format.digits() + 1)));
}

}  // namespace masu
