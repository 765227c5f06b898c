// SPDX-License-Identifier: Apache-2.0
#include "quantile/selection_device.h"

#include "call/launcher.h"
#include "call/operands.h"
#include "quantile/quantile_plan.h"

namespace masu {

namespace {

// Where the parts of the temporary memory begin; what is selected with stands in front.
struct PartitionLayout {
  std::uint64_t key = 0;
  std::uint64_t parts = 0;  // two numbers for each chunk
  std::uint64_t end = 0;

  PartitionLayout(std::uint64_t selection, std::uint64_t chunks)
      : key(call::aligned(selection)),
        parts(key + call::workspace_alignment),
        end(parts + 2 * chunks * sizeof(std::uint64_t)) {}
};

quantile_plan::Chunks chunks_of(const Device& device, Dtype dtype, std::uint64_t count) {
  return quantile_plan::partition(device.info(), dtype, 0).chunks(count);
}

PartitionLayout layout_of(const Device& device, Dtype dtype, std::uint64_t count) {
  return {selection_bytes(device, dtype, 1, count, 1), chunks_of(device, dtype, count).groups};
}

// The key stands in the workspace.
void launch(Stream& stream, const DevicePartition& what, const Filtered& filtered, const BufferBase& workspace,
            const PartitionLayout& layout) {
  const quantile_plan::Partition plan = quantile_plan::partition(stream.device().info(), what.dtype, what.index_bytes);
  const std::uint64_t count = what.data.size_bytes() / size_of(what.dtype);
  const quantile_plan::Chunks chunks = plan.chunks(count);
  const std::uint64_t begin = workspace.byte_offset();
  const call::Arguments source(what.data, count, chunks.vectors);
  const call::Arguments work(call::memory_of(workspace), begin + layout.key, begin + layout.parts);
  call::Kernels kernels(stream.device(), quantile_plan::Partition::files, plan.defines(), plan.group);
  kernels.launch(stream, "partition_count", chunks.groups, source, work, std::uint32_t{filtered.bounded ? 1U : 0U},
                 begin, begin + filtered.list, begin + filtered.found, call::local<std::uint32_t>(2));
  kernels.launch(stream, "partition_scatter", chunks.groups, source, work, what.result, what.sizes,
                 call::local<std::uint32_t>(plan.group), LocalMemory{plan.staged_bytes()});
}

}  // namespace

std::uint64_t partition_bytes(const Device& device, Dtype dtype, std::uint64_t count) {
  return layout_of(device, dtype, count).end;
}

void partition_on_device(Stream& stream, const DevicePartition& what, std::uint64_t k, const BufferBase& workspace) {
  const Device device = stream.device();
  const std::uint64_t count = what.data.size_bytes() / size_of(what.dtype);
  const PartitionLayout layout = layout_of(device, what.dtype, count);
  const std::uint64_t begin = workspace.byte_offset();
  const Buffer<std::byte> selecting(device, workspace.memory(), begin, layout.key);
  const Buffer<std::byte> key(device, workspace.memory(), begin + layout.key, size_of(what.dtype));
  select_on_device(stream, {what.data, what.dtype, 1}, {&k, 1}, Zeros::any, false, key, selecting);
  launch(stream, what, filtered_of(device, what.dtype, count, k), workspace, layout);
}

void partition_around(Stream& stream, const DevicePartition& what, std::uint64_t bits) {
  const std::uint64_t count = what.data.size_bytes() / size_of(what.dtype);
  const PartitionLayout layout(0, chunks_of(stream.device(), what.dtype, count).groups);
  Buffer<std::byte> workspace(stream.device(), layout.end);
  stream.write_bytes(workspace, layout.key, &bits, size_of(what.dtype));
  launch(stream, what, {}, workspace, layout);
  stream.finish();
}

}  // namespace masu
