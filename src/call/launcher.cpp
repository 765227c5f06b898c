// SPDX-License-Identifier: Apache-2.0
#include "call/launcher.h"

#include "runtime/backend.h"

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

void Kernels::start(std::initializer_list<std::string_view> names) {
  if (!module_->compiles_apart()) return;
  for (const std::string_view name : names) {
    const auto named = [name](const auto& kernel) { return kernel->name() == name; };
    if (name.empty() || std::ranges::any_of(kernels_, named)) continue;
    if (std::shared_ptr<runtime::Kernel> idle = module_->take_idle(name)) {
      kernels_.push_back(std::move(idle));
    } else {
      // Deferred where the system has no thread left: then take() compiles it.
      constexpr std::launch now_or_later = std::launch::async | std::launch::deferred;
      started_.push_back({name, std::async(now_or_later, [name, module = module_] { return module->kernel(name); })});
    }
  }
}

runtime::Kernel& Kernels::take(std::string_view name) {
  const auto found = std::ranges::find_if(kernels_, [name](const auto& kernel) { return kernel->name() == name; });
  if (found != kernels_.end()) return **found;
  const auto started = std::ranges::find(started_, name, &Started::name);
  const bool waits = started != started_.end() && started->kernel.valid();
  kernels_.push_back(waits ? started->kernel.get() : module_->take_kernel(name));
  return *kernels_.back();
}

Event Kernels::launch_with(Stream& stream, std::string_view name, std::uint64_t groups, const Arguments& arguments,
                           bool together) {
  runtime::Kernel& kernel = take(name);
  const NDRange range(groups * group_, group_);
  auto& commands = stream.implementation();
  const runtime::Mark mark = commands.own_commands;
  Event done(together ? commands.launch_together(kernel, range, arguments.list(), mark)
                      : commands.launch(kernel, range, arguments.list(), mark));
  runtime::settle(commands, kernel);
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
