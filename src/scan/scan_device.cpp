// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_device.h"

#include "runtime/backend.h"
#include "runtime/operands.h"
#include "runtime/whole.h"

#include <array>

namespace masu {

namespace {

Buffer<std::byte> memory_for(const Device& device, const BufferBase* workspace, std::uint64_t bytes) {
  if (workspace == nullptr) return Buffer<std::byte>(device, bytes);
  runtime::check_workspace("scan", workspace, device, bytes);
  return Buffer<std::byte>(device, workspace->memory(), workspace->byte_offset(), bytes);
}

}  // namespace

DeviceScan::DeviceScan(const Device& device, const scan_plan::Plan& plan, const BufferBase* workspace)
    : plan_(plan), totals_(memory_for(device, workspace, plan.workspace())) {}

void DeviceScan::launch(Stream& stream, std::string_view name, std::uint64_t groups,
                        std::vector<KernelArgument> arguments, bool tile) {
  const auto program = runtime::own_program(*stream.device().implementation(), plan_.files(), plan_.defines());
  if (tile) arguments.emplace_back(LocalMemory{static_cast<std::size_t>(plan_.kept_bytes())});
  arguments.emplace_back(LocalMemory{static_cast<std::size_t>(plan_.totals_bytes())});
  const auto kernel = program->kernel(name);
  const NDRange range(groups * plan_.items(), plan_.items());
  auto& commands = stream.implementation();
  launches_.emplace_back(plan_.once ? commands.launch_together(*kernel, range, arguments)
                                    : commands.launch(*kernel, range, arguments));
}

void DeviceScan::start(Stream& stream, const BufferBase& input, const BufferBase& output, std::uint64_t row,
                       const BufferBase* flags, std::uint64_t state) {
  launches_.clear();
  const auto data = whole(input);
  const auto totals = whole(totals_);
  if (plan_.once) {
    const std::uint64_t zero = 0;
    launches_.push_back(stream.fill_bytes(totals_, &zero, sizeof zero));
    launch(stream, "scan_once", plan_.groups,
           {data, input.byte_offset(), whole(output), output.byte_offset(), plan_.count, state, totals,
            totals_.byte_offset(), totals_.byte_offset() + plan_.state_at()},
           true);
    return;
  }
  const auto flag_memory = whole(flags != nullptr ? *flags : input);
  const std::uint64_t flags_at = flags != nullptr ? flags->byte_offset() : 0;
  const std::uint32_t has_flags = flags != nullptr ? 1 : 0;
  launch(stream, "scan_chunks", plan_.groups,
         {data, input.byte_offset(), plan_.count, plan_.chunk, row, flag_memory, flags_at, has_flags, totals,
          totals_.byte_offset()},
         true);
  launch(stream, "scan_totals", 1, {plan_.groups, state, totals, totals_.byte_offset()}, false);
  launch(stream, "scan_tiles", plan_.groups,
         {data, input.byte_offset(), whole(output), output.byte_offset(), plan_.count, plan_.chunk, row, flag_memory,
          flags_at, has_flags, totals, totals_.byte_offset()},
         true);
}

std::uint64_t DeviceScan::fetch_state(Stream& stream) const {
  std::uint64_t state = 0;
  stream.read_bytes(totals_, plan_.state_at(), &state, sizeof state);
  stream.finish();
  return state;
}

double DeviceScan::seconds() const {
  double sum = 0;
  for (const Event& event : launches_) sum += event.seconds();
  return sum;
}

}  // namespace masu
