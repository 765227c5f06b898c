// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce_device.h"

#include "call/operands.h"

namespace masu {

DeviceReduce::DeviceReduce(const BufferBase& data, const reduce_plan::Plan& plan, const BufferBase* workspace,
                           const ReduceTargets& targets)
    : plan_(plan),
      memory_(call::take_workspace("reduce", workspace, data.device(), plan.workspace(),
                                   {&data, targets.min, targets.max, targets.min_indices, targets.max_indices,
                                    targets.nonzero, targets.all, targets.any})),
      parts_(memory_.slice(0, plan.part_bytes())),
      results_(memory_.slice(plan.part_bytes(), plan.result_bytes())),
      kernels_(data.device(), plan.files(), plan.defines(), plan.group) {}

template <class... T>
void DeviceReduce::launch(Stream& stream, std::string_view name, std::uint64_t groups, const T&... arguments) {
  const LocalMemory words = call::local<std::uint64_t>(plan_.group);
  launches_.push_back(plan_.counts() ? kernels_.launch(stream, name, groups, arguments..., words)
                                     : kernels_.launch(stream, name, groups, arguments..., words, words));
}

void DeviceReduce::start(Stream& stream, const BufferBase& data, std::uint64_t data_at) {
  launches_.clear();
  const call::At from{data, data_at};
  const std::uint32_t members = plan_.members;
  if (members == 0) {
    launch(stream, plan_.counts() ? "count_rows" : "extreme_rows", plan_.groups, from,
           static_cast<std::uint32_t>(plan_.count), plan_.rows, std::uint32_t{plan_.width}, results_);
  } else if (plan_.counts()) {
    launch(stream, "count_parts", plan_.groups, from, plan_.count, members, parts_);
    launch(stream, "count_totals", plan_.rows, members, parts_, results_);
  } else {
    launch(stream, "extreme_parts", plan_.groups, from, plan_.count, plan_.rows, members, parts_);
    launch(stream, "extreme_places", plan_.rows * plan_.extremes(), from, plan_.count, plan_.rows, members, parts_,
           results_);
  }
}

void DeviceReduce::put(Stream& stream, const ReduceTargets& targets) {
  std::uint32_t wanted = 0;
  call::Arguments places;
  // What is not wanted is some memory that no one writes.
  const auto add = [&](const BufferBase* target, std::uint32_t bit) {
    if (target != nullptr) wanted |= bit;
    places.add(target != nullptr ? *target : results_);
  };
  const auto write = [&](std::string_view kernel, const auto& what) {
    launches_.push_back(
        kernels_.launch(stream, kernel, plan_.target_groups(), results_, plan_.rows, what, wanted, places));
  };
  if (plan_.counts()) {
    add(targets.nonzero, reduce_plan::wants_numbers);
    add(targets.all, reduce_plan::wants_all);
    add(targets.any, reduce_plan::wants_any);
    return write("count_targets", plan_.count);
  }
  for (std::uint32_t largest = 0; largest < 2; ++largest) {
    if (!wants(plan_.op, static_cast<int>(largest))) continue;
    wanted = 0;
    places = call::Arguments();
    add(largest == 0 ? targets.min : targets.max, reduce_plan::wants_values);
    add(largest == 0 ? targets.min_indices : targets.max_indices, reduce_plan::wants_indices);
    write("extreme_targets", largest);
  }
}

std::vector<Reduced> DeviceReduce::fetch(Stream& stream) const {
  std::vector<std::uint64_t> words(results_.size() / sizeof(std::uint64_t));
  call::fetch(stream, results_, 0, words.data(), words.size() * sizeof(std::uint64_t));
  stream.finish();
  std::vector<Reduced> found(plan_.rows);
  if (plan_.counts()) {
    for (std::uint64_t row = 0; row < plan_.rows; ++row) found[row].nonzero = words[row];
    return found;
  }
  std::size_t at = 0;
  for (int which = 0; which < 2; ++which) {
    if (!wants(plan_.op, which)) continue;
    const ExtremeRule rule{which == 1, plan_.skip};
    for (std::uint64_t row = 0; row < plan_.rows; ++row, at += 2) {
      found[row].extremes[which] = {rank_of_bits(plan_.dtype, rule, words[at + 1]), words[at], words[at + 1]};
    }
  }
  return found;
}

double DeviceReduce::seconds() const {
  return call::seconds_of(launches_);
}

}  // namespace masu
