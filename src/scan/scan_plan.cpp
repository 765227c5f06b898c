// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_plan.h"

#include "elements/clusters.h"
#include "elements/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string>

namespace masu::scan_plan {

namespace {

constexpr std::array<std::string_view, 5> two_launches = {"src/elements/elements.cl", "src/elements/order.cl",
                                                          "src/scan/scan_tile.cl", "src/scan/scan_total.cl",
                                                          "src/scan/scan.cl"};
constexpr std::array<std::string_view, 5> one_launch = {"src/elements/elements.cl", "src/elements/order.cl",
                                                        "src/scan/scan_tile.cl", "src/scan/scan_total.cl",
                                                        "src/scan/scan_once.cl"};
constexpr std::array<std::string_view, 9> exact_launches = {
    "src/elements/elements.cl", "src/elements/order.cl",   "src/elements/doubles.cl",
    "src/scan/scan_tile.cl",    "src/scan/scan_window.cl", "src/scan/scan_total.cl",
    "src/scan/scan_wide.cl",    "src/scan/scan_prefix.cl", "src/scan/scan_exact.cl"};

constexpr std::uint64_t groups_a_unit_cpu = 2;
constexpr std::uint64_t vector_bytes = 16;
constexpr std::uint64_t word = sizeof(std::uint64_t);
constexpr std::uint64_t span = 16;  // totals that a work-item scans, where there are no shuffles

constexpr std::uint64_t stride = 256;  // words between replicas: a multiple of this

// Exact sums: elements that a column of counters takes, each at most 2^16, with room for those beside whole tiles.
constexpr std::uint64_t column_elements = std::uint64_t{1} << 14;
constexpr unsigned exact_columns_cpu = 8;
constexpr unsigned found_words = 10;  // beside a wide number, which work-items find together

// A work-item's vectors. Elsewhere than on GPUs what counts is how fast the kernels compile.
unsigned vectors_of(const DeviceInfo& device, Dtype dtype) {
  if (!device.gpu) return 1;
  return size_of(dtype) < 4 ? tuned.narrow_vectors : tuned.vectors;
}

}  // namespace

std::uint64_t Plan::tile_elements() const noexcept {
  return tile_bytes() / size_of(dtype);
}

std::uint64_t Plan::workspace() const noexcept {
  return state_at() + (exact ? state_words() : 2) * word;
}

unsigned Plan::wide_words() const noexcept {
  // Any element's bits, and room for at least 2^55 of the greatest.
  return static_cast<unsigned>(float_format(dtype).end - float_format(dtype).least + 56 + 31) / 32;
}

unsigned Plan::table_rows() const noexcept {
  // The highest digit that a significand begins in, and as many as it reaches.
  const auto greatest_place = (1U << detail::form_of(dtype).exponent_bits) - 3;
  constexpr unsigned of_window = 4;  // one of 64 bits, from where no element lies above it
  return greatest_place / 16 +
         std::max((static_cast<unsigned>(float_format(dtype).precision) + 15) / 16 + 1, of_window);
}

std::uint64_t Plan::state_at() const noexcept {
  if (exact) return groups * (state_words() + 1) * word;
  if (!once) return groups * 2 * word;
  const std::uint64_t words_of_total = size_of(dtype) == 8 ? 2 : 1;
  return std::uint64_t{tuned.waves} * tuned.replicas * ((groups + stride - 1) / stride * stride) * words_of_total *
         word;
}

std::span<const std::string_view> Plan::files() const noexcept {
  if (exact) return exact_launches;
  return once ? one_launch : two_launches;
}

std::uint64_t Plan::tile_bytes() const noexcept {
  return group * vectors * vector_bytes;
}

std::uint64_t Plan::kept_bytes() const noexcept {
  return once ? (tuned.delay + 1) * tile_bytes() : tile_bytes();
}

std::uint64_t Plan::totals_bytes() const noexcept {
  if (once) return std::uint64_t{2} * (group / sub_group + 2) * word;
  const std::uint64_t words_of_total = exact && size_of(dtype) == 8 ? 3 : 2;
  return (group + (group + span - 1) / span) * words_of_total * word;
}

std::uint64_t Plan::sums_bytes() const noexcept {
  return 2 * wide_words() * word;
}

std::uint64_t Plan::wide_bytes() const noexcept {
  return (wide_words() + found_words + table_rows() * columns) * sizeof(std::uint32_t);
}

std::vector<runtime::Define> Plan::defines() const {
  const std::string suffix = size_of(dtype) == 8 ? "UL" : "U";
  return element_defines(op == ScanOp::sum ? without_sign(dtype) : dtype,
                         {{"MASU_GROUP", group},
                          {"MASU_ITEM_VECTORS", vectors},
                          {"MASU_OP", static_cast<int>(op)},
                          {"MASU_EXCLUSIVE", exclusive},
                          {"MASU_SEGMENTED", segmented},
                          {"MASU_EXACT", exact},
                          {"MASU_FP64", fp64},
                          {"MASU_FROM_BYTES", size_of(from)},
                          {"MASU_FROM_SIGNED", is_signed(from) && size_of(from) != size_of(dtype)},
                          {"MASU_SPAN", span},
                          {"MASU_WIDE_WORDS", wide_words()},
                          {"MASU_TABLE_ROWS", table_rows()},
                          {"MASU_COLUMNS", columns},
                          {"MASU_FOUND", found_words},
                          {"MASU_TILE_BITS", std::bit_width(tile_elements() - 1)},
                          {"MASU_GROUPS_A_UNIT", tuned.exact_groups_a_unit},
                          {"MASU_REPLICAS", tuned.replicas},
                          {"MASU_DELAY", tuned.delay},
                          {"MASU_WAVES", tuned.waves},
                          {"MASU_IDENTITY", std::to_string(scan_identity(dtype, op)) + suffix}});
}

namespace {

// Makes chunks of whole rows, unless work-groups would then have too little or too different work to do.
bool by_rows(Plan& plan, const DeviceInfo& device, std::uint64_t row) {
  const std::uint64_t vector = vector_bytes / size_of(plan.dtype);
  const std::uint64_t rows = plan.matrix_columns > 1 ? 1 : vector / std::gcd(row, vector);  // that end with a vector
  const std::uint64_t unit = rows * row;
  // Little data is spread: each step of a tile waits for the one before.
  while (device.gpu && plan.vectors > 1 && plan.tile_elements() / 2 >= unit && plan.tiles() < device.compute_units) {
    plan.vectors /= 2;
  }
  const std::uint64_t tile = plan.tile_elements();
  const std::uint64_t at_once =
      std::max(1U, device.compute_units) * (device.gpu ? tuned.groups_a_unit : groups_a_unit_cpu);
  const std::uint64_t wanted = std::clamp(plan.count / (at_once * tuned.row_waves), tile, tuned.most_row_tiles * tile);
  const std::uint64_t whole = std::lcm(unit, tile);        // no tile is cut
  const std::uint64_t tiles = (wanted + tile - 1) / tile;  // the last one is as full as rows allow
  plan.chunk = whole <= wanted ? wanted / whole * whole : std::max<std::uint64_t>(tiles * tile / unit, 1) * unit;
  const std::uint64_t groups = (plan.count + plan.chunk - 1) / plan.chunk;
  const auto turns = [&](std::uint64_t tiles, std::uint64_t groups) {
    return tiles * ((groups + at_once - 1) / at_once);
  };
  // In tiles: what other chunks would take, which are read twice, and their other launches.
  const std::uint64_t others = turns(1, plan.tiles());
  if (turns((plan.chunk + tile - 1) / tile, groups) > others + others / 2 + tuned.launch_tiles) return false;
  plan.groups = groups;
  plan.whole_rows = true;
  return true;
}

}  // namespace

Plan make(const DeviceInfo& device, Dtype from, Dtype dtype, std::uint64_t count, ScanOp op, bool exclusive,
          bool segmented, unsigned group, std::uint64_t most_groups, std::uint64_t row, std::uint32_t matrix_columns) {
  Plan plan{.from = from, .dtype = dtype, .op = op, .exclusive = exclusive, .segmented = segmented, .count = count};
  plan.matrix_columns = matrix_columns;
  plan.group = group != 0 ? group : work_group(device, plan.group);
  plan.vectors = vectors_of(device, dtype);
  plan.exact = is_exact_sum(dtype, op);
  plan.fp64 = device.fp64;
  const bool most_groups_given = most_groups != 0;
  if (!most_groups_given) {
    const std::uint64_t gpu_groups = plan.exact ? tuned.exact_chunks_a_unit : tuned.groups_a_unit;
    most_groups = std::max(1U, device.compute_units) * (device.gpu ? gpu_groups : groups_a_unit_cpu);
  }
  if (device.kind == DeviceKind::cuda && can_be_once(plan) && count * size_of(from) > tuned.two_launches_bytes) {
    return in_one_launch(device, plan, most_groups_given ? most_groups : device.compute_units, group);
  }
  if (plan.exact) {
    if (!device.gpu) plan.columns = exact_columns_cpu;
    while (plan.vectors > 1 && plan.exact_bytes() > device.local_bytes) plan.vectors /= 2;
    while (plan.columns > 1 && plan.exact_bytes() > device.local_bytes) plan.columns /= 2;
  }
  if (row != 0 && !most_groups_given && by_rows(plan, device, row)) return plan;
  // A work-group alone takes one launch, not three.
  if (plan.exact && !most_groups_given && plan.tiles() <= tuned.exact_tiles_alone) most_groups = 1;
  std::uint64_t tiles = std::max<std::uint64_t>(1, (plan.tiles() + most_groups - 1) / most_groups);
  if (plan.exact)
    tiles = std::min(tiles, std::max<std::uint64_t>(1, plan.columns * column_elements / plan.tile_elements()));
  plan.chunk = tiles * plan.tile_elements();
  plan.groups = std::max<std::uint64_t>(1, (plan.tiles() + tiles - 1) / tiles);
  return plan;
}

bool can_be_once(const Plan& plan) noexcept {
  return !plan.segmented && !plan.exact;
}

Plan in_one_launch(const DeviceInfo& device, Plan plan, std::uint64_t groups, unsigned group) noexcept {
  plan.once = true;
  plan.chunk = 1;
  // As the preludes have it: on what is not NVIDIA's each work-item is a sub-group.
  plan.sub_group = device.vendor.starts_with("NVIDIA") ? device.warp_size : 1;
  plan.group = group != 0 ? group : tuned.once_group;
  // As much as local memory holds, unless compute units would have nothing to do then.
  plan.vectors = tuned.once_vectors;
  while (plan.vectors > 1 && plan.kept_bytes() + plan.totals_bytes() > device.local_bytes) plan.vectors /= 2;
  if (plan.tiles() < groups) plan.vectors = std::min(plan.vectors, 2U);
  plan.groups = std::clamp<std::uint64_t>(plan.tiles(), 1, std::max<std::uint64_t>(groups, 1));
  return plan;
}

}  // namespace masu::scan_plan
