// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce_device.h"

#include "call/operands.h"

#include <cstring>

namespace masu {

DeviceReduce::DeviceReduce(const BufferBase& data, const reduce_plan::Plan& plan, const BufferBase* workspace,
                           const ReduceTargets& targets)
    : plan_(plan),
      memory_(call::take_workspace("reduce", workspace, data.device(), plan.workspace(),
                                   {&data, targets.min, targets.max, targets.min_indices, targets.max_indices,
                                    targets.nonzero, targets.all, targets.any})),
      targets_(targets),
      for_host_(targets.min == nullptr && targets.max == nullptr && targets.min_indices == nullptr &&
                targets.max_indices == nullptr && targets.nonzero == nullptr && targets.all == nullptr &&
                targets.any == nullptr),
      kernels_(data.device(), plan.files(), plan.defines(), plan.group) {}

Buffer<std::byte> DeviceReduce::numbers(int which) const {
  const bool second = which == 1 && wants(plan_.op, 0);
  const std::uint64_t first = plan_.part_bytes() + plan_.left_bytes();
  return memory_.slice(first + (second ? plan_.number_bytes() + plan_.value_bytes() : 0), plan_.number_bytes());
}

Buffer<std::byte> DeviceReduce::values(int which) const {
  const bool second = which == 1 && wants(plan_.op, 0);
  const std::uint64_t first = plan_.part_bytes() + plan_.left_bytes() + plan_.number_bytes();
  return memory_.slice(first + (second ? plan_.number_bytes() + plan_.value_bytes() : 0), plan_.value_bytes());
}

// What is wanted, then the memory for each; what is not wanted is some memory that no one writes.
call::Arguments DeviceReduce::targets() const {
  std::uint32_t wanted = 0;
  call::Arguments memory;
  const auto add = [&](const BufferBase* target, std::uint32_t bit) {
    if (target != nullptr) wanted |= bit;
    memory.add(target != nullptr ? *target : memory_);
  };
  if (plan_.counts() && for_host_) {
    const Buffer<std::byte> found = numbers(0);
    add(&found, reduce_plan::wants_numbers);
    add(nullptr, 0);
    add(nullptr, 0);
  } else if (plan_.counts()) {
    add(targets_.nonzero, reduce_plan::wants_numbers);
    add(targets_.all, reduce_plan::wants_all);
    add(targets_.any, reduce_plan::wants_any);
  }
  for (int which = 0; which < 2 && !plan_.counts(); ++which) {
    const auto bit = [&](std::uint32_t kind) { return kind << (which == 1 ? reduce_plan::wants_bits : 0); };
    if (for_host_ && wants(plan_.op, which)) {
      const Buffer<std::byte> elements = values(which);
      const Buffer<std::byte> places = numbers(which);
      add(&elements, bit(reduce_plan::wants_values));
      add(&places, bit(reduce_plan::wants_places));
    } else {
      add(which == 0 ? targets_.min : targets_.max, bit(reduce_plan::wants_values));
      add(which == 0 ? targets_.min_indices : targets_.max_indices, bit(reduce_plan::wants_indices));
    }
  }
  call::Arguments all(wanted);
  all.add(memory);
  return all;
}

void DeviceReduce::start(Stream& stream, const BufferBase& data, std::uint64_t data_at) {
  const call::At from{data, data_at};
  const LocalMemory words = call::local<std::uint64_t>(plan_.group);
  if (plan_.members == 0) {
    launch_ = kernels_.launch(stream, plan_.counts() ? "count_rows" : "extreme_rows", plan_.groups, from,
                              static_cast<std::uint32_t>(plan_.count), plan_.rows, std::uint32_t{plan_.width},
                              targets(), words);
    return;
  }
  const call::At left{memory_, memory_.byte_offset() + plan_.part_bytes()};
  if (plan_.left_bytes() != 0 && stream.device().kind() == DeviceKind::cuda) {
    call::clear(stream, memory_, plan_.part_bytes(), plan_.left_bytes());
  } else if (plan_.left_bytes() != 0) {
    kernels_.launch(stream, "clear_arrived", (plan_.rows + plan_.group - 1) / plan_.group, left, plan_.rows);
  }
  launch_ = kernels_.launch(stream, plan_.counts() ? "count_tiles" : "extreme_tiles", plan_.groups, from, plan_.count,
                            plan_.rows, std::uint32_t{plan_.members}, memory_, left, targets(), words,
                            call::local<std::uint32_t>(1));
}

std::vector<Reduced> DeviceReduce::fetch(Stream& stream) const {
  const std::uint64_t first = plan_.part_bytes() + plan_.left_bytes();
  std::vector<std::byte> bytes(plan_.workspace() - first);
  call::fetch(stream, memory_, first, bytes.data(), bytes.size());
  stream.finish();
  std::vector<Reduced> found(plan_.rows);
  const std::size_t size = size_of(plan_.dtype);
  const std::byte* at = bytes.data();
  for (int which = 0; which < 2; ++which) {
    if (plan_.counts() ? which == 1 : !wants(plan_.op, which)) continue;
    const ExtremeRule rule{which == 1, plan_.skip};
    for (std::uint64_t row = 0; row < plan_.rows; ++row) {
      std::uint64_t number = 0;
      std::memcpy(&number, at + row * sizeof(number), sizeof(number));
      if (plan_.counts()) {
        found[row].nonzero = number;
        continue;
      }
      std::uint64_t bits = 0;
      std::memcpy(&bits, at + plan_.number_bytes() + row * size, size);
      found[row].extremes[which] = {rank_of_bits(plan_.dtype, rule, bits), number, bits};
    }
    at += plan_.number_bytes() + plan_.value_bytes();
  }
  return found;
}

}  // namespace masu
