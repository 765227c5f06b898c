// SPDX-License-Identifier: Apache-2.0
// The public functions of partitions: forms of two calls.
#include "call/form.h"
#include "quantile/quantile_plan.h"
#include "select/place_finder.h"

#include <fmt/format.h>
#include <masu/quantile.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

namespace {

using call::Operand;

constexpr std::string_view partition_name = "partition";
constexpr std::string_view order_name = "argpartition";

// Elements, or with `index_bytes` their indices, around the one at a place. `sizes`: where the device leaves how many
// are less than it and equal to it; without, the call waits and returns them, and the result may take the place of the
// data.
class Partition final : public call::Primitive {
 public:
  Partition(const Operand& data, const Operand& result, std::uint64_t k, const BufferBase* sizes = nullptr,
            unsigned index_bytes = 0, const BufferBase* workspace = nullptr)
      : Primitive(index_bytes == 0 ? partition_name : order_name, nullptr, workspace),
        in_place_(data.is_same(result)),
        data_(in_place_ ? changes("data", data) : reads("data", data)),
        result_(sizes != nullptr ? returns("the result", result)
                : in_place_      ? data_
                                 : writes("the result", result)),
        sizes_there_(sizes != nullptr ? &returns("the sizes", Operand(*sizes, Dtype::u64)) : nullptr),
        index_bytes_(index_bytes),
        k_(k) {}
  [[nodiscard]] PartitionResult result() const { return {sizes_[0], sizes_[1]}; }

 private:
  void check() override {
    if (k_ >= data_.count()) refuse(fmt::format("k must be below the {} elements, got {}", data_.count(), k_));
    if (sizes_there_ != nullptr) {
      check_result(result_, data_.count());
      check_result(*sizes_there_, 2);
    } else if (data_.is_on_host() && (data_.dtype() != result_.dtype() || data_.count() != result_.count())) {
      refuse(fmt::format("the result must be {} {}, got {} {}", data_.count(), to_string(data_.dtype()),
                         result_.count(), to_string(result_.dtype())));
    } else if (data_.bytes() != result_.bytes()) {
      refuse(fmt::format("the result must have {} bytes, got {}", data_.bytes(), result_.bytes()));
    }
    if (index_bytes_ == sizeof(std::uint32_t) && data_.count() - 1 > std::numeric_limits<std::uint32_t>::max()) {
      refuse(fmt::format("indices of type u32 serve at most 2^32 elements, got {}", data_.count()));
    }
  }
  [[nodiscard]] bool is_empty() const override { return false; }
  // More elements than a selection takes are selected from in passes that the host plans, where it waits.
  [[nodiscard]] bool is_planned() const {
    return sizes_there_ == nullptr && data_.count() > selection_plan::most_elements;
  }
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& device) override {
    call::check_fp64(function_name(), device, data_.dtype());
    return is_planned() ? 0 : partition_bytes(device, data_.dtype(), data_.count());
  }

  void run_on_cpu() override {
    const PartitionResult found = index_bytes_ != 0 ? order_on_cpu() : partition_on_cpu();
    sizes_ = {found.less, found.equal};
    if (sizes_there_ != nullptr) std::memcpy(sizes_there_->data(), sizes_.data(), sizeof sizes_);
  }
  PartitionResult partition_on_cpu() {
    if (!in_place_) return cpu::partition_at(data_.view(), result_.data(), k_);
    const auto* first = static_cast<const std::byte*>(data_.data());
    const std::vector<std::byte> copy(first, first + data_.bytes());
    return cpu::partition_at({data_.dtype(), copy.data(), data_.count()}, result_.data(), k_);
  }
  PartitionResult order_on_cpu() {
    std::vector<std::uint64_t> wide(index_bytes_ == sizeof(std::uint32_t) ? data_.count() : 0);
    std::uint64_t* const all = wide.empty() ? static_cast<std::uint64_t*>(result_.data()) : wide.data();
    const PartitionResult found = cpu::argpartition_at(data_.view(), all, k_);
    std::ranges::transform(wide, static_cast<std::uint32_t*>(result_.data()),
                           [](std::uint64_t index) { return static_cast<std::uint32_t>(index); });
    return found;
  }

  void enqueue(Stream& stream) override {
    const Device& device = stream.device();
    const BufferBase* data = &data_.buffer();
    if (in_place_) {
      data = &copy_.emplace(device, data_.bytes());
      call::copy(stream, data_.buffer(), *data);
    }
    const BufferBase& sizes =
        sizes_there_ != nullptr ? sizes_there_->buffer() : own_sizes_.emplace(device, sizes_.size());
    const DevicePartition what{*data, data_.dtype(), result_.buffer(), index_bytes_, sizes};
    if (is_planned()) partition_around(stream, what, nth_element_bits(*data, data_.dtype(), k_));
    else partition_on_device(stream, what, k_, workspace());
    if (sizes_there_ == nullptr) call::fetch(stream, sizes, 0, sizes_.data(), sizeof sizes_);
  }

  bool in_place_;
  const Operand& data_;
  const Operand& result_;
  const Operand* sizes_there_;
  unsigned index_bytes_;
  std::uint64_t k_;
  std::array<std::uint64_t, 2> sizes_{};   // less, equal
  std::optional<Buffer<std::byte>> copy_;  // of data that is partitioned in place
  std::optional<Buffer<std::uint64_t>> own_sizes_;
};

}  // namespace

PartitionResult partition(const Device& device, const ArrayView& data, MutableArrayView result, std::uint64_t k) {
  const std::uint64_t bytes = data.count * size_of(data.dtype);
  if (call::overlap(data.data, bytes, result.data, bytes)) call::refuse_overlap(partition_name, "data and result");
  return call::run_on<Partition>(device, data, result, k);
}

PartitionResult partition(const Device& device, MutableArrayView data, std::uint64_t k) {
  return call::run_on<Partition>(device, data, data, k);
}

PartitionResult partition(const BufferBase& data, Dtype dtype, BufferBase& result, std::uint64_t k) {
  call::check_apart(partition_name, "data and result", data, result);
  return call::run<Partition>(Operand(data, dtype), Operand(result, dtype), k);
}

PartitionResult partition(BufferBase& data, Dtype dtype, std::uint64_t k) {
  return call::run<Partition>(Operand(data, dtype), Operand(data, dtype), k);
}

std::uint64_t partition_workspace(const Device& device, Dtype dtype, std::uint64_t count) {
  return call::on_cpu(device) || count == 0 ? 0 : partition_bytes(device, dtype, count);
}

Pending<void> partition(Stream& stream, const BufferBase& data, Dtype dtype, const PartitionTargets& to,
                        std::uint64_t k, const BufferBase* workspace) {
  return call::start_into<Partition>(stream, Operand(data, dtype), Operand(to.result, dtype), k, &to.sizes, 0U,
                                     workspace);
}

Pending<void> argpartition(Stream& stream, const BufferBase& data, Dtype dtype, const PartitionTargets& to,
                           Dtype index_dtype, std::uint64_t k, const BufferBase* workspace) {
  if (index_dtype != Dtype::u32 && index_dtype != Dtype::u64) {
    call::refuse(order_name, fmt::format("indices are u64 or u32, got {}", to_string(index_dtype)));
  }
  return call::start_into<Partition>(stream, Operand(data, dtype), Operand(to.result, index_dtype), k, &to.sizes,
                                     static_cast<unsigned>(size_of(index_dtype)), workspace);
}

namespace {

// Where the parts of the temporary memory begin. The selection's memory comes first.
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

quantile_plan::Partition plan_of(const Stream& stream, const DevicePartition& what) {
  return quantile_plan::partition(stream.device().info(), what.dtype, what.index_bytes);
}

call::Kernels program(Stream& stream, const DevicePartition& what) {
  const quantile_plan::Partition plan = plan_of(stream, what);
  call::Kernels kernels(stream.device(), quantile_plan::Partition::files, plan.defines(), plan.group);
  kernels.start({"partition_count", "partition_scatter"});
  return kernels;
}

// The key stands in the workspace.
void launch(Stream& stream, call::Kernels kernels, const DevicePartition& what, const Filtered& filtered,
            const BufferBase& workspace, const PartitionLayout& layout) {
  const quantile_plan::Partition plan = plan_of(stream, what);
  const std::uint64_t count = what.data.size_bytes() / size_of(what.dtype);
  const quantile_plan::Chunks chunks = plan.chunks(count);
  const std::uint64_t begin = workspace.byte_offset();
  const call::Arguments source(what.data, count, chunks.vectors);
  const call::Arguments work(call::memory_of(workspace), begin + layout.key, begin + layout.parts);
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
  call::Kernels kernels = program(stream, what);
  select_on_device(stream, {what.data, what.dtype, 1}, {&k, 1}, Zeros::any, false, key, selecting);
  launch(stream, std::move(kernels), what, filtered_of(device, what.dtype, count, k), workspace, layout);
}

void partition_around(Stream& stream, const DevicePartition& what, std::uint64_t bits) {
  const std::uint64_t count = what.data.size_bytes() / size_of(what.dtype);
  const PartitionLayout layout(0, chunks_of(stream.device(), what.dtype, count).groups);
  Buffer<std::byte> workspace(stream.device(), layout.end);
  stream.write_bytes(workspace, layout.key, &bits, size_of(what.dtype));
  launch(stream, program(stream, what), what, {}, workspace, layout);
  stream.finish();
}

}  // namespace masu
