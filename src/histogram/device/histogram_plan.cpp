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
constexpr std::string_view weighted_file = "src/histogram/device/weighted_histogram.cl";

struct KernelEntry {
  std::string_view name;
  std::string_view file;
  int number;  // MASU_KERNEL
};
constexpr std::array<KernelEntry, 15> kernels{{{"histogram_local", kernels_file, 0},
                                               {"histogram_global", kernels_file, 1},
                                               {"histogram_private", kernels_file, 2},
                                               {"histogram_channels", kernels_file, 3},
                                               {"histogram_packed", packed_file, 0},
                                               {"histogram_rows", kernels_file, 4},
                                               {"histogram_byte_rows", packed_file, 1},
                                               {"histogram_elements_local", elements_file, 0},
                                               {"histogram_elements_global", elements_file, 1},
                                               {"histogram_scatter", elements_file, 2},
                                               {"histogram_order", elements_file, 3},
                                               {"histogram_parts", elements_file, 4},
                                               {"histogram_range", elements_file, 5},
                                               {"weighted_histogram", weighted_file, 6},
                                               {"weighted_window", weighted_file, 7}}};
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
// Work-items that bring a tile into the order of its parts, and the elements of each: the largest that local memory
// holds is used, as of large tiles more goes to each part at a time. Of few parts, two smaller ones share a compute
// unit (256 MiB of f32 on an H200, one of 1,024 work-items, two of 512: 10^6 bins, 31 parts, 345 us, 322; 10^7 bins,
// 306 parts, 467, 494; 2026-11).
struct Tile {
  unsigned group;
  unsigned unroll;
};
constexpr std::array<Tile, 4> tiles{{{1024, 16}, {1024, 8}, {1024, 4}, {512, 4}}};
constexpr Tile tile_of_few{512, 16};
constexpr std::uint32_t few_parts = 64;
// How many parts fit beside it.
std::uint64_t parts_beside(const DeviceInfo& device, const Tile& tile) {
  constexpr std::uint64_t words_a_part = 5;
  constexpr std::uint64_t aligned = 4;  // words: the parts' end, and padding to a multiple of 16 bytes
  const std::uint64_t limit = table_limit(device);
  const std::uint64_t used = std::uint64_t{work_group(device, tile.group)} * (tile.unroll + 1) + aligned;
  return limit < used ? 0 : std::min(most_parts, (limit - used) / words_a_part);
}
std::uint64_t partitioned_limit(const DeviceInfo& device) {
  return parts_beside(device, tiles.back()) << part_shift(device);
}

// Reading all values this many times, mostly from the second-level cache, costs less than sorting them into parts.
constexpr unsigned most_split = 3;

Strategy choose(const DeviceInfo& device, std::uint64_t slots, bool rows) {
  const std::uint64_t limit = table_limit(device);
  if (!device.gpu && slots <= private_slots_cpu) return Strategy::private_;
  if (slots * 2 <= limit) return device.gpu ? Strategy::lanes : Strategy::local;
  if (slots <= limit) return Strategy::local;
  if (device.gpu && !rows && slots <= 2 * most_split * (limit / 4 * 4 - 4)) return Strategy::packed;
  return device.gpu && slots <= partitioned_limit(device) ? Strategy::partitioned : Strategy::global;
}

// Copies of a table, and cells of a guide, that share local memory.
void share_local(const DeviceInfo& device, const SlotRule& rule, std::uint64_t slots, unsigned most_copies,
                 Plan& plan) {
  const std::uint64_t limit = table_limit(device);
  plan.copies = static_cast<unsigned>(std::min<std::uint64_t>(most_copies, std::bit_floor(limit / slots)));
  if (rule.kind == SlotRule::Kind::edges && device.gpu) {
    const std::uint64_t thresholds = (rule.thresholds.size() + 7) / 4;
    const std::uint64_t wanted = std::clamp<std::uint64_t>(8 * rule.reachable, 1024, most_local_cells);
    for (unsigned copies = plan.copies; copies >= 1; copies /= 2) {
      const std::uint64_t used = slots * copies + thresholds + 16;
      if (used >= limit) continue;
      const auto cells = std::min<std::uint64_t>(std::bit_floor(limit - used), most_local_cells);
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

void guide_in_global_memory(const SlotRule& rule, Plan& plan) {
  if (rule.kind != SlotRule::Kind::edges || plan.guide_local) return;
  plan.cells = static_cast<std::uint32_t>(
      std::bit_ceil(std::clamp<std::uint64_t>(8 * std::uint64_t{rule.reachable}, 64, most_global_cells)));
  plan.guide_words = 4 * std::uint64_t{plan.cells};
}

void set_partitioned(const DeviceInfo& device, std::uint64_t slots, Plan& plan) {
  if (slots > partitioned_limit(device)) {
    throw too_large(Strategy::partitioned, device, partitioned_limit(device), slots);
  }
  plan.slot_shift = part_shift(device);
  plan.parts = static_cast<std::uint32_t>(((slots - 1) >> plan.slot_shift) + 1);
  const auto holds = [&](const Tile& one) { return plan.parts <= parts_beside(device, one); };
  const Tile tile = plan.parts <= few_parts && holds(tile_of_few) ? tile_of_few : *std::ranges::find_if(tiles, holds);
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
  if (file == kernels_file || file == packed_file) result.push_back(vectors_file);
  if (file == elements_file || file == weighted_file) result.push_back("src/elements/group_scan.cl");
  if (file == weighted_file) result.push_back(elements_file);
  result.push_back(file);
  return result;
}

bool positions_in_double(std::span<const SlotRule> columns) noexcept {
  return std::any_of(columns.begin(), columns.end(), [](const SlotRule& one) { return one.position_double; });
}

std::vector<runtime::Define> Plan::defines(const DeviceInfo& device, std::span<const SlotRule> columns,
                                           bool joint) const {
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
      {"MASU_RESIDENT", kernel == KernelKind::byte_rows ? byte_row_resident : tile_groups(group)},
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
  const bool one_by_one = entry(kernel).file == elements_file && kernel != KernelKind::range;
  const std::uint64_t items = one_by_one ? (count + unroll - 1) / unroll : (count * size + 15) / 16;
  // With `split`, as many groups for each share of the bins.
  return std::clamp<std::uint64_t>((items + group - 1) / group * split, split, groups);
}

Plan make(const DeviceInfo& device, const SlotRule& rule, unsigned channels, Strategy strategy, bool rows) {
  const std::uint64_t slots = rule.slots * channels;
  // The kernels number the slots of all channels in 32 bits.
  if (slots > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::unsupported, fmt::format("histogram: {} holds at most {} slots of all channels, got {}",
                                                    device.id, std::numeric_limits<std::uint32_t>::max(), slots));
  }
  Plan plan;
  plan.strategy = strategy == Strategy::automatic ? choose(device, slots, rows) : strategy;
  plan.channels = channels;
  plan.rows = rows;
  const bool bytes = size_of(rule.element) == 1;
  unsigned groups_a_unit = 2;
  if (!device.gpu) plan.unroll = 1;  // caches and prefetchers keep loads in flight there
  plan.group = work_group(device, device.gpu ? 1024 : 64);
  switch (plan.strategy) {
    case Strategy::private_: {
      const std::uint64_t limit = device.gpu ? private_slots_gpu : private_slots_cpu;
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
      // One group of 1,024 work-items keeps a compute unit busy; a second one costs its clearing and merging (u8, 100
      // MiB on an H200: 30.0 us with one, 33.0 with two). Wider types want more loads in flight (f64 with values on
      // edges, 1 GiB: 247 us with 8, 261 with 4; 2026-11).
      if (device.gpu) {
        groups_a_unit = 1;
        if (!bytes) plan.unroll = 8;
      }
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
      if (!rows) plan.cluster = cluster_groups(device);
      break;
    }
    case Strategy::packed: {
      // One vector of the table's words holds what the whole group shares.
      const std::uint64_t limit = 2 * (table_limit(device) / 4 * 4 - 4);
      if (rows) throw Error(ErrorCode::unsupported, "histogram: strategy packed takes contiguous data, got rows");
      plan.split = 2 * static_cast<unsigned>((slots + limit - 1) / limit);
      const unsigned most = std::max(device.compute_units / 2, most_split);
      if (plan.split / 2 > most) throw too_large(plan.strategy, device, limit * most, slots);
      plan.kernel = KernelKind::packed;
      plan.local_words = ((slots + plan.split - 1) / plan.split + 3) / 4 * 4 + 4;
      if (device.gpu) plan.unroll = packed_unroll;
      guide_in_global_memory(rule, plan);
      plan.groups = std::max(1U, device.compute_units / plan.split) * plan.split;
      return plan;
    }
    case Strategy::partitioned:
      set_partitioned(device, slots, plan);
      groups_a_unit = tile_groups(plan.group);
      break;
    default: plan.kernel = KernelKind::global; break;
  }
  guide_in_global_memory(rule, plan);
  plan.groups = std::max(1U, device.compute_units * groups_a_unit);
  return plan;
}

std::optional<Plan> make_rows(const DeviceInfo& device, const SlotRule& rule, unsigned channels,
                              std::uint64_t row_elements) {
  const std::uint64_t slots = rule.slots * channels;
  if (slots > table_limit(device) || row_elements > short_row_elements) return std::nullopt;
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
    constexpr std::uint64_t most = std::uint64_t{byte_row_vectors} * byte_row_rounds;
    const std::uint64_t parts = (vectors + most - 1) / most;
    const std::uint64_t each = (vectors + parts - 1) / parts;
    plan.unroll =
        static_cast<unsigned>(each <= byte_row_vectors ? each : (each + byte_row_rounds - 1) / byte_row_rounds);
    plan.groups = device.compute_units * byte_row_groups;
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
  guide_in_global_memory(rule, plan);
  plan.groups = device.compute_units * (device.gpu ? std::max(1U, 2048 / plan.group) : 1);
  if (plan.copies == 1) plan.strategy = Strategy::local;
  return plan;
}

Plan make_joint(const DeviceInfo& device, std::span<const SlotRule> columns, std::uint64_t slots, Strategy strategy) {
  const std::uint64_t limit = table_limit(device);
  Plan plan;
  plan.strategy = strategy;
  if (strategy == Strategy::automatic) {
    plan.strategy = slots * 2 <= limit && device.gpu                   ? Strategy::lanes
                    : slots <= limit                                   ? Strategy::local
                    : device.gpu && slots <= partitioned_limit(device) ? Strategy::partitioned
                                                                       : Strategy::global;
  }
  plan.group = work_group(device, device.gpu ? 1024 : 64);
  plan.unroll = device.gpu ? 8 : 1;
  unsigned groups_a_unit = 1;
  switch (plan.strategy) {
    case Strategy::local:
    case Strategy::lanes: {
      const unsigned least = plan.strategy == Strategy::lanes ? 2 : 1;
      if (slots * least > limit) throw too_large(plan.strategy, device, limit / least, slots);
      plan.kernel = KernelKind::elements_local;
      plan.copies =
          least == 1 ? 1 : static_cast<unsigned>(std::min<std::uint64_t>(banks, std::bit_floor(limit / slots)));
      plan.local_words = slots * plan.copies;
      break;
    }
    case Strategy::global:
      plan.kernel = KernelKind::elements_global;
      groups_a_unit = 2;
      break;
    case Strategy::partitioned:
      set_partitioned(device, slots, plan);
      groups_a_unit = tile_groups(plan.group);
      break;
    default:
      throw Error(ErrorCode::unsupported,
                  fmt::format("joint_histogram: strategies on {} are auto, global, local, lanes, partitioned; got {}",
                              device.id, to_string(strategy)));
  }
  for (const SlotRule& column : columns) {
    Plan of_column;
    guide_in_global_memory(column, of_column);
    plan.cells = std::max(plan.cells, of_column.cells);
    plan.guide_words = std::max(plan.guide_words, of_column.guide_words);
  }
  plan.groups = device.compute_units * groups_a_unit;
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
  plan.groups = device.compute_units * (device.gpu ? 8 : 1);
  return plan;
}

unsigned fold_group(const DeviceInfo& device) {
  return work_group(device, 256);
}

std::uint64_t fold_groups(const DeviceInfo& device, std::uint64_t items) {
  constexpr std::uint64_t groups_a_unit = 8;
  const std::uint64_t group = fold_group(device);
  return std::clamp<std::uint64_t>((items + group - 1) / group, 1, groups_a_unit * std::max(1U, device.compute_units));
}

std::vector<runtime::Define> fold_defines(const DeviceInfo& device) {
  return {{"MASU_GROUP", fold_group(device)}, {"MASU_DIGITS", 0}};
}

}  // namespace masu::histogram_plan
