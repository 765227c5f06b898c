// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_plan.h"

#include "scan/scan_op.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace masu::scan_plan {

namespace {

constexpr std::array<std::string_view, 3> three_launches = {"src/reduce/reduce_elements.cl", "src/scan/scan_tile.cl",
                                                            "src/scan/scan.cl"};
constexpr std::array<std::string_view, 3> one_launch = {"src/reduce/reduce_elements.cl", "src/scan/scan_tile.cl",
                                                        "src/scan/scan_once.cl"};

constexpr std::uint64_t groups_a_unit_gpu = 4;
constexpr std::uint64_t groups_a_unit_cpu = 2;
constexpr unsigned once_groups_a_unit = 6;
constexpr std::uint64_t vector_bytes = 16;
constexpr std::uint64_t word = sizeof(std::uint64_t);

// A work-item's vectors: of narrow elements fewer, as each is a step. Elsewhere than on GPUs what counts is how fast
// the kernels compile.
unsigned vectors_of(const DeviceInfo& device, Dtype dtype) {
  if (!device.gpu) return 1;
  return size_of(dtype) < 4 ? 2 : 4;
}

}  // namespace

std::uint64_t Plan::tile_elements() const noexcept {
  return tile_bytes() / size_of(dtype);
}

std::uint64_t Plan::workspace() const noexcept {
  if (once) return alignment + (tiles() * state_words() * word + alignment - 1) / alignment * alignment;
  return (groups + 1) * 2 * word;
}

std::uint64_t Plan::state_at() const noexcept {
  return once ? alignment + (tiles() - 1) * state_words() * word : groups * 2 * word;
}

std::span<const std::string_view> Plan::files() const noexcept {
  return once ? one_launch : three_launches;
}

std::uint64_t Plan::tile_bytes() const noexcept {
  return group * vectors * vector_bytes;
}

std::uint64_t Plan::totals_bytes() const noexcept {
  return (std::uint64_t{4} * group + 2) * word;
}

std::vector<runtime::Define> Plan::defines() const {
  const std::string suffix = size_of(dtype) == 8 ? "UL" : "U";
  return {{"MASU_GROUP", std::to_string(group)},
          {"MASU_BYTES", std::to_string(size_of(dtype))},
          {"MASU_FLOAT", is_float(dtype) ? "1" : "0"},
          {"MASU_SIGNED", is_signed(dtype) && !is_float(dtype) && op != ScanOp::sum ? "1" : "0"},
          {"MASU_SKIP", "0"},
          {"MASU_ITEM_VECTORS", std::to_string(vectors)},
          {"MASU_OP", std::to_string(static_cast<int>(op))},
          {"MASU_EXCLUSIVE", exclusive ? "1" : "0"},
          {"MASU_SEGMENTED", segmented ? "1" : "0"},
          {"MASU_GROUPS_A_UNIT", std::to_string(groups_a_unit)},
          {"MASU_IDENTITY", std::to_string(scan_identity(dtype, op)) + suffix}};
}

Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t count, ScanOp op, bool exclusive, bool segmented,
          unsigned group, std::uint64_t most_groups) {
  Plan plan{.dtype = dtype, .op = op, .exclusive = exclusive, .segmented = segmented, .count = count};
  const unsigned most_items = std::bit_floor(std::max(1U, device.max_work_group_size));
  plan.group = group != 0 ? group : std::min(plan.group, most_items);
  plan.vectors = vectors_of(device, dtype);
  if (most_groups == 0) {
    most_groups = std::max(1U, device.compute_units) * (device.gpu ? groups_a_unit_gpu : groups_a_unit_cpu);
  }
  // What waits for other work-groups needs a device on which those that have begun go on.
  if (device.kind == DeviceKind::cuda && can_be_once(plan)) return in_one_launch(plan);
  plan.chunk = std::max<std::uint64_t>(1, (plan.tiles() + most_groups - 1) / most_groups);
  plan.groups = std::max<std::uint64_t>(1, (plan.tiles() + plan.chunk - 1) / plan.chunk);
  return plan;
}

bool can_be_once(const Plan& plan) noexcept {
  constexpr std::uint64_t most_tiles = std::uint64_t{1} << 31;  // tickets have 32 bits
  return !plan.segmented && !is_float(plan.dtype) && plan.tiles() < most_tiles;
}

Plan in_one_launch(Plan plan) noexcept {
  plan.once = true;
  plan.chunk = 1;
  plan.groups = plan.tiles();
  plan.groups_a_unit = once_groups_a_unit;
  return plan;
}

}  // namespace masu::scan_plan
