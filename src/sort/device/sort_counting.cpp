// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_counting.h"

#include "call/operands.h"
#include "histogram/device/slot_kernels.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace masu::sort_counting {

namespace {

using sort_special::group;
constexpr std::uint64_t most_scan_group = 1024;
constexpr std::uint64_t places_each = 32;    // keys that a work-item writes
constexpr std::uint64_t header_bytes = 256;  // of sort_lists.cl
constexpr std::uint64_t zero_end_word = 50;

std::uint64_t values_of(Dtype dtype) {
  return PatternCounts::patterns_of(dtype);
}
std::uint64_t scan_group_of(const DeviceInfo& device, Dtype dtype) {
  return std::min({most_scan_group, std::bit_floor(std::uint64_t{device.max_work_group_size}), values_of(dtype)});
}

// The workspace: where each value's keys begin, how many keys each value has and what counting needs, and, of floats,
// what is moved.
struct Layout {
  Layout(const DeviceInfo& device, Dtype dtype, std::uint64_t keys)
      : counts(device, dtype, keys),
        totals(call::aligned((values_of(dtype) + 2) * sizeof(std::uint64_t))),
        header(totals + call::aligned(counts.bytes())),
        chunks(header + header_bytes),
        moved(chunks + sort_special::most_chunks * 8),
        bytes(is_float(dtype) ? moved + keys * size_of(dtype) : header) {}
  PatternCounts counts;
  std::uint64_t totals;
  std::uint64_t header;
  std::uint64_t chunks;
  std::uint64_t moved;
  std::uint64_t bytes;
};

}  // namespace

std::vector<runtime::Define> defines(const DeviceInfo& device, Dtype dtype) {
  std::vector<runtime::Define> list = sort_special::defines(dtype, 0);
  list.push_back({"MASU_SCAN_GROUP", scan_group_of(device, dtype)});
  list.push_back({"MASU_VALUES", values_of(dtype)});
  list.push_back({"MASU_PLACES_EACH", places_each});
  return list;
}

std::uint64_t workspace_bytes(const DeviceInfo& device, Dtype dtype, std::uint64_t keys) {
  return Layout(device, dtype, keys).bytes;
}

void sort(Stream& stream, const Arrays& arrays, std::uint64_t count, const BufferBase* workspace, DeviceWork& work) {
  const Device& device = stream.device();
  const BufferBase& keys = *arrays.source;
  const Dtype dtype = arrays.dtype;
  const std::uint64_t values = values_of(dtype);
  Layout layout(device.info(), dtype, count);
  const Buffer<std::byte> memory = work.memory_for(device, workspace, layout.bytes);
  const KernelArgument all = call::memory_of(memory);
  const auto at = [&](std::uint64_t place) { return memory.byte_offset() + place; };
  const bool descends = arrays.order == Order::descending;
  const auto flip = static_cast<std::uint32_t>(descends ? values - 1 : 0);

  std::vector<Event> launches;
  layout.counts.count(stream, keys, memory.slice(layout.totals, layout.counts.bytes()), launches);
  work.done(std::move(launches));

  const std::uint64_t scan_group = scan_group_of(device.info(), dtype);
  call::Kernels kernels(device, files, defines(device.info(), dtype), static_cast<unsigned>(scan_group));
  work.done(kernels.launch(stream, "sort_offsets", values / scan_group, all, at(layout.totals), at(0),
                           at(layout.header), count, flip, call::local<std::uint64_t>(2 * scan_group)));
  kernels.in_groups_of(group);
  if (is_float(dtype)) {
    sort_special::move(stream, kernels, keys, memory.slice(layout.moved, count * size_of(dtype)), all,
                       at(layout.header), at(layout.chunks), 0, at(layout.header + 4 * zero_end_word),
                       static_cast<std::uint32_t>(count), descends ? 1 : 0, work);
  }
  constexpr std::uint64_t tile = group * places_each;
  // One more than needed, where the first key does not lie at a multiple of 16 bytes.
  work.done(kernels.launch(stream, "sort_fill", (count + 15 + tile - 1) / tile, *arrays.target, all, at(0),
                           at(layout.header), at(layout.moved), count, flip, LocalMemory{tile * 2 + group * 4}));
}

}  // namespace masu::sort_counting
