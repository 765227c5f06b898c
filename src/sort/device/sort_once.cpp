// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_once.h"

#include "call/operands.h"
#include "elements/elements.h"

#include <algorithm>
#include <utility>

namespace masu::sort_once {

namespace {

constexpr std::uint64_t most_keys = std::uint64_t{1} << 30;  // their places have 30 bits
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
  const sort_plan::Shape& shape = kind.item_bytes() == 4 ? sort_plan::tuned.once_4 : sort_plan::tuned.once_8;
  Plan plan{shape.group, shape.items, shape.resident, sort_plan::tuned.once_adders, sort_plan::tuned.once_ahead, 0, 0};
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
  std::vector<runtime::Define> defines = sort_kernels::key_defines(kind.dtype);
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

bool serves(const DeviceInfo& info, const Arrays& arrays, std::uint64_t count) {
  if (!sort_kernels::aligned(arrays.payload.buffer, arrays.payload.bytes)) return false;
  const Kind kind = Kind::of(arrays);
  return !(kind.indices && !is_float(kind.dtype) && size_of(kind.dtype) == 4 &&
           count >= sort_plan::tuned.asked_orders) &&
         plan_of(info, kind, count).group != 0;
}

std::uint64_t workspace_bytes(const DeviceInfo& info, const Arrays& arrays, std::uint64_t count) {
  const Kind kind = Kind::of(arrays);
  return layout_of(plan_of(info, kind, count), kind, count).bytes;
}

call::Kernels kernels(Stream& stream, const Plan& plan, const Kind& kind) {
  return {stream.device(), files, defines(plan, kind), plan.group};
}

void launch(Stream& stream, call::Kernels& kernels, const Plan& plan, const Arrays& arrays, std::uint64_t count,
            const BufferBase& workspace, const Layout& layout, bool asked, DeviceWork& work) {
  const std::uint64_t base = workspace.byte_offset();
  const BufferBase& keys = *arrays.source;
  const BufferBase& target = arrays.target != nullptr ? *arrays.target : keys;
  const bool in_place = !arrays.has_indices() && call::same_place(keys, target);
  work.done(kernels.launch_together(
      stream, "sort_once", plan.groups, keys, target, arrays.alone() ? target : *arrays.payload.buffer,
      call::memory_of(workspace), base + layout.one, base + layout.other, base + layout.state, base + layout.totals,
      base + layout.tables, static_cast<std::uint32_t>(count), std::uint32_t{arrays.order == Order::descending},
      std::uint32_t{in_place}, std::uint32_t{asked}, LocalMemory{plan.local_bytes}));
}

void sort(Stream& stream, const Arrays& arrays, std::uint64_t count, const BufferBase* workspace, DeviceWork& work) {
  const Kind kind = Kind::of(arrays);
  const Plan plan = plan_of(stream.device().info(), kind, count);
  const Layout layout = layout_of(plan, kind, count);
  const Buffer<std::byte> memory = work.memory_for(stream.device(), workspace, layout.bytes);
  work.done(call::clear(stream, memory, layout.state, layout.tables - layout.state));
  call::Kernels once = kernels(stream, plan, kind);
  launch(stream, once, plan, arrays, count, memory, layout, false, work);
}

}  // namespace masu::sort_once
