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
constexpr std::uint64_t vector_bytes = 16;
constexpr std::uint64_t word = sizeof(std::uint64_t);

// In one launch, found on an H200: with those that read totals 768 work-items, so that each has 80 registers; three
// waves late nobody waits (0.96 of copying; one wave late 0.64).
constexpr unsigned once_group = 736;
constexpr unsigned once_vectors = 4;
constexpr unsigned late = 3;
constexpr unsigned waves = 8;
constexpr unsigned replicas = 4;
constexpr std::uint64_t stride = 256;  // words between replicas: a multiple of this

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
  return state_at() + 2 * word;
}

std::uint64_t Plan::state_at() const noexcept {
  if (!once) return groups * 2 * word;
  const std::uint64_t words_of_total = size_of(dtype) == 8 ? 2 : 1;
  return waves * replicas * ((groups + stride - 1) / stride * stride) * words_of_total * word;
}

std::span<const std::string_view> Plan::files() const noexcept {
  return once ? one_launch : three_launches;
}

std::uint64_t Plan::tile_bytes() const noexcept {
  return group * vectors * vector_bytes;
}

std::uint64_t Plan::kept_bytes() const noexcept {
  return once ? (late + 1) * tile_bytes() : tile_bytes();
}

std::uint64_t Plan::totals_bytes() const noexcept {
  return once ? std::uint64_t{2} * (group / sub_group + 2) * word : (std::uint64_t{4} * group + 2) * word;
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
          {"MASU_REPLICAS", std::to_string(replicas)},
          {"MASU_LATE", std::to_string(late)},
          {"MASU_WAVES", std::to_string(waves)},
          {"MASU_IDENTITY", std::to_string(scan_identity(dtype, op)) + suffix}};
}

Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t count, ScanOp op, bool exclusive, bool segmented,
          unsigned group, std::uint64_t most_groups) {
  Plan plan{.dtype = dtype, .op = op, .exclusive = exclusive, .segmented = segmented, .count = count};
  const unsigned most_items = std::bit_floor(std::max(1U, device.max_work_group_size));
  plan.group = group != 0 ? group : std::min(plan.group, most_items);
  plan.vectors = vectors_of(device, dtype);
  const bool most_groups_given = most_groups != 0;
  if (!most_groups_given) {
    most_groups = std::max(1U, device.compute_units) * (device.gpu ? groups_a_unit_gpu : groups_a_unit_cpu);
  }
  if (device.kind == DeviceKind::cuda && can_be_once(plan)) {
    return in_one_launch(device, plan, most_groups_given ? most_groups : device.compute_units, group);
  }
  plan.chunk = std::max<std::uint64_t>(1, (plan.tiles() + most_groups - 1) / most_groups);
  plan.groups = std::max<std::uint64_t>(1, (plan.tiles() + plan.chunk - 1) / plan.chunk);
  return plan;
}

bool can_be_once(const Plan& plan) noexcept {
  return !plan.segmented;
}

Plan in_one_launch(const DeviceInfo& device, Plan plan, std::uint64_t groups, unsigned group) noexcept {
  plan.once = true;
  plan.chunk = 1;
  // As the preludes have it: on what is not NVIDIA's each work-item is a sub-group.
  plan.sub_group = device.vendor.starts_with("NVIDIA") ? device.warp_size : 1;
  plan.group = group != 0 ? group : once_group;
  // As much as local memory holds, unless compute units would have nothing to do then.
  plan.vectors = once_vectors;
  while (plan.vectors > 1 && plan.kept_bytes() + plan.totals_bytes() > device.local_bytes) plan.vectors /= 2;
  if (plan.tiles() < groups) plan.vectors = std::min(plan.vectors, 2U);
  plan.groups = std::clamp<std::uint64_t>(plan.tiles(), 1, std::max<std::uint64_t>(groups, 1));
  return plan;
}

}  // namespace masu::scan_plan
