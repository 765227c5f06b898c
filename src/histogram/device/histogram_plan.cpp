// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/histogram_plan.h"

#include "elements/clusters.h"

#include "elements/elements.h"

#include <fmt/format.h>

#include <bit>
#include <limits>

namespace masu::histogram_plan {

namespace {

constexpr std::string_view slots_file = "src/histogram/device/histogram_slots.cl";
constexpr std::string_view vectors_file = "src/histogram/device/histogram_vectors.cl";
constexpr std::string_view kernels_file = "src/histogram/device/histogram.cl";
constexpr std::string_view packed_file = "src/histogram/device/histogram_packed.cl";
constexpr std::string_view elements_file = "src/histogram/device/histogram_elements.cl";
constexpr std::string_view partitioned_file = "src/histogram/device/histogram_partitioned.cl";
constexpr std::string_view weighted_file = "src/histogram/device/weighted_histogram.cl";

struct KernelEntry {
  std::string_view name;
  std::string_view file;
  int number;  // MASU_KERNEL
};
constexpr std::array<KernelEntry, 13> kernels{{{"histogram_local", kernels_file, 0},
                                               {"histogram_global", kernels_file, 1},
                                               {"histogram_private", kernels_file, 2},
                                               {"histogram_channels", kernels_file, 3},
                                               {"histogram_packed", packed_file, 0},
                                               {"histogram_rows", kernels_file, 4},
                                               {"histogram_byte_rows", packed_file, 1},
                                               {"histogram_scatter", partitioned_file, 0},
                                               {"histogram_order", partitioned_file, 1},
                                               {"histogram_parts", partitioned_file, 2},
                                               {"histogram_range", partitioned_file, 3},
                                               {"weighted_histogram", weighted_file, 0},
                                               {"weighted_window", weighted_file, 1}}};
const KernelEntry& entry(KernelKind kind) {
  return kernels[static_cast<std::size_t>(kind)];
}

// Work-groups of those that share a compute unit.
unsigned tile_groups(unsigned group) {
  return std::max(1024 / group, 1U);
}

Error too_large(Strategy strategy, const DeviceInfo& device, std::uint64_t limit, std::uint64_t slots) {
  return Error(ErrorCode::unsupported, fmt::format("histogram: strategy {} holds at most {} slots on {}, got {}",
                                                   to_string(strategy), limit, device.id, slots));
}

// The slots of a part, and how many parts there are: local memory holds the part's table, and a tile's worth of
// elements while they are sorted.
unsigned part_shift(const DeviceInfo& device) {
  return std::min(15U, static_cast<unsigned>(std::bit_width(table_limit(device))) - 1);
}
// The largest tile that local memory holds is used, as of large tiles more goes to each part at a time. Of few parts,
// smaller ones share a compute unit.
std::array<Tile, 4> tiles() {
  return {tuned.tile, {1024, 8}, {1024, 4}, {512, 4}};
}
// How many parts fit beside it.
std::uint64_t parts_beside(const DeviceInfo& device, const Tile& tile) {
  constexpr std::uint64_t words_a_part = 5;
  constexpr std::uint64_t aligned = 4;  // words: the parts' end, and padding to a multiple of 16 bytes
  const std::uint64_t limit = table_limit(device);
  const std::uint64_t used = std::uint64_t{work_group(device, tile.group)} * (tile.unroll + 1) + aligned;
  return limit < used ? 0 : std::min(most_parts, (limit - used) / words_a_part);
}
std::uint64_t partitioned_limit(const DeviceInfo& device) {
  return parts_beside(device, tiles().back()) << part_shift(device);
}

Strategy choose(const DeviceInfo& device, std::uint64_t slots, bool rows, bool joint) {
  const std::uint64_t limit = table_limit(device);
  if (!device.gpu && !joint && slots <= tuned.private_slots_cpu) return Strategy::private_;
  if (slots * 2 <= limit) return device.gpu ? Strategy::lanes : Strategy::local;
  if (slots <= limit) return Strategy::local;
  if (device.gpu && !rows && !joint && slots <= 2 * tuned.most_split * (limit / 4 * 4 - 4)) return Strategy::packed;
  return device.gpu && slots <= partitioned_limit(device) ? Strategy::partitioned : Strategy::global;
}

// Copies of a table, and cells of a guide, that share local memory.
void share_local(const DeviceInfo& device, const SlotRule& rule, std::uint64_t slots, unsigned most_copies,
                 Plan& plan) {
  const std::uint64_t limit = table_limit(device);
  plan.copies = static_cast<unsigned>(std::min<std::uint64_t>(most_copies, std::bit_floor(limit / slots)));
  if (rule.kind == SlotRule::Kind::edges && device.gpu && !plan.joint) {
    const std::uint64_t thresholds = (rule.thresholds.size() + 7) / 4;
    const std::uint64_t wanted = std::clamp<std::uint64_t>(8 * rule.reachable, 1024, tuned.most_local_cells);
    for (unsigned copies = plan.copies; copies >= 1; copies /= 2) {
      const std::uint64_t used = slots * copies + thresholds + 16;
      if (used >= limit) continue;
      const auto cells = std::min<std::uint64_t>(std::bit_floor(limit - used), tuned.most_local_cells);
      if (cells < (copies > 1 ? wanted : 2 * std::uint64_t{rule.reachable})) continue;
      plan.copies = copies;
      plan.cells = static_cast<std::uint32_t>(cells);
      plan.guide_words = limit - used + 8;
      plan.guide_local = true;
      break;
    }
  }
  plan.local_words = slots * plan.copies;
}

void guide_in_global_memory(std::span<const SlotRule> columns, Plan& plan) {
  if (plan.guide_local) return;
  for (const SlotRule& column : columns) {
    if (column.kind != SlotRule::Kind::edges) continue;
    const std::uint64_t cells =
        std::bit_ceil(std::clamp<std::uint64_t>(8 * std::uint64_t{column.reachable}, 64, tuned.most_global_cells));
    plan.cells = std::max(plan.cells, static_cast<std::uint32_t>(cells));
    plan.guide_words = std::max(plan.guide_words, 4 * cells);
  }
}

void set_partitioned(const DeviceInfo& device, std::uint64_t slots, Plan& plan) {
  if (slots > partitioned_limit(device)) {
    throw too_large(Strategy::partitioned, device, partitioned_limit(device), slots);
  }
  plan.slot_shift = part_shift(device);
  plan.parts = static_cast<std::uint32_t>(((slots - 1) >> plan.slot_shift) + 1);
  const auto holds = [&](const Tile& one) { return plan.parts <= parts_beside(device, one); };
  const std::array<Tile, 4> all = tiles();
  const Tile tile =
      plan.parts <= tuned.few_parts && holds(tuned.tile_of_few) ? tuned.tile_of_few : *std::ranges::find_if(all, holds);
  plan.group = work_group(device, tile.group);
  plan.unroll = tile.unroll;
  plan.kernel = KernelKind::scatter;
}

}  // namespace

std::string_view Plan::kernel_name() const noexcept {
  return entry(kernel).name;
}

std::vector<std::string_view> Plan::files() const {
  const std::string_view file = entry(kernel).file;
  std::vector<std::string_view> result{"src/elements/elements.cl", "src/elements/totals.cl", slots_file};
  const bool in_vectors = !joint && (file == kernels_file || file == packed_file);
  result.push_back(in_vectors ? vectors_file : elements_file);
  if (file == partitioned_file) result.push_back("src/elements/group_scan.cl");
  result.push_back(file);
  return result;
}

bool positions_in_double(std::span<const SlotRule> columns) noexcept {
  return std::any_of(columns.begin(), columns.end(), [](const SlotRule& one) { return one.position_double; });
}

std::vector<runtime::Define> Plan::defines(const DeviceInfo& device, std::span<const SlotRule> columns) const {
  const SlotRule& first = columns.front();
  // Elements that are computed with as floats; otherwise an element's bits are the value's.
  const bool stored = is_stored_float(first.element) && is_float(first.value);
  const std::string_view position = positions_in_double(columns) ? "double" : "float";
  std::vector<runtime::Define> result{
      {"MASU_VALUE", names_of(first.value).kernel_type},
      {"MASU_AS_VALUE", names_of(stored ? first.element : first.value).from_bits},
      {"MASU_ELEMENT_BYTES", size_of(first.element)},
      {"MASU_ELEMENT_CLASS", element_class(first.value)},
      {"MASU_EXPONENT_BITS", detail::form_of(stored ? first.element : first.value).exponent_bits},
      {"MASU_DISTANCE", is_float(first.value)       ? position
                        : size_of(first.value) == 8 ? "ulong"
                                                    : "uint"},
      {"MASU_POSITION", position},
      {"MASU_EDGE", device.fp64 ? "double" : "float"},
      {"MASU_SLOT", "slot_" + std::string(first.function())},
      {"MASU_TRY", "try_" + std::string(first.function())},
      {"MASU_GUIDE_LOCAL", guide_local},
      {"MASU_ALL_INSIDE", first.all_inside && !joint},
      {"MASU_LAST_PROVED", first.last_proved && !joint},
      {"MASU_POSITION_DOUBLE", positions_in_double(columns)},
      {"MASU_COMPARED", std::ranges::max(columns, {}, &SlotRule::comparisons).comparisons},
      {"MASU_FP64", device.fp64},
      {"MASU_KERNEL", entry(kernel).number},
      {"MASU_GROUP", group},
      {"MASU_UNROLL", unroll},
      {"MASU_RESIDENT", kernel == KernelKind::byte_rows ? tuned.byte_row_resident : tile_groups(group)},
      {"MASU_COPIES", copies},
      {"MASU_ROW_BITS", std::bit_width(copies) + 1},
      {"MASU_CHANNELS", channels},
      {"MASU_ROWS", rows},
      {"MASU_SPLIT", split},
      {"MASU_PACKED", packed_elements},
      {"MASU_ALL_HALVES", first.kind == SlotRule::Kind::bits && first.slots == half_slots && channels == 1},
      {"MASU_PRIVATE_SLOTS", private_slots},
      {"MASU_CLUSTER", cluster},
      {"MASU_SLOT_SHIFT", slot_shift},
      {"MASU_BLOCK", block_elements},
      {"MASU_CLAMP", first.clamps},
      {"MASU_COLUMNS", joint ? columns.size() : 0}};
  if (first.kind == SlotRule::Kind::edges && !joint)
    result.push_back({"MASU_SUM", "sum_" + std::string(first.function())});
  for (std::size_t d = 0; joint && d < columns.size(); ++d) {
    result.push_back({"MASU_TRY_" + std::to_string(d), "try_" + std::string(columns[d].function())});
    result.push_back({"MASU_SLOT_" + std::to_string(d), "slot_" + std::string(columns[d].function())});
  }
  return result;
}

std::uint64_t Plan::groups_for(std::uint64_t count, std::size_t size) const noexcept {
  const std::uint64_t items = joint ? (count + unroll - 1) / unroll : (count * size + 15) / 16;
  // With `split`, as many groups for each share of the bins.
  return std::clamp<std::uint64_t>((items + group - 1) / group * split, split, groups);
}

namespace {

// For `slots` slots of all channels. `plan`: what it is for, nothing else set.
Plan made_for(const DeviceInfo& device, std::span<const SlotRule> columns, std::uint64_t slots, Strategy strategy,
              Plan plan) {
  const SlotRule& rule = columns.front();
  const unsigned channels = plan.channels;
  const bool rows = plan.rows;
  const bool joint = plan.joint;
  plan.strategy = strategy == Strategy::automatic ? choose(device, slots, rows, joint) : strategy;
  const bool bytes = size_of(rule.element) == 1 && !joint;
  unsigned groups_a_unit = 2;
  if (joint) plan.unroll = tuned.joint_unroll;
  if (!device.gpu) plan.unroll = 1;  // caches and prefetchers keep loads in flight there
  plan.group = work_group(device, device.gpu ? 1024 : 64);
  switch (plan.strategy) {
    case Strategy::private_: {
      const std::uint64_t limit = device.gpu ? tuned.private_slots : tuned.private_slots_cpu;
      if (slots > limit) throw too_large(plan.strategy, device, limit, slots);
      plan.kernel = KernelKind::private_;
      // Rounded up, so that few programs serve many bin counts.
      plan.private_slots = std::bit_ceil(std::max(slots, byte_slots));
      plan.group = device.gpu ? work_group(device, 64) : 1;
      groups_a_unit = device.gpu ? 8 : 1;
      break;
    }
    case Strategy::local:
    case Strategy::lanes: {
      const bool lanes = plan.strategy == Strategy::lanes;
      const std::uint64_t limit = table_limit(device);
      plan.kernel = KernelKind::local;
      // One group of 1,024 work-items keeps a compute unit busy; a second one costs its clearing and merging.
      if (device.gpu || joint) groups_a_unit = tuned.local_groups_a_unit;
      if (device.gpu && !bytes) plan.unroll = tuned.local_unroll;
      if (lanes && device.gpu && bytes && channels >= 2 && channels <= 4 && !rows && plan.group % banks == 0 &&
          byte_slots * banks <= limit) {
        plan.kernel = KernelKind::channels;
        plan.copies = banks;
        plan.unroll = channels == 3 ? 2 : 4;
        plan.local_words = byte_slots * banks;
        break;
      }
      if (slots * (lanes ? 2 : 1) > limit) throw too_large(plan.strategy, device, limit / (lanes ? 2 : 1), slots);
      share_local(device, rule, slots, lanes ? banks : 1, plan);
      if (!rows && !joint) plan.cluster = cluster_groups(device);
      break;
    }
    case Strategy::packed: {
      // One vector of the table's words holds what the whole group shares.
      const std::uint64_t limit = 2 * (table_limit(device) / 4 * 4 - 4);
      if (rows) throw Error(ErrorCode::unsupported, "histogram: strategy packed takes contiguous data, got rows");
      plan.split = 2 * static_cast<unsigned>((slots + limit - 1) / limit);
      const unsigned most = std::max(device.compute_units / 2, tuned.most_split);
      if (plan.split / 2 > most) throw too_large(plan.strategy, device, limit * most, slots);
      plan.kernel = KernelKind::packed;
      plan.local_words = ((slots + plan.split - 1) / plan.split + 3) / 4 * 4 + 4;
      if (device.gpu) plan.unroll = tuned.packed_unroll;
      guide_in_global_memory(columns, plan);
      plan.groups = std::max(1U, device.compute_units / plan.split) * plan.split;
      return plan;
    }
    case Strategy::partitioned:
      set_partitioned(device, slots, plan);
      groups_a_unit = tile_groups(plan.group);
      break;
    default: plan.kernel = KernelKind::global; break;
  }
  guide_in_global_memory(columns, plan);
  plan.groups = std::max(1U, device.compute_units * groups_a_unit);
  return plan;
}

}  // namespace

Plan make(const DeviceInfo& device, const SlotRule& rule, unsigned channels, Strategy strategy, bool rows) {
  const std::uint64_t slots = rule.slots * channels;
  // The kernels number the slots of all channels in 32 bits.
  if (slots > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::unsupported, fmt::format("histogram: {} holds at most {} slots of all channels, got {}",
                                                    device.id, std::numeric_limits<std::uint32_t>::max(), slots));
  }
  Plan plan;
  plan.channels = channels;
  plan.rows = rows;
  return made_for(device, {&rule, 1}, slots, strategy, plan);
}

Plan make_joint(const DeviceInfo& device, std::span<const SlotRule> columns, std::uint64_t slots, Strategy strategy) {
  if (strategy == Strategy::private_ || strategy == Strategy::packed) {
    throw Error(ErrorCode::unsupported,
                fmt::format("joint_histogram: strategies on {} are auto, global, local, lanes, partitioned; got {}",
                            device.id, to_string(strategy)));
  }
  Plan plan;
  plan.joint = true;
  return made_for(device, columns, slots, strategy, plan);
}

std::optional<Plan> make_rows(const DeviceInfo& device, const SlotRule& rule, unsigned channels,
                              std::uint64_t row_elements) {
  const std::uint64_t slots = rule.slots * channels;
  if (slots > table_limit(device) || row_elements > tuned.short_row_elements) return std::nullopt;
  Plan plan;
  plan.kernel = KernelKind::rows;
  plan.strategy = Strategy::lanes;
  plan.channels = channels;
  plan.rows = true;
  if (device.gpu && size_of(rule.element) == 1 && channels == 1 && row_elements <= most_byte_row &&
      work_group(device, banks) == banks && byte_row_words <= table_limit(device)) {
    plan.kernel = KernelKind::byte_rows;
    plan.group = banks;
    plan.copies = banks;
    plan.rows_a_group = banks / byte_row_lanes;
    plan.local_words = byte_row_words;
    const std::uint64_t vectors = std::max<std::uint64_t>((row_elements / 16 + byte_row_lanes - 1) / byte_row_lanes, 1);
    const std::uint64_t most = std::uint64_t{tuned.byte_row_vectors} * byte_row_rounds;
    const std::uint64_t parts = (vectors + most - 1) / most;
    const std::uint64_t each = (vectors + parts - 1) / parts;
    plan.unroll =
        static_cast<unsigned>(each <= tuned.byte_row_vectors ? each : (each + byte_row_rounds - 1) / byte_row_rounds);
    plan.groups = device.compute_units * tuned.byte_row_groups;
    return plan;
  }
  // As many work-items as a row has vectors, so that short rows do not leave most of them idle; and so few copies of
  // the table that several groups share a compute unit, and that summing them costs less than counting.
  const std::uint64_t vectors = row_elements * size_of(rule.element) / 16;
  plan.group = work_group(
      device,
      device.gpu ? static_cast<unsigned>(std::clamp<std::uint64_t>(std::bit_ceil(vectors + 1) / 2, 64, 1024)) : 1);
  plan.unroll = device.gpu && vectors >= 4 * std::uint64_t{plan.group} ? 4 : 1;
  const std::uint64_t copies = std::clamp<std::uint64_t>(std::bit_floor(row_elements / slots + 1), 1, 8);
  const std::uint64_t share = table_limit(device) / std::max<std::uint64_t>(1, slots * 4);
  plan.copies =
      device.gpu ? static_cast<unsigned>(std::min(copies, std::bit_floor(std::max<std::uint64_t>(share, 1)))) : 1;
  plan.local_words = slots * plan.copies;
  guide_in_global_memory({&rule, 1}, plan);
  plan.groups = device.compute_units * (device.gpu ? std::max(1U, 2048 / plan.group) : 1);
  if (plan.copies == 1) plan.strategy = Strategy::local;
  return plan;
}

Plan step(const DeviceInfo& device, const Plan& plan, KernelKind kernel) {
  Plan result = plan;
  result.kernel = kernel;
  if (kernel == KernelKind::order) {
    result.local_words = plan.group;
  } else if (kernel == KernelKind::parts) {
    result.group = work_group(device, device.gpu ? 1024 : 64);
    result.local_words = std::uint64_t{1} << plan.slot_shift;
    const std::uint64_t table_bytes = result.local_words * sizeof(std::uint32_t);
    constexpr std::uint64_t share = std::uint64_t{1} << 17;  // of the local memory of a compute unit
    result.groups = device.compute_units * static_cast<unsigned>(std::clamp<std::uint64_t>(share / table_bytes, 1, 2));
    result.unroll = 4;
  }
  return result;
}

Plan make_range(const DeviceInfo& device) {
  Plan plan;
  plan.kernel = KernelKind::range;
  plan.group = work_group(device, device.gpu ? 256 : 64);
  plan.groups = device.compute_units * (device.gpu ? tuned.range_groups_a_unit : 1);
  return plan;
}

unsigned fold_group(const DeviceInfo& device) {
  return work_group(device, 256);
}

std::uint64_t fold_groups(const DeviceInfo& device, std::uint64_t items) {
  const std::uint64_t group = fold_group(device);
  return std::clamp<std::uint64_t>((items + group - 1) / group, 1,
                                   tuned.fold_groups_a_unit * std::max(1U, device.compute_units));
}

std::vector<runtime::Define> fold_defines(const DeviceInfo& device) {
  return {{"MASU_GROUP", fold_group(device)}, {"MASU_DIGITS", 0}};
}

}  // namespace masu::histogram_plan
