// SPDX-License-Identifier: Apache-2.0
#include "call/operands.h"
#include "elements/clusters.h"
#include "elements/elements.h"
#include "reduce/reduce_plan.h"
#include "reduce/reduce_rank.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace masu::reduce_plan {

namespace {

constexpr std::string_view last_file = "src/elements/last_group.cl";
constexpr std::array<std::string_view, 4> extreme_files = {"src/elements/elements.cl", "src/elements/order.cl",
                                                           last_file, "src/reduce/reduce.cl"};
constexpr std::array<std::string_view, 3> count_files = {"src/elements/elements.cl", last_file,
                                                         "src/reduce/reduce_count.cl"};

constexpr unsigned groups_a_unit_cpu = 2;

}  // namespace

std::uint64_t Plan::part_bytes() const noexcept {
  if (members <= 1) return 0;
  // A rank, and a word for its tile; or a count.
  const std::uint64_t words = counts() ? 2 : extremes() * (1 + (size_of(dtype) + 3) / 4);
  return call::aligned(rows * members * words * sizeof(std::uint32_t));
}

std::uint64_t Plan::left_bytes() const noexcept {
  return members <= 1 ? 0 : call::aligned(rows * sizeof(std::uint32_t));
}

std::uint64_t Plan::number_bytes() const noexcept {
  return call::aligned(rows * sizeof(std::uint64_t));
}

std::uint64_t Plan::value_bytes() const noexcept {
  return counts() ? 0 : call::aligned(rows * size_of(dtype));
}

std::uint64_t Plan::workspace() const noexcept {
  return part_bytes() + left_bytes() + (counts() ? 1 : extremes()) * (number_bytes() + value_bytes());
}

std::span<const std::string_view> Plan::files() const noexcept {
  if (counts()) return count_files;
  return extreme_files;
}

std::vector<runtime::Define> Plan::defines() const {
  std::vector<runtime::Define> own{
      {"MASU_GROUP", group}, {"MASU_VECTORS", vectors}, {"MASU_GROUPS_A_UNIT", tuned.groups_a_unit}};
  if (counts()) {
    own.push_back({"MASU_WANTS_NUMBERS", wants_numbers});
    own.push_back({"MASU_WANTS_ALL", wants_all});
    own.push_back({"MASU_WANTS_ANY", wants_any});
    return element_defines(without_sign(dtype), std::move(own));
  }
  own.push_back({"MASU_SKIP", skip && is_float(dtype)});
  own.push_back({"MASU_MIN", wants(op, 0)});
  own.push_back({"MASU_MAX", wants(op, 1)});
  own.push_back({"MASU_WANTS_VALUES", wants_values});
  own.push_back({"MASU_WANTS_INDICES", wants_indices});
  own.push_back({"MASU_WANTS_PLACES", wants_places});
  own.push_back({"MASU_WANTS_BITS", wants_bits});
  return element_defines(dtype, std::move(own));
}

Plan make(const DeviceInfo& device, Dtype dtype, ReduceOp op, bool skip, std::uint64_t rows, std::uint64_t count,
          unsigned group, std::uint64_t most_groups) {
  Plan plan{.dtype = dtype, .op = op, .skip = skip, .rows = rows, .count = count};
  plan.group = group != 0 ? group : work_group(device, plan.group);
  if (most_groups == 0) {
    most_groups =
        std::uint64_t{std::max(1U, device.compute_units)} * (device.kind == DeviceKind::cuda ? tuned.groups_a_unit
                                                             : device.gpu ? tuned.opencl_groups_a_unit
                                                                          : groups_a_unit_cpu);
  }
  if (count * size_of(dtype) <= tuned.short_row_bytes) {
    plan.width = static_cast<unsigned>(std::min<std::uint64_t>(
        plan.group, std::bit_ceil((count + tuned.elements_an_item - 1) / tuned.elements_an_item)));
    const std::uint64_t side_by_side = plan.group / plan.width;
    plan.groups = std::min(most_groups, (rows + side_by_side - 1) / side_by_side);
    return plan;
  }
  // One more tile where the data does not begin at a vector.
  const std::uint64_t tiles = count / plan.tile_elements() + 1;
  plan.members = static_cast<unsigned>(std::clamp<std::uint64_t>(most_groups / rows, 1, tiles));
  plan.groups = rows * plan.members;
  return plan;
}

}  // namespace masu::reduce_plan

namespace masu {

DeviceReduce::DeviceReduce(const BufferBase& data, const reduce_plan::Plan& plan, Buffer<std::byte> memory,
                           const ReduceTargets& targets)
    : plan_(plan),
      memory_(std::move(memory)),
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

// The wanted targets, then the memory of each. Unwanted targets get memory that the kernel does not write.
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

void DeviceReduce::start(Stream& stream, const BufferBase& data) {
  const LocalMemory words = call::local<std::uint64_t>(plan_.group);
  if (plan_.members == 0) {
    launch_ = kernels_.launch(stream, plan_.counts() ? "count_rows" : "extreme_rows", plan_.groups, data,
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
  launch_ = kernels_.launch(stream, plan_.counts() ? "count_tiles" : "extreme_tiles", plan_.groups, data, plan_.count,
                            plan_.rows, std::uint32_t{plan_.members}, memory_, left, targets(), words,
                            call::local<std::uint32_t>(1));
}

void DeviceReduce::read(Stream& stream) {
  const std::uint64_t first = plan_.part_bytes() + plan_.left_bytes();
  results_.resize(plan_.workspace() - first);
  call::fetch(stream, memory_, first, results_.data(), results_.size());
}

std::vector<Reduced> DeviceReduce::found() const {
  std::vector<Reduced> found(plan_.rows);
  const std::size_t size = size_of(plan_.dtype);
  const std::byte* at = results_.data();
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
