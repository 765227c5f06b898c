// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce_plan.h"

#include "call/operands.h"
#include "elements/elements.h"
#include "reduce/reduce_rank.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace masu::reduce_plan {

namespace {

constexpr std::array<std::string_view, 3> extreme_files = {"src/elements/elements.cl", "src/elements/order.cl",
                                                           "src/reduce/reduce.cl"};
constexpr std::array<std::string_view, 2> count_files = {"src/elements/elements.cl", "src/reduce/reduce_count.cl"};

constexpr std::uint64_t groups_a_unit_gpu = 8;  // of 256 work-items: as many as run at once
constexpr std::uint64_t groups_a_unit_cpu = 2;
constexpr std::uint64_t elements_an_item = 4;  // of a short row
constexpr std::uint64_t most_target_groups = 1024;
constexpr std::uint64_t word = sizeof(std::uint64_t);

}  // namespace

std::uint64_t Plan::part_bytes() const noexcept {
  return call::aligned(rows * members * word * (counts() ? 1 : 2 * extremes()));
}

std::uint64_t Plan::result_bytes() const noexcept {
  return call::aligned(rows * word * (counts() ? 1 : 2 * extremes()));
}

std::uint64_t Plan::target_groups() const noexcept {
  return std::min((rows + group - 1) / group, most_target_groups);
}

std::span<const std::string_view> Plan::files() const noexcept {
  if (counts()) return count_files;
  return extreme_files;
}

std::vector<runtime::Define> Plan::defines() const {
  std::vector<runtime::Define> own{
      {"MASU_GROUP", group}, {"MASU_VECTORS", vectors}, {"MASU_GROUPS_A_UNIT", groups_a_unit_gpu}};
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
  return element_defines(dtype, std::move(own));
}

Plan make(const DeviceInfo& device, Dtype dtype, ReduceOp op, bool skip, std::uint64_t rows, std::uint64_t count,
          unsigned group, std::uint64_t most_groups) {
  Plan plan{.dtype = dtype, .op = op, .skip = skip, .rows = rows, .count = count};
  const unsigned most_items = std::bit_floor(std::max(1U, device.max_work_group_size));
  plan.group = group != 0 ? group : std::min(plan.group, most_items);
  if (most_groups == 0) {
    most_groups = std::max(1U, device.compute_units) * (device.gpu ? groups_a_unit_gpu : groups_a_unit_cpu);
  }
  if (count * size_of(dtype) <= short_row_bytes) {
    plan.width = static_cast<unsigned>(
        std::min<std::uint64_t>(plan.group, std::bit_ceil((count + elements_an_item - 1) / elements_an_item)));
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
