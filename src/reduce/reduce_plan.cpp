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

constexpr std::string_view last_file = "src/elements/last_group.cl";
constexpr std::array<std::string_view, 4> extreme_files = {"src/elements/elements.cl", "src/elements/order.cl",
                                                           last_file, "src/reduce/reduce.cl"};
constexpr std::array<std::string_view, 3> count_files = {"src/elements/elements.cl", last_file,
                                                         "src/reduce/reduce_count.cl"};

// Of 256 work-items: as many as run at once. CUDA's compiler is told so, OpenCL's takes up to 64 registers.
constexpr std::uint64_t groups_a_unit_cuda = 8;
constexpr std::uint64_t groups_a_unit_gpu = 4;
constexpr std::uint64_t groups_a_unit_cpu = 2;
constexpr std::uint64_t elements_an_item = 4;  // of a short row

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
      {"MASU_GROUP", group}, {"MASU_VECTORS", vectors}, {"MASU_GROUPS_A_UNIT", groups_a_unit_cuda}};
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
  const unsigned most_items = std::bit_floor(std::max(1U, device.max_work_group_size));
  plan.group = group != 0 ? group : std::min(plan.group, most_items);
  if (most_groups == 0) {
    most_groups = std::max(1U, device.compute_units) * (device.kind == DeviceKind::cuda ? groups_a_unit_cuda
                                                        : device.gpu                    ? groups_a_unit_gpu
                                                                                        : groups_a_unit_cpu);
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
