// SPDX-License-Identifier: Apache-2.0
#include "gather/gather_plan.h"

#include "call/operands.h"
#include "elements/elements.h"

#include <algorithm>
#include <bit>

namespace masu::gather_plan {

namespace {

constexpr std::uint64_t groups_a_unit_gpu = 16;
constexpr std::uint64_t groups_a_unit_cpu = 2;

}  // namespace

std::uint64_t Plan::groups(std::uint64_t items) const noexcept {
  return std::clamp<std::uint64_t>((items + group - 1) / group, 1, most_groups);
}

std::vector<runtime::Define> Plan::move_defines(Dtype index_dtype) const {
  return {{"MASU_GROUP", group},
          {"MASU_UNROLL", unroll},
          {"MASU_UNIT", unsigned_type(unit)},
          {"MASU_UNITS", units},
          {"MASU_INDEX", index_dtype == Dtype::u32 ? "uint" : "ulong"}};
}

std::vector<runtime::Define> Plan::compact_defines() const {
  return {
      {"MASU_GROUP", group}, {"MASU_UNIT", unsigned_type(unit)}, {"MASU_UNITS", units}, {"MASU_ITEMS", compact_items}};
}

std::vector<runtime::Define> Plan::iota_defines(Dtype dtype) const {
  return element_defines(without_sign(dtype), {{"MASU_GROUP", group}});
}

Plan make(const DeviceInfo& device, std::size_t element_bytes, std::uint64_t offsets, unsigned group) {
  Plan plan;
  plan.group = group != 0 ? group : std::min(plan.group, std::bit_floor(std::max(1U, device.max_work_group_size)));
  plan.unit = call::move_unit(element_bytes, offsets);
  plan.units = static_cast<unsigned>(element_bytes / plan.unit);
  plan.most_groups = std::max(1U, device.compute_units) * (device.gpu ? groups_a_unit_gpu : groups_a_unit_cpu);
  return plan;
}

std::uint64_t notes_bytes() noexcept {
  return flag_bytes + note_groups * note_bytes;
}

std::uint64_t scatter_bytes(std::uint64_t places) noexcept {
  return notes_bytes() + places * owner_bytes;
}

std::uint64_t compact_bytes(std::uint64_t count, std::uint64_t tile) noexcept {
  const std::uint64_t tiles = (count + tile - 1) / tile;
  return sizeof(std::uint64_t) * (1 + tiles) + sizeof(std::uint32_t) * tiles;
}

}  // namespace masu::gather_plan
