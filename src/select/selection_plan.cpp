// SPDX-License-Identifier: Apache-2.0
#include "select/selection_plan.h"

#include "elements/clusters.h"
#include "elements/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace masu::selection_plan {

namespace {

constexpr std::uint32_t few_samples = 1 << 13;
constexpr std::uint32_t many_samples = 1 << 14;
constexpr double deviations = 4.5;
constexpr double outwards = 8;  // samples: see selection_bounds.cl

constexpr bool is_widened(Dtype dtype) {
  return arithmetic_dtype(dtype) != dtype;
}
// A bit for the precision of each dtype that is widened.
constexpr std::uint64_t widened_precisions() {
  std::uint64_t bits = 0;
  for (const Dtype each : all_dtypes) bits |= std::uint64_t{is_widened(each)} << float_format(each).precision;
  return bits;
}

}  // namespace

// A sample of equal parts varies less than a binomial one.
double reach(double samples, double part) {
  return deviations * std::sqrt(samples * part * (1 - part)) + 3;
}

RowShape row_shape(const DeviceInfo& device, Dtype dtype, std::uint64_t rows, std::uint64_t count, std::uint64_t beside,
                   bool orders_many) {
  const std::uint64_t in_vector = vector_bytes / size_of(dtype);
  const std::uint64_t vectors = (count + in_vector - 1) / in_vector;
  RowShape shape{.group = work_group(device, device.gpu ? tuned.row_group : 64, 16)};
  const std::uint64_t used = beside + shape.words().bytes;
  const std::uint64_t most = used < device.local_bytes ? (device.local_bytes - used) / vector_bytes : 0;
  // A cluster is quicker; where rows fill the device, a work-group takes each, which waits less.
  const unsigned cluster = cluster_groups(device);
  const bool few = rows * (orders_many ? tuned.units_an_ordered_row : tuned.units_a_row) <= device.compute_units;
  if (vectors > most || (few && vectors > tuned.most_alone_vectors)) shape.cluster = cluster;
  shape.share = (vectors + shape.cluster - 1) / shape.cluster;
  shape.holds = shape.share <= most;
  // Vectors of a work-item: several, so that few wait at barriers, unless others are idle.
  const bool idle = shape.cluster > 1 && rows * cluster <= 2 * std::uint64_t{device.compute_units};
  const std::uint64_t each = idle ? tuned.idle_row_vectors : tuned.row_vectors;
  const std::uint64_t fitting = std::bit_ceil((shape.share + each - 1) / each);
  const unsigned largest = idle ? std::min(shape.group, tuned.idle_row_group) : shape.group;
  shape.group =
      static_cast<unsigned>(std::clamp<std::uint64_t>(fitting, std::min(shape.group, tuned.least_row_group), largest));
  return shape;
}

std::vector<std::string_view> Plan::files(Part part) {
  if (part == Part::points || part == Part::numbers) {
    return {"src/elements/elements.cl", "src/elements/order.cl", "src/elements/soft_float.cl",
            "src/quantile/selection_found.cl"};
  }
  std::vector<std::string_view> result{"src/elements/elements.cl", "src/elements/order.cl",
                                       "src/elements/group_scan.cl", "src/elements/soft_float.cl",
                                       "src/select/selection.cl"};
  if (part == Part::alone || part == Part::bounds) {
    result.insert(result.end(),
                  {"src/select/selection_row.cl",
                   part == Part::alone ? "src/select/selection_alone.cl" : "src/select/selection_bounds.cl"});
  }
  if (part == Part::passes)
    result.insert(result.end(), {"src/elements/scrambled.cl", "src/select/selection_passes.cl"});
  if (part == Part::ranges) result.insert(result.end(), {"src/elements/totals.cl", "src/select/selection_ranges.cl"});
  if (part == Part::counts) result.insert(result.end(), {"src/elements/totals.cl", "src/select/selection_counts.cl"});
  return result;
}

std::vector<runtime::Define> Plan::defines(Part part, std::size_t number, unsigned listed) const {
  if (part == Part::points || part == Part::numbers) {
    return element_defines(dtype, {{"MASU_GROUP", group},
                                   {"MASU_NUMBERS", part == Part::numbers},
                                   {"MASU_FEW", few},
                                   {"MASU_WIDENED", is_widened(dtype)},
                                   {"MASU_WIDENED_PRECISIONS", widened_precisions()}});
  }
  std::vector<runtime::Define> more{
      {"MASU_GROUP", work_items(part)}, {"MASU_UNROLL", unroll}, {"MASU_UNROLLED", gpu ? "MASU_PRAGMA_UNROLL" : ""}};
  if (part == Part::alone || part == Part::bounds) {
    constexpr unsigned loads = 8;
    // Ranks are keys.
    more.insert(more.end(), {{"MASU_LARGEST", true},
                             {"MASU_NAN_FIRST", true},
                             {"MASU_SKIP", false},
                             {"MASU_FROM_ROWS", true},
                             {"MASU_CLUSTER", row.cluster},
                             {"MASU_SAMPLED", false},
                             {"MASU_HELD", row.holds},
                             {"MASU_BATCH", row.batch(dtype, gpu ? loads : 1)}});
  }
  if (part == Part::ranges) {
    more.emplace_back("MASU_RANGES", number);
    more.emplace_back("MASU_LISTED", listed);
  }
  if (part == Part::counts) {
    more.emplace_back("MASU_PREFIXES", number);
    more.emplace_back("MASU_COPIES", copies(number));
  }
  if (part == Part::passes || part == Part::ranges) {
    const DtypeNames& names = names_of(dtype);
    more.insert(more.end(), {{"MASU_GROUPS_A_UNIT", tuned.groups_a_unit},
                             {"MASU_VALUE", names.kernel_type},
                             {"MASU_AS_VALUE", names.from_bits}});
  }
  return element_defines(dtype, std::move(more));
}

unsigned Plan::passes() const noexcept {
  return (static_cast<unsigned>(8 * size_of(dtype)) + digit_bits - 1) / digit_bits;
}

std::uint64_t Plan::groups(std::uint64_t count) const noexcept {
  const std::uint64_t each = tile_vectors() * (vector_bytes / size_of(dtype));
  return std::clamp<std::uint64_t>(count / each, 1, gpu ? compute_units * tuned.groups_a_unit : compute_units);
}

std::uint64_t Plan::tiles(std::uint64_t count) const noexcept {
  const std::uint64_t in_vector = vector_bytes / size_of(dtype);
  const std::uint64_t vectors = (in_vector - 1 + count + in_vector - 1) / in_vector;
  return (vectors + tile_vectors() - 1) / tile_vectors();
}

std::size_t Plan::counting_words() const noexcept {
  return 16 + state_words * passes() + 2 * passes() * table_words;
}

Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t rows, std::uint64_t count) {
  Plan plan{.dtype = dtype, .gpu = device.gpu};
  plan.group = work_group(device, device.gpu ? tuned.group : 64, 16);
  plan.row = row_shape(device, dtype, rows, count, 0);
  plan.unroll = device.gpu ? tuned.unroll : 1;
  // The filter keeps a tile in local memory, and some words beside it.
  constexpr std::uint64_t beside = 64;
  while (device.gpu && plan.group > 1 && plan.tile_vectors() * 16 + beside > device.local_bytes) plan.group /= 2;
  plan.least_bounded = device.gpu ? tuned.least_bounded : tuned.least_bounded_cpu;
  plan.compute_units = std::max(1U, device.compute_units);
  if (count <= tuned.most_few) plan.few = static_cast<unsigned>(std::bit_ceil(count));
  return plan;
}

Bounds bounds(const Plan& plan, std::uint64_t count, std::uint64_t place0, std::uint64_t place1) {
  Bounds result;
  if (count < plan.least_bounded || size_of(plan.dtype) < 4 || place1 - place0 > 1) return result;
  result.samples = count < tuned.many_elements ? few_samples : many_samples;
  const double samples = result.samples;
  const auto all = static_cast<double>(count);
  const auto sampled = [&](std::uint64_t place) { return static_cast<double>(place) / all * samples; };
  const double distance = reach(samples, static_cast<double>(place0) / all);
  const double lower = std::floor(sampled(place0) - distance);
  const double upper = std::ceil(sampled(place1) + distance);
  if (lower >= 0) {
    result.lower = static_cast<std::uint32_t>(lower);
    result.has |= 1;
  }
  if (upper < samples) {
    result.upper = static_cast<std::uint32_t>(upper);
    result.has |= 2;
  }
  // At most so many samples lie between two bounds; how many elements a sample stands for varies as well.
  const double most = 2 * (reach(samples, 0.5) + outwards) + 3;
  const double part = (most + 6 * std::sqrt(most) + 16) / samples;
  result.capacity = static_cast<std::uint64_t>(part * all) + 1;
  return result;
}

}  // namespace masu::selection_plan
