// SPDX-License-Identifier: Apache-2.0
#include "search/search_plan.h"

#include "call/launcher.h"
#include "elements/clusters.h"
#include "elements/elements.h"

#include <algorithm>
#include <bit>

namespace masu::search_plan {

namespace {

constexpr std::uint64_t groups_a_unit_cpu = 2;

}  // namespace

Tree tree_for(std::uint64_t sorted, std::uint64_t values, unsigned most_levels) noexcept {
  Tree tree;
  const auto wanted = static_cast<unsigned>(std::bit_width(values / tuned.values_a_node));
  const auto useful = static_cast<unsigned>(std::bit_width(sorted));
  tree.levels = std::min({wanted, useful, most_levels});
  while (sorted >> tree.shift > (std::uint64_t{1} << tree.levels) - 1) ++tree.shift;
  return tree;
}

std::vector<runtime::Define> Plan::defines(Dtype dtype, Dtype positions, const SearchOptions& options) const {
  return element_defines(dtype, {{"MASU_GROUP", group},
                                 {"MASU_UNROLL", unroll},
                                 {"MASU_POSITION", unsigned_type(size_of(positions))},
                                 {"MASU_RIGHT", options.side == Side::right},
                                 {"MASU_DESCENDING", options.order == Order::descending}});
}

Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t sorted, std::uint64_t values, unsigned group,
          unsigned most_levels) {
  Plan plan;
  plan.group = group != 0 ? group : work_group(device, plan.group);
  plan.key_bytes = std::max<std::size_t>(4, size_of(dtype));
  const std::uint64_t a_group = std::uint64_t{plan.group} * plan.unroll;
  const std::uint64_t most_groups =
      std::max(1U, device.compute_units) * (device.gpu ? tuned.groups_a_unit : groups_a_unit_cpu);
  plan.groups = std::clamp<std::uint64_t>((values + a_group - 1) / a_group, 1, most_groups);
  const std::uint64_t bytes = std::min(tuned.tree_bytes, std::max<std::uint64_t>(device.local_bytes, 64));
  const auto fits = static_cast<unsigned>(std::bit_width(bytes / plan.key_bytes)) - 1;
  plan.tree = tree_for(sorted, values / plan.groups, std::min(fits, most_levels));
  return plan;
}

}  // namespace masu::search_plan

namespace masu {

Event search_on_device(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
                       const BufferBase& positions, Dtype position_dtype, const SearchOptions& options,
                       const search_plan::Plan& plan) {
  call::Kernels kernels(stream.device(), search_plan::files, plan.defines(dtype, position_dtype, options), plan.group);
  return kernels.launch(stream, "search_sorted", plan.groups, sorted, sorted.size_bytes() / size_of(dtype), values,
                        values.size_bytes() / size_of(dtype), positions, std::uint32_t{plan.tree.levels},
                        std::uint32_t{plan.tree.shift}, call::local<std::byte>(plan.local_bytes()));
}

}  // namespace masu
