// SPDX-License-Identifier: Apache-2.0
#include "call/launcher.h"

#include "runtime/backend.h"
#include "runtime/parallel.h"

#include <algorithm>

namespace masu::call {

KernelArgument memory_of(const BufferBase& buffer) {
  return KernelArgument::whole_memory(buffer);
}

void Arguments::add(const At& at) {
  add(memory_of(at.buffer));
  list_.emplace_back(at.offset);
}

Kernels::Kernels(const Device& device, std::span<const std::string_view> files,
                 std::span<const runtime::Define> defines, unsigned group)
    : module_(runtime::own_program(*device.implementation(), files, defines)), group_(group) {}

Kernels::~Kernels() {
  for (std::shared_ptr<runtime::Kernel>& kernel : kernels_) module_->give_kernel(std::move(kernel));
}

bool Kernels::holds(std::string_view name) {
  if (std::ranges::any_of(kernels_, [name](const auto& kernel) { return kernel->name() == name; })) return true;
  std::shared_ptr<runtime::Kernel> idle = module_->take_idle(name);
  if (idle == nullptr) return false;
  kernels_.push_back(std::move(idle));
  return true;
}

void Kernels::prepare(std::initializer_list<KernelOf> wanted) {
  std::vector<const KernelOf*> missing;
  for (const KernelOf& kernel : wanted) {
    if (kernel.name.empty() || !kernel.program.module_->compiles_apart()) continue;
    if (!kernel.program.holds(kernel.name)) missing.push_back(&kernel);
  }
  if (missing.empty()) return;
  std::vector<std::shared_ptr<runtime::Kernel>> made(missing.size());
  runtime::parallel_tasks(missing.size(),
                          [&](std::uint64_t i) { made[i] = missing[i]->program.module_->kernel(missing[i]->name); });
  for (std::size_t i = 0; i < made.size(); ++i) missing[i]->program.kernels_.push_back(std::move(made[i]));
}

Event Kernels::launch_with(Stream& stream, std::string_view name, std::uint64_t groups, const Arguments& arguments,
                           bool together) {
  auto found = std::ranges::find_if(kernels_, [name](const auto& kernel) { return kernel->name() == name; });
  if (found == kernels_.end()) found = kernels_.insert(found, module_->take_kernel(name));
  const NDRange range(groups * group_, group_);
  auto& commands = stream.implementation();
  const runtime::Mark mark = commands.own_commands;
  Event done(together ? commands.launch_together(**found, range, arguments.list(), mark)
                      : commands.launch(**found, range, arguments.list(), mark));
  runtime::settle(commands, **found);
  return done;
}

Event clear(Stream& stream, const BufferBase& buffer, std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint32_t zero = 0;
  auto& commands = stream.implementation();
  return Event(
      commands.fill(*buffer.memory(), buffer.byte_offset() + offset, bytes, &zero, sizeof zero, commands.own_commands));
}

Event fill(Stream& stream, const BufferBase& buffer, const void* element, std::size_t element_bytes) {
  auto& commands = stream.implementation();
  return Event(commands.fill(*buffer.memory(), buffer.byte_offset(), buffer.size_bytes(), element, element_bytes,
                             commands.own_commands));
}

Event fill(Stream& stream, const BufferBase& buffer, std::uint8_t byte) {
  return fill(stream, buffer, &byte, sizeof byte);
}

Event copy(Stream& stream, const BufferBase& from, const BufferBase& to) {
  auto& commands = stream.implementation();
  return Event(commands.copy(*to.memory(), to.byte_offset(), *from.memory(), from.byte_offset(), from.size_bytes(),
                             commands.own_commands));
}

void fetch(Stream& stream, const BufferBase& buffer, std::uint64_t offset, void* target, std::uint64_t bytes) {
  if (bytes == 0) return;
  stream.implementation().read(*buffer.memory(), buffer.byte_offset() + offset, target, bytes, runtime::Mark::no);
}

Stream timed_stream(const Device& device, bool timed) {
  Stream stream(device, timed ? Timing::on : Timing::off);
  if (stream.capturing()) stream.finish();  // the error of a call that waits, before anything is captured
  if (timed) stream.implementation().own_commands = runtime::Mark::yes;
  return stream;
}

Event end_of(Stream& stream) {
  return Event(stream.implementation().end());
}

double seconds_of(std::span<const Event> events) {
  double sum = 0;
  for (const Event& event : events) sum += event.seconds();
  return sum;
}

}  // namespace masu::call
