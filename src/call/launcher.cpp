// SPDX-License-Identifier: Apache-2.0
#include "call/launcher.h"

#include "runtime/backend.h"
#include "runtime/program_cache.h"

#include <algorithm>

namespace masu::call {

KernelArgument memory_of(const BufferBase& buffer) {
  const auto& memory = buffer.memory();
  return KernelArgument(Buffer<const std::byte>(buffer.device(), memory, 0, memory->bytes()));
}

void Arguments::add(const At& at) {
  add(memory_of(at.buffer));
  add(KernelArgument(at.offset));
}

Kernels::Kernels(const Device& device, std::span<const std::string_view> files,
                 std::span<const runtime::Define> defines, unsigned group)
    : module_(runtime::own_program(*device.implementation(), files, defines)), group_(group) {}

Event Kernels::launch_with(Stream& stream, std::string_view name, std::uint64_t groups, const Arguments& arguments,
                           bool together) {
  auto found = std::ranges::find_if(kernels_, [name](const auto& kernel) { return kernel->name() == name; });
  if (found == kernels_.end()) found = kernels_.insert(found, module_->kernel(name));
  const NDRange range(groups * group_, group_);
  auto& commands = stream.implementation();
  return Event(together ? commands.launch_together(**found, range, arguments.list())
                        : commands.launch(**found, range, arguments.list()));
}

Event clear(Stream& stream, const BufferBase& buffer, std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint32_t zero = 0;
  return Event(
      stream.implementation().fill(*buffer.memory(), buffer.byte_offset() + offset, bytes, &zero, sizeof zero));
}

Event copy(Stream& stream, const BufferBase& from, const BufferBase& to) {
  return Event(stream.implementation().copy(*to.memory(), to.byte_offset(), *from.memory(), from.byte_offset(),
                                            from.size_bytes()));
}

double seconds_of(std::span<const Event> events) {
  double sum = 0;
  for (const Event& event : events) sum += event.seconds();
  return sum;
}

}  // namespace masu::call
