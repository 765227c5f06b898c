// SPDX-License-Identifier: Apache-2.0
#include "call/launcher.h"
#include "call/operands.h"
#include "elements/elements.h"
#include "histogram/device/slot_kernels.h"
#include "runtime/backend.h"
#include "sort/device/sort_device.h"
#include "sort/device/sort_keys.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace masu::sort_few {

namespace {

constexpr std::uint64_t least_keys = std::uint64_t{1} << 14;
constexpr std::uint64_t most_keys = std::uint64_t{1} << 23;
constexpr std::uint64_t many_keys = std::uint64_t{1} << 19;  // from which on there are more work-groups
constexpr std::uint64_t header_bytes = 64;
constexpr unsigned bins = 2048;
constexpr unsigned local_bits = 12;                            // of few_finish's bins
constexpr std::uint64_t many_floats = std::uint64_t{1} << 21;  // whose buckets differ much in size

std::uint64_t finish_bytes(const Plan& plan, Dtype dtype) {
  return (std::uint64_t{2} << local_bits) + (group + 4) * std::uint64_t{4} +
         std::uint64_t{group} * plan.items * size_of(dtype);
}

std::uint64_t part_bytes(const Plan& plan, Dtype dtype) {
  return (2 * bins + group + 4) * std::uint64_t{4} + std::uint64_t{group} * plan.loads * size_of(dtype);
}

// Where things begin in the temporary memory. From the header to `totals` and these is cleared.
struct Layout {
  sort_once::Layout once;
  std::uint64_t totals = 0;
  std::uint64_t shares = 0;
  std::uint64_t begins = 0;
  std::uint64_t bytes = 0;
};

Layout layout_of(const Plan& plan, const sort_once::Plan& once, Dtype dtype, std::uint64_t count) {
  Layout layout;
  std::uint64_t end = 0;
  const auto reserve = [&](std::uint64_t bytes) { return std::exchange(end, end + (bytes + 15) / 16 * 16); };
  layout.once.one = reserve(count * size_of(dtype));
  layout.once.state = reserve(header_bytes);
  layout.once.totals = reserve(sort_once::totals_bytes(size_of(dtype)));
  layout.totals = reserve(bins * std::uint64_t{4});
  layout.shares = reserve(plan.tiles(count) * bins * 4);
  layout.begins = reserve((plan.parts(count) + 1) * 4);
  // When sort_once begins, nothing reads the shares any more.
  layout.once.tables = layout.shares;
  layout.bytes = std::max(end, layout.shares + (once.group != 0 ? once.table_bytes(count) : 0));
  return layout;
}

}  // namespace

Plan plan_of(const DeviceInfo& info, Dtype dtype, std::uint64_t count) {
  if (size_of(dtype) < 4 || info.max_work_group_size < group || count >= most_keys) return {};
  Plan plan;
  plan.items = size_of(dtype) == 4 ? 24 : 12;
  while (plan.items > 1 && finish_bytes(plan, dtype) > info.local_bytes) plan.items -= 1;
  plan.loads = size_of(dtype) == 4 ? 16 : 8;
  while (plan.loads > 1 && part_bytes(plan, dtype) > info.local_bytes) plan.loads -= 1;
  const std::uint64_t units = std::max(1U, static_cast<unsigned>(info.compute_units));
  const auto whole = [&](std::uint64_t keys, std::uint64_t most) {
    return static_cast<unsigned>(std::clamp<std::uint64_t>((keys + group - 1) / group * group, group, most));
  };
  plan.tile = whole(count / (count < many_keys ? units : 2 * units), std::uint64_t{group} * plan.loads);
  plan.part = whole(count / (2 * units), std::uint64_t{group} * plan.items / 2);
  plan.most = group * plan.items - plan.part;
  return plan;
}

std::vector<runtime::Define> defines(const DeviceInfo& info, const Plan& plan, Dtype dtype) {
  std::vector<runtime::Define> defines = sort_kernels::key_defines(dtype, Order::ascending);
  const auto add = [&](std::string_view name, std::uint64_t value) { defines.emplace_back(name, value); };
  add("MASU_PACKED", 0);
  add("MASU_INDEX_BYTES", 0);
  add("MASU_PAYLOAD_BYTES", 0);
  add("MASU_GROUP", group);
  add("MASU_ITEMS", plan.items);
  add("MASU_LOADS", plan.loads);
  add("MASU_BINS", bins);
  add("MASU_BIN_BITS", local_bits);
  defines.push_back(sort_keys::unrolled_define(info));
  return defines;
}

bool serves(const DeviceInfo& info, Dtype dtype, std::uint64_t count) {
  return count >= least_keys && !(is_float(dtype) && count >= many_floats) && plan_of(info, dtype, count).items != 0 &&
         sort_once::plan_of(info, {dtype}, count).group != 0;
}

std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, std::uint64_t count) {
  return layout_of(plan_of(info, dtype, count), sort_once::plan_of(info, {dtype}, count), dtype, count).bytes;
}

void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase& result, const SortJob& job,
          const BufferBase* workspace, DeviceWork& work) {
  const DeviceInfo& info = stream.device().info();
  const std::uint64_t count = job.pieces.count;
  const auto number = static_cast<std::uint32_t>(count);
  const Plan plan = plan_of(info, dtype, count);
  const sort_once::Plan once = sort_once::plan_of(info, {dtype}, count);
  const Layout layout = layout_of(plan, once, dtype, count);
  const Buffer<std::byte> memory = work.memory_for(stream.device(), workspace, layout.bytes);
  const KernelArgument all = call::memory_of(memory);
  const auto at = [&](std::uint64_t place) { return memory.byte_offset() + place; };
  const std::uint32_t flipped = job.order == Order::descending ? 1 : 0;
  call::Kernels kernels(stream.device(), files, defines(info, plan, dtype), group);
  work.done(call::clear(stream, memory, layout.once.state, layout.shares - layout.once.state));
  work.done(kernels.launch(stream, "few_count", plan.tiles(count), keys, all, at(layout.once.state), at(layout.totals),
                           at(layout.shares), number, plan.tile, flipped, call::local<std::uint32_t>(bins + 4)));
  work.done(kernels.launch(stream, "few_part", plan.tiles(count), keys, all, at(layout.once.one), at(layout.once.state),
                           at(layout.totals), at(layout.shares), at(layout.begins), number, plan.tile, plan.most,
                           plan.part, flipped, LocalMemory{part_bytes(plan, dtype)}));
  work.done(kernels.launch(stream, "few_finish", plan.parts(count), all, at(layout.once.one), at(layout.once.state),
                           at(layout.begins), result, flipped, LocalMemory{finish_bytes(plan, dtype)}));
  if (once.group != 0) sort_once::launch(stream, once, keys, dtype, &result, {}, job, memory, layout.once, true, work);
}

}  // namespace masu::sort_few

namespace masu::sort_counting {

namespace {

constexpr std::uint64_t most_group = 1024;  // of the kernel that scans
constexpr std::uint64_t fill_group = 256;
constexpr std::uint64_t fill_vectors = 4;

std::uint64_t values_of(Dtype dtype) {
  return PatternCounts::patterns_of(dtype);
}

// The workspace: where each value's keys begin, then how many keys each value has and what counting needs.
struct Layout {
  Layout(const DeviceInfo& device, Dtype dtype, std::uint64_t keys)
      : counts(device, dtype, keys),
        totals(call::aligned((values_of(dtype) + 2) * sizeof(std::uint64_t))),
        bytes(totals + counts.bytes()) {}
  PatternCounts counts;
  std::uint64_t totals;
  std::uint64_t bytes;
};

}  // namespace

std::vector<runtime::Define> defines(Dtype dtype, std::uint64_t group) {
  std::vector<runtime::Define> list = sort_kernels::key_defines(dtype, Order::ascending);
  list.push_back({"MASU_GROUP", group});
  list.push_back({"MASU_VALUES", values_of(dtype)});
  list.push_back({"MASU_VECTORS", fill_vectors});
  return list;
}

std::uint64_t workspace_bytes(const DeviceInfo& device, Dtype dtype, std::uint64_t keys) {
  return Layout(device, dtype, keys).bytes;
}

void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase& result, const SortJob& job,
          const BufferBase* workspace, DeviceWork& work) {
  const Device& device = stream.device();
  const DeviceInfo& info = device.info();
  const std::uint64_t count = job.pieces.count;
  const std::uint64_t values = values_of(dtype);
  Layout layout(info, dtype, count);
  const Buffer<std::byte> memory = work.memory_for(device, workspace, layout.bytes);
  const Buffer<std::byte> offsets = memory.slice(0, layout.totals);
  const Buffer<std::byte> totals = memory.slice(layout.totals, layout.counts.bytes());
  const auto flip = static_cast<std::uint32_t>(job.order == Order::descending ? values - 1 : 0);

  std::vector<Event> launches;
  layout.counts.count(stream, keys, totals, launches);
  for (Event& launch : launches) work.done(std::move(launch));

  const auto kernels = [&](std::uint64_t group) {
    return call::Kernels(device, files, defines(dtype, group), static_cast<unsigned>(group));
  };
  const std::uint64_t scan_group =
      std::min<std::uint64_t>({most_group, std::bit_floor(std::uint64_t{info.max_work_group_size}), values});
  work.done(kernels(scan_group)
                .launch(stream, "sort_offsets", values / scan_group, call::memory_of(totals), totals.byte_offset(),
                        offsets.byte_offset(), flip, call::local<std::uint64_t>(2 * scan_group)));

  const std::uint64_t group = std::min(fill_group, scan_group);
  const std::uint64_t tile = group * fill_vectors * 16 / size_of(dtype);
  // One more than needed, where the first key does not lie at a multiple of 16 bytes.
  work.done(kernels(group).launch(stream, "sort_fill", (count + 15 + tile - 1) / tile, result, offsets, count, flip,
                                  call::local<std::uint32_t>(2)));
}

}  // namespace masu::sort_counting

namespace masu::sort_once {

namespace {

constexpr std::uint64_t most_keys = std::uint64_t{1} << 30;  // their places have 30 bits
constexpr std::uint64_t asked_orders = std::uint64_t{1}
                                       << 22;  // orders of so many integers of 4 bytes are left to sort_keys
constexpr unsigned least_items = 4;
constexpr unsigned count_bytes = 64 << 10;       // of the counters of all digits
constexpr unsigned resident_local_bytes = 1024;  // that a compute unit keeps for each work-group

unsigned columns_of(const Kind& kind) {
  return count_bytes / static_cast<unsigned>(size_of(kind.dtype) * sort_plan::digits * 4);
}
// Items on their way and in order; counters of sub-groups of 32; places of digits.
std::uint64_t local_bytes_of(const Plan& plan, const Kind& kind) {
  const std::uint64_t pass =
      plan.tile() * kind.item_bytes() * 2 + (plan.group / 32 + 1) * sort_plan::digits * std::uint64_t{4} + 64;
  return std::max<std::uint64_t>(pass, count_bytes);
}

}  // namespace

Plan plan_of(const DeviceInfo& info, const Kind& kind, std::uint64_t count) {
  const std::size_t key_bytes = size_of(kind.dtype);
  const bool moves = kind.value_bytes != 0;
  const bool carried = kind.indices || kind.value_bytes <= 2 || kind.value_bytes == 4;
  if (info.kind != DeviceKind::cuda || (key_bytes != 4 && (key_bytes != 8 || (moves && !kind.indices))) || !carried ||
      count >= most_keys) {
    return {};
  }
  Plan plan{768, 16, 1, 2, 16, 0, 0};
  if (kind.item_bytes() == 4) plan.items *= 2;
  const auto fits = [&] {
    plan.local_bytes = local_bytes_of(plan, kind);
    return plan.local_bytes <= info.local_bytes &&
           (plan.local_bytes + resident_local_bytes) * plan.resident <= info.local_bytes_total;
  };
  while (!fits() && plan.items > 4) --plan.items;
  plan.groups = info.compute_units * plan.resident;
  if (!fits() || info.max_work_group_size < plan.group || plan.groups <= plan.adders) return {};
  // Few keys go to all work-groups that sort. Few different sizes, each of which makes a program of its own.
  while (plan.items / 2 >= least_items &&
         count <= std::uint64_t{plan.group} * (plan.items / 2) * (plan.groups - plan.adders)) {
    plan.items /= 2;
  }
  plan.local_bytes = local_bytes_of(plan, kind);
  return plan;
}

std::vector<runtime::Define> defines(const Plan& plan, const Kind& kind) {
  std::vector<runtime::Define> defines = sort_kernels::key_defines(kind.dtype, Order::ascending);
  const auto add = [&](std::string_view name, std::uint64_t value) { defines.emplace_back(name, value); };
  add("MASU_GROUP", plan.group);
  add("MASU_ITEMS", plan.items);
  add("MASU_RESIDENT", plan.resident);
  add("MASU_ADDERS", plan.adders);
  add("MASU_AHEAD", plan.ahead);
  add("MASU_PAYLOAD_BYTES", kind.value_bytes);
  defines.emplace_back("MASU_VALUE", unsigned_type(std::max(kind.value_bytes, std::size_t{1})));
  add("MASU_INDICES", kind.indices ? 1 : 0);
  add("MASU_COLUMNS", columns_of(kind));
  return defines;
}

namespace {

Layout layout_of(const Plan& plan, const Kind& kind, std::uint64_t count) {
  Layout layout;
  std::uint64_t end = 0;
  const auto reserve = [&](std::uint64_t bytes) { return std::exchange(end, end + (bytes + 15) / 16 * 16); };
  layout.one = reserve(count * kind.item_bytes());
  if (kind.value_bytes != 0) layout.other = reserve(count * kind.item_bytes());
  layout.state = reserve(8);
  layout.totals = reserve(totals_bytes(size_of(kind.dtype)));
  layout.tables = reserve(plan.table_bytes(count));
  layout.bytes = end;
  return layout;
}

}  // namespace

bool serves(const DeviceInfo& info, Dtype dtype, const Payload& payload, std::uint64_t count) {
  if (!sort_kernels::aligned(payload.buffer, payload.bytes)) return false;
  const Kind kind = Kind::of(dtype, payload);
  return !(kind.indices && !is_float(dtype) && size_of(dtype) == 4 && count >= asked_orders) &&
         plan_of(info, kind, count).group != 0;
}

std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, const Payload& payload, std::uint64_t count) {
  const Kind kind = Kind::of(dtype, payload);
  return layout_of(plan_of(info, kind, count), kind, count).bytes;
}

void launch(Stream& stream, const Plan& plan, const BufferBase& keys, Dtype dtype, const BufferBase* result,
            const Payload& payload, const SortJob& job, const BufferBase& workspace, const Layout& layout, bool asked,
            DeviceWork& work) {
  const Kind kind = Kind::of(dtype, payload);
  const std::uint64_t base = workspace.byte_offset();
  const BufferBase& target = result != nullptr ? *result : keys;
  const bool in_place = !kind.indices && call::same_place(keys, target);
  call::Kernels kernels(stream.device(), files, defines(plan, kind), plan.group);
  work.done(kernels.launch_together(
      stream, "sort_once", plan.groups, keys, target, payload.buffer != nullptr ? *payload.buffer : target,
      call::memory_of(workspace), base + layout.one, base + layout.other, base + layout.state, base + layout.totals,
      base + layout.tables, static_cast<std::uint32_t>(job.pieces.count), std::uint32_t{job.order == Order::descending},
      std::uint32_t{in_place}, std::uint32_t{asked}, LocalMemory{plan.local_bytes}));
}

void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result, const Payload& payload,
          const SortJob& job, const BufferBase* workspace, DeviceWork& work) {
  const Kind kind = Kind::of(dtype, payload);
  const Plan plan = plan_of(stream.device().info(), kind, job.pieces.count);
  const Layout layout = layout_of(plan, kind, job.pieces.count);
  const Buffer<std::byte> memory = work.memory_for(stream.device(), workspace, layout.bytes);
  work.done(call::clear(stream, memory, layout.state, layout.tables - layout.state));
  launch(stream, plan, keys, dtype, result, payload, job, memory, layout, false, work);
}

}  // namespace masu::sort_once
