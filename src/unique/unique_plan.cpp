// SPDX-License-Identifier: Apache-2.0
#include "unique/unique_plan.h"

#include "elements/elements.h"

#include <algorithm>
#include <bit>

namespace masu::unique_plan {

namespace {

// Spans, as many as let the scheduler even out their work, and few enough for every group to add up all before it.
constexpr std::uint64_t spans_a_unit_gpu = 16;
constexpr std::uint64_t spans_a_unit_cpu = 4;
constexpr std::uint64_t most_spans_of_all = 4096;
constexpr unsigned least_group = 16;

}  // namespace

std::vector<runtime::Define> Plan::defines(Dtype dtype, std::size_t places) const {
  return element_defines(without_sign(dtype), {{"MASU_GROUP", group},
                                               {"MASU_UNROLL", unroll},
                                               {"MASU_WORDS", words},
                                               {"MASU_STAGED", staged()},
                                               {"MASU_INDEX", unsigned_type(places)}});
}

Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t count, unsigned group, std::uint64_t most_spans) {
  Plan plan;
  const unsigned most_items = std::bit_floor(std::max(1U, device.max_work_group_size));
  plan.group = std::max(least_group, group != 0 ? group : std::min(plan.group, most_items));
  if (!device.gpu) plan.unroll = 1;
  plan.lead = call::workspace_alignment / size_of(dtype) - 1;
  plan.tiles = std::max<std::uint64_t>(1, (count + plan.lead + plan.tile_bits() - 1) / plan.tile_bits());
  if (most_spans == 0) {
    most_spans = std::min(most_spans_of_all,
                          std::max(1U, device.compute_units) * (device.gpu ? spans_a_unit_gpu : spans_a_unit_cpu));
  }
  plan.a_span = (plan.tiles + most_spans - 1) / most_spans;
  plan.spans = (plan.tiles + plan.a_span - 1) / plan.a_span;
  return plan;
}

}  // namespace masu::unique_plan
