// SPDX-License-Identifier: Apache-2.0
#include "call/launcher.h"
#include "call/operands.h"
#include "elements/clusters.h"
#include "elements/elements.h"
#include "gather/gather_plan.h"

#include <algorithm>

namespace masu::gather_plan {

namespace {

constexpr std::uint64_t groups_a_unit_cpu = 2;

}  // namespace

std::uint64_t Plan::groups(std::uint64_t items) const noexcept {
  return std::clamp<std::uint64_t>((items + group - 1) / group, 1, most_groups);
}

std::vector<runtime::Define> Plan::move_defines(Dtype index_dtype) const {
  return {{"MASU_GROUP", group},
          {"MASU_UNROLL", tuned.unroll},
          {"MASU_UNIT", unsigned_type(unit)},
          {"MASU_UNITS", units},
          {"MASU_INDEX", index_dtype == Dtype::u32 ? "uint" : "ulong"}};
}

std::vector<runtime::Define> Plan::compact_defines() const {
  return {{"MASU_GROUP", group},
          {"MASU_UNIT", unsigned_type(unit)},
          {"MASU_UNITS", units},
          {"MASU_ITEMS", tuned.compact_items}};
}

std::vector<runtime::Define> Plan::iota_defines(Dtype dtype) const {
  return element_defines(without_sign(dtype), {{"MASU_GROUP", group}});
}

Plan make(const DeviceInfo& device, std::size_t element_bytes, std::uint64_t offsets, unsigned group) {
  Plan plan;
  plan.group = group != 0 ? group : work_group(device, plan.group);
  plan.unit = call::move_unit(element_bytes, offsets);
  plan.units = static_cast<unsigned>(element_bytes / plan.unit);
  plan.most_groups = std::max(1U, device.compute_units) * (device.gpu ? tuned.groups_a_unit : groups_a_unit_cpu);
  return plan;
}

std::uint64_t notes_bytes() noexcept {
  return flag_bytes + tuned.note_groups * note_bytes;
}

std::uint64_t scatter_bytes(std::uint64_t places) noexcept {
  return notes_bytes() + places * owner_bytes;
}

std::uint64_t compact_bytes(std::uint64_t count, std::uint64_t tile) noexcept {
  const std::uint64_t tiles = (count + tile - 1) / tile;
  return sizeof(std::uint64_t) * (1 + tiles) + sizeof(std::uint32_t) * tiles;
}

}  // namespace masu::gather_plan

namespace masu {

namespace {

using gather_plan::Move;
using gather_plan::Operation;
using gather_plan::Plan;

constexpr std::size_t first_words_bytes = 8;  // local memory of first_of_group()

void scatter_claimed(Stream& stream, call::Kernels& kernels, Events& events, const Move& move, const BufferBase& in,
                     const BufferBase& indices, const BufferBase& out, const BufferBase& notes, const Plan& plan) {
  const std::uint64_t owner_at = notes.byte_offset() + gather_plan::notes_bytes();
  const std::uint64_t count = move.rows * move.in_row;
  for (std::uint64_t begin = 0; begin < count; begin += gather_plan::claimed_at_a_time) {
    const auto part = static_cast<std::uint32_t>(std::min(gather_plan::claimed_at_a_time, count - begin));
    events.push_back(
        call::clear(stream, notes, gather_plan::notes_bytes(), move.rows * move.out_row * gather_plan::owner_bytes));
    events.push_back(kernels.launch(stream, "claim_places", plan.groups(part), indices, begin, part, move.in_row,
                                    move.out_row, notes, owner_at));
    events.push_back(kernels.launch(stream, "scatter_records", plan.groups(std::uint64_t{part} * plan.units), in, out,
                                    indices, begin, part, move.in_row, move.out_row, notes, owner_at));
  }
}

}  // namespace

Events move_on_device(Stream& stream, const Move& move, const BufferBase& in, const BufferBase& indices,
                      const BufferBase& out, const BufferBase& notes, const Plan& plan, const BufferBase* status) {
  call::Kernels kernels(stream.device(), gather_plan::move_files, plan.move_defines(move.index_dtype), plan.group);
  Events events{call::clear(stream, notes, 0, gather_plan::flag_bytes)};
  // All work-groups note something, those that have no indices too.
  events.push_back(kernels.launch(stream, "check_indices", gather_plan::tuned.note_groups, indices, move.indices,
                                  move.limit(), notes, LocalMemory{first_words_bytes}));
  if (status != nullptr) {
    events.push_back(kernels.launch(stream, "first_note", 1,
                                    call::At{notes, notes.byte_offset() + gather_plan::flag_bytes},
                                    static_cast<std::uint32_t>(gather_plan::tuned.note_groups), std::uint64_t{0},
                                    *status, LocalMemory{first_words_bytes}));
  }
  if (move.operation == Operation::scatter) {
    scatter_claimed(stream, kernels, events, move, in, indices, out, notes, plan);
  } else {
    const std::uint64_t units = move.rows * move.out_row * plan.units;
    events.push_back(kernels.launch(
        stream, "gather_records", plan.groups((units + gather_plan::tuned.unroll - 1) / gather_plan::tuned.unroll), in,
        out, indices, units, move.in_row, move.out_row, move.index_row, notes, std::uint32_t{1}));
  }
  return events;
}

Events reverse_on_device(Stream& stream, const Move& move, const BufferBase& in, const BufferBase& out,
                         const Plan& plan) {
  call::Kernels kernels(stream.device(), gather_plan::move_files, plan.move_defines(move.index_dtype), plan.group);
  return {kernels.launch(stream, "reverse_records", plan.groups(move.rows * move.in_row * plan.units), in, out,
                         move.rows, move.in_row, std::uint32_t{move.in_place})};
}

Events compact_on_device(Stream& stream, std::uint64_t count, const BufferBase& in, const BufferBase& flags,
                         const BufferBase& out, std::uint64_t room, const BufferBase& notes, const Plan& plan,
                         const BufferBase* number) {
  call::Kernels kernels(stream.device(), gather_plan::compact_files, plan.compact_defines(), plan.group);
  const std::uint64_t tiles = (count + plan.tile() - 1) / plan.tile();
  const std::uint64_t count_at = notes.byte_offset() + sizeof(std::uint64_t) * (1 + tiles);
  const std::uint64_t groups = std::min(tiles, plan.most_groups);
  const std::size_t sums = plan.group * sizeof(std::uint32_t);
  return {kernels.launch(stream, "compact_count", groups, flags, count, call::At{notes, count_at},
                         call::local<std::uint32_t>(1)),
          kernels.launch(stream, "compact_offsets", 1, notes, count_at, tiles, number != nullptr ? *number : notes,
                         LocalMemory{sums}),
          kernels.launch(stream, "compact_move", groups, in, flags, out, count, room, notes,
                         LocalMemory{sums + plan.tile() * sizeof(std::uint16_t)})};
}

Events iota_on_device(Stream& stream, Dtype dtype, std::uint64_t count, const BufferBase& out, std::uint64_t start,
                      std::uint64_t step, const Plan& plan) {
  call::Kernels kernels(stream.device(), gather_plan::iota_files, plan.iota_defines(dtype), plan.group);
  return {kernels.launch(stream, "write_iota", plan.groups(count), out, count, start, step)};
}

}  // namespace masu
