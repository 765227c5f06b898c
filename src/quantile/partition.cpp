// SPDX-License-Identifier: Apache-2.0
// The public functions of partitions: validate, then on the CPU or by launches.
#include "call/launcher.h"
#include "call/operands.h"
#include "elements/order.h"
#include "quantile/quantile_places.h"
#include "quantile/quantile_plan.h"

#include <fmt/format.h>
#include <masu/quantile.h>

#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

namespace {

constexpr std::string_view name = "partition";
constexpr std::string_view order_name = "argpartition";

void check_place(std::string_view function, std::uint64_t count, std::uint64_t k) {
  if (k >= count) call::refuse(function, fmt::format("k must be below the {} elements, got {}", count, k));
}

// Waits. More elements than a selection takes are selected from in passes that the host plans.
PartitionResult part_and_read(const BufferBase& data, Dtype dtype, const BufferBase& result, std::uint64_t k) {
  const Device& device = data.device();
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  call::check_fp64(name, device, dtype);
  Buffer<std::uint64_t> sizes(device, 2);
  const DevicePartition what{data, dtype, result, 0, sizes};
  Stream stream(device, Timing::off);
  if (count > selection_plan::most_elements) {
    partition_around(stream, what, nth_element_bits(data, dtype, k));
  } else {
    const Buffer<std::byte> workspace(device, partition_bytes(device, dtype, count));
    partition_on_device(stream, what, k, workspace);
    stream.finish();
  }
  const std::vector<std::uint64_t> found = sizes.read();
  return {found[0], found[1]};
}

// Validated: on a device, with the caller's workspace or with memory that lives as long as the result.
Pending<void> launched(std::string_view function, Stream& stream, const DevicePartition& what, std::uint64_t k,
                       const BufferBase* given) {
  const Device& device = stream.device();
  call::check_fp64(function, device, what.dtype);
  const std::uint64_t bytes = partition_bytes(device, what.dtype, what.data.size_bytes() / size_of(what.dtype));
  const auto workspace = std::make_shared<Buffer<std::byte>>(
      call::take_workspace(function, given, stream, bytes, {&what.data, &what.result, &what.sizes}));
  partition_on_device(stream, what, k, *workspace);
  return {call::end_of(stream), [workspace] {}};
}

// Results and sizes in memory of the stream's device; returns the number of elements.
std::uint64_t check_targets(std::string_view function, const Stream& stream, const BufferBase& data, Dtype dtype,
                            const PartitionTargets& to, std::size_t result_bytes, std::uint64_t k) {
  call::check_stream(function, stream, data);
  const std::uint64_t count = call::count_of(function, data, dtype);
  check_place(function, count, k);
  const Device& device = stream.device();
  call::check_results(function, "the result", to.result, device, count, result_bytes, {&data});
  call::check_results(function, "the sizes", to.sizes, device, 2, sizeof(std::uint64_t), {&data, &to.result});
  return count;
}

// How many elements are less than the one at an index, and equal to it.
PartitionResult sizes_around(const ArrayView& data, std::uint64_t index) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span elements(static_cast<const T*>(data.data), data.count);
    const KeyOf<T> key = ordered_key(elements[index]);
    PartitionResult found;
    for (const T& element : elements) {
      const KeyOf<T> here = ordered_key(element);
      found.less += here < key ? 1 : 0;
      found.equal += here == key ? 1 : 0;
    }
    return found;
  });
}

void write_sizes(const BufferBase& sizes, const PartitionResult& found) {
  const std::array<std::uint64_t, 2> both{found.less, found.equal};
  std::memcpy(call::host_address(sizes), both.data(), sizeof both);
}

}  // namespace

PartitionResult partition(const Device& device, const ArrayView& data, MutableArrayView result, std::uint64_t k) {
  const FloatingPointScope usual;
  if (data.dtype != result.dtype || data.count != result.count) {
    call::refuse(name, fmt::format("the result must be {} {}, got {} {}", data.count, to_string(data.dtype),
                                   result.count, to_string(result.dtype)));
  }
  const std::uint64_t bytes = data.count * size_of(data.dtype);
  if (call::overlap(data.data, bytes, result.data, bytes)) call::refuse_overlap(name, "data and result");
  check_place(name, data.count, k);
  if (call::on_cpu(device)) return cpu::partition_at(data, result.data, k);
  const Buffer<std::byte> there = call::upload(device, data);
  Buffer<std::byte> parted(device, bytes);
  const PartitionResult found = part_and_read(there, data.dtype, parted, k);
  call::download_bytes(parted, result.data);
  return found;
}

PartitionResult partition(const Device& device, MutableArrayView data, std::uint64_t k) {
  const FloatingPointScope usual;
  check_place(name, data.count, k);
  if (call::on_cpu(device)) {
    const auto* first = static_cast<const std::byte*>(data.data);
    const std::vector<std::byte> copy(first, first + data.count * size_of(data.dtype));
    return cpu::partition_at({data.dtype, copy.data(), data.count}, data.data, k);
  }
  const Buffer<std::byte> there = call::upload(device, {data.dtype, data.data, data.count});
  Buffer<std::byte> parted(device, there.size());
  const PartitionResult found = part_and_read(there, data.dtype, parted, k);
  call::download_bytes(parted, data.data);
  return found;
}

PartitionResult partition(const BufferBase& data, Dtype dtype, BufferBase& result, std::uint64_t k) {
  const FloatingPointScope usual;
  const std::uint64_t count = call::count_of(name, data, dtype);
  call::check_one_device(name, data, result);
  call::check_writable(name, result, "the result");
  if (result.size_bytes() != data.size_bytes()) {
    call::refuse(name, fmt::format("the result must have {} bytes, got {}", data.size_bytes(), result.size_bytes()));
  }
  call::check_apart(name, "data and result", data, result);
  check_place(name, count, k);
  if (!call::on_cpu(data.device())) return part_and_read(data, dtype, result, k);
  return cpu::partition_at(call::host_view(data, dtype), call::host_address(result), k);
}

PartitionResult partition(BufferBase& data, Dtype dtype, std::uint64_t k) {
  const std::uint64_t count = call::count_of(name, data, dtype);
  call::check_writable(name, data, "data");
  check_place(name, count, k);
  if (call::on_cpu(data.device())) {
    return partition(data.device(), MutableArrayView(dtype, call::host_address(data), count), k);
  }
  Buffer<std::byte> parted(data.device(), data.size_bytes());
  const PartitionResult found = part_and_read(data, dtype, parted, k);
  Buffer<std::byte> target(data.device(), data.memory(), data.byte_offset(), data.size_bytes());
  target.copy_from(parted);
  return found;
}

std::uint64_t partition_workspace(const Device& device, Dtype dtype, std::uint64_t count) {
  return call::on_cpu(device) || count == 0 ? 0 : partition_bytes(device, dtype, count);
}

Pending<void> partition(Stream& stream, const BufferBase& data, Dtype dtype, const PartitionTargets& to,
                        std::uint64_t k, const BufferBase* workspace) {
  const FloatingPointScope usual;
  check_targets(name, stream, data, dtype, to, size_of(dtype), k);
  if (!call::on_cpu(stream.device())) {
    return launched(name, stream, {data, dtype, to.result, 0, to.sizes}, k, workspace);
  }
  stream.finish();  // what was given to it before may still change the data
  write_sizes(to.sizes, cpu::partition_at(call::host_view(data, dtype), call::host_address(to.result), k));
  return {Event(), [] {}};
}

Pending<void> argpartition(Stream& stream, const BufferBase& data, Dtype dtype, const PartitionTargets& to,
                           Dtype index_dtype, std::uint64_t k, const BufferBase* workspace) {
  const FloatingPointScope usual;
  if (index_dtype != Dtype::u32 && index_dtype != Dtype::u64) {
    call::refuse(order_name, fmt::format("indices are u64 or u32, got {}", to_string(index_dtype)));
  }
  const auto index_bytes = static_cast<unsigned>(size_of(index_dtype));
  const std::uint64_t count = check_targets(order_name, stream, data, dtype, to, index_bytes, k);
  if (index_dtype == Dtype::u32 && count - 1 > std::numeric_limits<std::uint32_t>::max()) {
    call::refuse(order_name, fmt::format("indices of type u32 serve at most 2^32 elements, got {}", count));
  }
  if (!call::on_cpu(stream.device())) {
    return launched(order_name, stream, {data, dtype, to.result, index_bytes, to.sizes}, k, workspace);
  }
  stream.finish();
  const ArrayView here = call::host_view(data, dtype);
  std::byte* const indices = call::host_address(to.result);
  std::vector<std::uint64_t> wide(index_dtype == Dtype::u32 ? count : 0);
  auto* const all = index_dtype == Dtype::u32 ? wide.data() : reinterpret_cast<std::uint64_t*>(indices);
  argpartition_rows(here, 1, {&k, 1}, {all, count});
  write_sizes(to.sizes, sizes_around(here, all[k]));
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(wide[i]);
    std::memcpy(indices + i * sizeof index, &index, sizeof index);
  }
  return {Event(), [] {}};
}

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
