// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_kernels.h"

#include "gather/gather_plan.h"
#include "runtime/whole.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace masu::sort_kernels {

std::vector<runtime::Define> key_defines(Dtype dtype, Order order) {
  return {{"MASU_KEY_BYTES", fmt::to_string(size_of(dtype))},
          {"MASU_KEY_CLASS", fmt::to_string(key_class(dtype))},
          {"MASU_DESCENDING", order == Order::descending ? "1" : "0"}};
}

unsigned key_class(Dtype dtype) noexcept {
  if (is_float(dtype)) return 2;
  return is_signed(dtype) ? 1 : 0;
}

bool aligned(const BufferBase* buffer, std::uint64_t bytes) {
  if (buffer == nullptr) return true;
  const bool has_address = buffer->device().kind() == DeviceKind::cuda;
  const auto base = has_address ? reinterpret_cast<std::uintptr_t>(buffer->native()) : 0;
  return (base + buffer->byte_offset()) % bytes == 0;
}

unsigned unit_of(std::initializer_list<std::uint64_t> sizes) noexcept {
  std::uint64_t bits = 8;
  for (const std::uint64_t size : sizes) bits |= size;
  return static_cast<unsigned>(bits & (~bits + 1));
}

unsigned Arrays::record_unit() const noexcept {
  if (records == nullptr) return odd_places ? 1 : unit_of({record_bytes});
  return unit_of({record_bytes, records->byte_offset(), moved_records->byte_offset()});
}

bool same_place(const BufferBase& a, const BufferBase& b) {
  return a.memory()->serial() == b.memory()->serial() && a.byte_offset() == b.byte_offset();
}

std::shared_ptr<runtime::Kernel> kernel(const Device& device, std::span<const std::string_view> files,
                                        std::span<const runtime::Define> defines, std::string_view name) {
  return runtime::own_program(*device.implementation(), files, defines)->kernel(name);
}

void launch(Stream& stream, runtime::Kernel& kernel, std::uint64_t groups, std::uint64_t group,
            std::span<const KernelArgument> arguments, DeviceWork& work) {
  work.done(Event(stream.implementation().launch(kernel, NDRange(groups * group, group), arguments)));
}

void append(std::vector<KernelArgument>& arguments, const BufferBase* buffer, const BufferBase& otherwise) {
  arguments.emplace_back(whole(buffer == nullptr ? otherwise : *buffer));
  arguments.emplace_back(buffer == nullptr ? std::uint64_t{0} : buffer->byte_offset());
}

Buffer<std::byte> memory_of(const Device& device, const BufferBase* scratch, std::uint64_t bytes, DeviceWork& work) {
  if (scratch != nullptr) return Buffer<std::byte>(device, scratch->memory(), scratch->byte_offset(), bytes);
  return work.memory.emplace_back(device, bytes).slice(0, bytes);
}

void gather(Stream& stream, const BufferBase& records, const BufferBase& moved, const BufferBase& indices,
            std::size_t index_bytes, std::size_t record_bytes, std::uint64_t count, std::uint64_t piece_length,
            DeviceWork& work) {
  const auto plan =
      gather_plan::make(stream.device().info(), record_bytes, records.byte_offset() | moved.byte_offset());
  const std::uint64_t units = count * plan.units;
  std::vector<KernelArgument> arguments;
  for (const BufferBase* array : {&records, &moved, &indices}) append(arguments, array, records);
  for (const std::uint64_t number : {units, piece_length, piece_length, piece_length}) arguments.emplace_back(number);
  append(arguments, nullptr, indices);
  arguments.emplace_back(std::uint32_t{0});  // the indices are right
  const std::uint64_t a_group = std::uint64_t{plan.group} * gather_plan::unroll;
  const std::uint64_t groups = std::min((units + a_group - 1) / a_group, most_groups);
  const auto defines = plan.move_defines(index_bytes == 4 ? Dtype::u32 : Dtype::u64);
  launch(stream, *kernel(stream.device(), gather_plan::gather_files, defines, "gather_records"), groups, plan.group,
         arguments, work);
}

void copy(Stream& stream, const BufferBase& source, const BufferBase& target, DeviceWork& work) {
  work.done(Event(stream.implementation().copy(*target.memory(), target.byte_offset(), *source.memory(),
                                               source.byte_offset(), source.size_bytes())));
}

}  // namespace masu::sort_kernels
