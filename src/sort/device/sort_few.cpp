// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_few.h"

#include "call/operands.h"
#include "sort/device/sort_once.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace masu::sort_few {

using sort_plan::tuned;

namespace {

constexpr std::uint64_t most_keys = std::uint64_t{1} << 23;
constexpr std::uint64_t header_bytes = 64;
constexpr unsigned bins = 2048;
constexpr unsigned local_bits = 12;  // of few_finish's bins

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
  plan.items = size_of(dtype) == 4 ? tuned.few_items : tuned.few_items / 2;
  while (plan.items > 1 && finish_bytes(plan, dtype) > info.local_bytes) plan.items -= 1;
  plan.loads = size_of(dtype) == 4 ? tuned.few_loads : tuned.few_loads / 2;
  while (plan.loads > 1 && part_bytes(plan, dtype) > info.local_bytes) plan.loads -= 1;
  const std::uint64_t units = std::max(1U, static_cast<unsigned>(info.compute_units));
  const auto whole = [&](std::uint64_t keys, std::uint64_t most) {
    return static_cast<unsigned>(std::clamp<std::uint64_t>((keys + group - 1) / group * group, group, most));
  };
  plan.tile = whole(count / (count < tuned.few_two_a_unit ? units : 2 * units), std::uint64_t{group} * plan.loads);
  plan.part = whole(count / (2 * units), std::uint64_t{group} * plan.items / 2);
  plan.most = group * plan.items - plan.part;
  return plan;
}

std::vector<runtime::Define> defines(const DeviceInfo& info, const Plan& plan, Dtype dtype) {
  std::vector<runtime::Define> defines = sort_kernels::key_defines(dtype);
  const auto add = [&](std::string_view name, std::uint64_t value) { defines.emplace_back(name, value); };
  add("MASU_PACKED", 0);
  add("MASU_INDEX_BYTES", 0);
  add("MASU_PAYLOAD_BYTES", 0);
  add("MASU_GROUP", group);
  add("MASU_ITEMS", plan.items);
  add("MASU_LOADS", plan.loads);
  add("MASU_BINS", bins);
  add("MASU_BIN_BITS", local_bits);
  defines.push_back(sort_kernels::unrolled_define(info));
  return defines;
}

bool serves(const DeviceInfo& info, Dtype dtype, std::uint64_t count) {
  return count >= tuned.few_keys && !(is_float(dtype) && count >= tuned.few_floats) &&
         plan_of(info, dtype, count).items != 0 && sort_once::plan_of(info, {dtype}, count).group != 0;
}

std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, std::uint64_t count) {
  return layout_of(plan_of(info, dtype, count), sort_once::plan_of(info, {dtype}, count), dtype, count).bytes;
}

void sort(Stream& stream, const Arrays& arrays, std::uint64_t count, const BufferBase* workspace, DeviceWork& work) {
  const DeviceInfo& info = stream.device().info();
  const Dtype dtype = arrays.dtype;
  const auto number = static_cast<std::uint32_t>(count);
  const Plan plan = plan_of(info, dtype, count);
  const sort_once::Plan once = sort_once::plan_of(info, {dtype}, count);
  const Layout layout = layout_of(plan, once, dtype, count);
  const Buffer<std::byte> memory = work.memory_for(stream.device(), workspace, layout.bytes);
  const KernelArgument all = call::memory_of(memory);
  const auto at = [&](std::uint64_t place) { return memory.byte_offset() + place; };
  const std::uint32_t flipped = arrays.order == Order::descending ? 1 : 0;
  call::Kernels kernels(stream.device(), files, defines(info, plan, dtype), group);
  std::optional<call::Kernels> others;
  if (once.group != 0) {
    others.emplace(sort_once::kernels(stream, once, {dtype}));
    others->start({"sort_once"});
  }
  kernels.start({"few_count", "few_part", "few_finish"});
  work.done(call::clear(stream, memory, layout.once.state, layout.shares - layout.once.state));
  work.done(kernels.launch(stream, "few_count", plan.tiles(count), *arrays.source, all, at(layout.once.state),
                           at(layout.totals), at(layout.shares), number, plan.tile, flipped,
                           call::local<std::uint32_t>(bins + 4)));
  work.done(kernels.launch(stream, "few_part", plan.tiles(count), *arrays.source, all, at(layout.once.one),
                           at(layout.once.state), at(layout.totals), at(layout.shares), at(layout.begins), number,
                           plan.tile, plan.most, plan.part, flipped, LocalMemory{part_bytes(plan, dtype)}));
  work.done(kernels.launch(stream, "few_finish", plan.parts(count), all, at(layout.once.one), at(layout.once.state),
                           at(layout.begins), *arrays.target, flipped, LocalMemory{finish_bytes(plan, dtype)}));
  if (others) sort_once::launch(stream, *others, once, arrays, count, memory, layout.once, true, work);
}

}  // namespace masu::sort_few
