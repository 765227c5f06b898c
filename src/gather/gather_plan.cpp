// SPDX-License-Identifier: Apache-2.0
#include "gather/gather_plan.h"

#include "runtime/operands.h"

#include <algorithm>
#include <bit>
#include <string>

namespace masu::gather_plan {

namespace {

constexpr std::uint64_t groups_a_unit_gpu = 16;
constexpr std::uint64_t groups_a_unit_cpu = 2;

std::string type_of(unsigned bytes) {
  switch (bytes) {
    case 1: return "uchar";
    case 2: return "ushort";
    case 4: return "uint";
    case 8: return "ulong";
    default: return "uint4";
  }
}

}  // namespace

std::uint64_t Plan::groups(std::uint64_t items) const noexcept {
  return std::clamp<std::uint64_t>((items + group - 1) / group, 1, most_groups);
}

std::vector<runtime::Define> Plan::move_defines(Dtype index_dtype) const {
  return {{"MASU_GROUP", std::to_string(group)},
          {"MASU_UNROLL", std::to_string(unroll)},
          {"MASU_UNIT", type_of(unit)},
          {"MASU_UNITS", std::to_string(units)},
          {"MASU_INDEX", index_dtype == Dtype::u32 ? "uint" : "ulong"}};
}

std::vector<runtime::Define> Plan::compact_defines() const {
  return {{"MASU_GROUP", std::to_string(group)},
          {"MASU_UNIT", type_of(unit)},
          {"MASU_UNITS", std::to_string(units)},
          {"MASU_ITEMS", std::to_string(compact_items)}};
}

std::vector<runtime::Define> Plan::iota_defines(Dtype dtype) const {
  return {{"MASU_GROUP", std::to_string(group)},
          {"MASU_ELEMENT", type_of(static_cast<unsigned>(size_of(dtype)))},
          {"MASU_FLOAT", is_float(dtype) ? "1" : "0"},
          {"MASU_BITS", std::to_string(8 * size_of(dtype))}};
}

Plan make(const DeviceInfo& device, std::size_t element_bytes, std::uint64_t offsets, unsigned group) {
  Plan plan;
  plan.group = group != 0 ? group : std::min(plan.group, std::bit_floor(std::max(1U, device.max_work_group_size)));
  plan.unit = runtime::move_unit(element_bytes, offsets);
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
