// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_counting.h"

#include "call/operands.h"
#include "histogram/device/slot_kernels.h"

#include <algorithm>
#include <bit>
#include <utility>

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
