// SPDX-License-Identifier: Apache-2.0
#include "search/search_plan.h"

#include "sort/sort_key.h"

#include <algorithm>
#include <bit>
#include <string>
#include <type_traits>

namespace masu::search_plan {

namespace {

constexpr std::uint64_t groups_a_unit_gpu = 8;  // of 256 work-items: as many as run at once
constexpr std::uint64_t groups_a_unit_cpu = 2;

std::string_view unsigned_type(std::size_t bytes) {
  return bytes == 1 ? "uchar" : bytes == 2 ? "ushort" : bytes == 4 ? "uint" : "ulong";
}

}  // namespace

Tree tree_for(std::uint64_t sorted, std::uint64_t values, unsigned most_levels) noexcept {
  Tree tree;
  const auto wanted = static_cast<unsigned>(std::bit_width(values / values_a_node));
  const auto useful = static_cast<unsigned>(std::bit_width(sorted));
  tree.levels = std::min({wanted, useful, most_levels});
  while (sorted >> tree.shift > (std::uint64_t{1} << tree.levels) - 1) ++tree.shift;
  return tree;
}

std::vector<runtime::Define> Plan::defines(Dtype dtype, Dtype positions, Side side) const {
  const std::size_t bytes = size_of(dtype);
  const std::string suffix = bytes == 8 ? "ul" : "u";
  const std::uint64_t sign = is_signed(dtype) ? std::uint64_t{1} << (8 * bytes - 1) : 0;
  const std::uint64_t infinity =
      dispatch(dtype, [](auto tag) { return std::uint64_t{infinity_bits<typename decltype(tag)::type>}; });
  return {{"MASU_GROUP", std::to_string(group)},
          {"MASU_UNROLL", std::to_string(unroll)},
          {"MASU_ELEMENT", std::string(unsigned_type(bytes))},
          {"MASU_KEY", std::string(unsigned_type(key_bytes))},
          {"MASU_SIGN", std::to_string(sign) + suffix},
          {"MASU_FLOAT", is_float(dtype) ? "1" : "0"},
          {"MASU_INFINITY", std::to_string(infinity) + suffix},
          {"MASU_POSITION", std::string(unsigned_type(size_of(positions)))},
          {"MASU_RIGHT", side == Side::right ? "1" : "0"}};
}

Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t sorted, std::uint64_t values, unsigned group,
          unsigned most_levels) {
  Plan plan;
  const unsigned most_items = std::bit_floor(std::max(1U, device.max_work_group_size));
  plan.group = group != 0 ? group : std::min(plan.group, most_items);
  plan.key_bytes = std::max<std::size_t>(4, size_of(dtype));
  const std::uint64_t a_group = std::uint64_t{plan.group} * plan.unroll;
  const std::uint64_t most_groups =
      std::max(1U, device.compute_units) * (device.gpu ? groups_a_unit_gpu : groups_a_unit_cpu);
  plan.groups = std::clamp<std::uint64_t>((values + a_group - 1) / a_group, 1, most_groups);
  const std::uint64_t bytes = std::min(tree_bytes, std::max<std::uint64_t>(device.local_bytes, 64));
  const auto fits = static_cast<unsigned>(std::bit_width(bytes / plan.key_bytes)) - 1;
  plan.tree = tree_for(sorted, values / plan.groups, std::min(fits, most_levels));
  return plan;
}

}  // namespace masu::search_plan
