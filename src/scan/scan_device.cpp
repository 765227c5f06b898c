// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_device.h"

#include "runtime/backend.h"
#include "runtime/operands.h"
#include "runtime/whole.h"
#include "scan/scan_op.h"

#include <algorithm>

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
                        std::vector<KernelArgument> arguments, std::initializer_list<std::uint64_t> local) {
  const auto program = runtime::own_program(*stream.device().implementation(), plan_.files(), plan_.defines());
  for (const std::uint64_t bytes : local) arguments.emplace_back(LocalMemory{static_cast<std::size_t>(bytes)});
  const auto kernel = program->kernel(name);
  const NDRange range(groups * plan_.items(), plan_.items());
  auto& commands = stream.implementation();
  launches_.emplace_back(plan_.once ? commands.launch_together(*kernel, range, arguments)
                                    : commands.launch(*kernel, range, arguments));
}

void DeviceScan::start(Stream& stream, const BufferBase& input, const BufferBase& output, std::uint64_t row,
                       const BufferBase* flags, const std::vector<std::uint64_t>& state) {
  launches_.clear();
  const auto data = whole(input);
  const auto totals = whole(totals_);
  const std::uint64_t tile_bytes = plan_.kept_bytes();
  const std::uint64_t first = state.empty() ? scan_identity(plan_.dtype, plan_.op) : state.front();
  if (plan_.once) {
    const std::uint64_t zero = 0;
    launches_.push_back(stream.fill_bytes(totals_, &zero, sizeof zero));
    launch(stream, "scan_once", plan_.groups,
           {data, input.byte_offset(), whole(output), output.byte_offset(), plan_.count, first, totals,
            totals_.byte_offset(), totals_.byte_offset() + plan_.state_at()},
           {tile_bytes, plan_.totals_bytes()});
    return;
  }
  const auto flag_memory = whole(flags != nullptr ? *flags : input);
  const std::uint64_t flags_at = flags != nullptr ? flags->byte_offset() : 0;
  const std::uint32_t has_flags = flags != nullptr ? 1 : 0;
  const std::vector<KernelArgument> of_chunks = {data,   input.byte_offset(),  plan_.count, plan_.chunk,
                                                 row,    flag_memory,          flags_at,    has_flags,
                                                 totals, totals_.byte_offset()};
  const std::vector<KernelArgument> of_tiles = {data,        input.byte_offset(), whole(output), output.byte_offset(),
                                                plan_.count, plan_.chunk,         row,           flag_memory,
                                                flags_at,    has_flags,           totals,        totals_.byte_offset()};
  if (plan_.exact) {
    if (!state.empty()) {
      state_ = state;
      stream.write_bytes(totals_, plan_.state_at(), state_.data(), state_.size() * sizeof(std::uint64_t));
    }
    const std::uint32_t has_state = state.empty() ? 0 : 1;
    launch(stream, "exact_chunks", plan_.groups, of_chunks, {plan_.sums_bytes(), plan_.wide_bytes()});
    launch(stream, "exact_totals", plan_.state_words(), {plan_.groups, has_state, totals, totals_.byte_offset()},
           {plan_.totals_bytes()});
    launch(stream, "exact_tiles", plan_.groups, of_tiles,
           {tile_bytes, plan_.totals_bytes(), plan_.sums_bytes(), plan_.wide_bytes()});
    return;
  }
  launch(stream, "scan_chunks", plan_.groups, of_chunks, {tile_bytes, plan_.totals_bytes()});
  launch(stream, "scan_totals", 1, {plan_.groups, first, totals, totals_.byte_offset()}, {plan_.totals_bytes()});
  launch(stream, "scan_tiles", plan_.groups, of_tiles, {tile_bytes, plan_.totals_bytes()});
}

std::vector<std::uint64_t> DeviceScan::fetch_state(Stream& stream) const {
  std::vector<std::uint64_t> state(plan_.state_words());
  stream.read_bytes(totals_, plan_.state_at(), state.data(), state.size() * sizeof(std::uint64_t));
  stream.finish();
  if (!plan_.exact) return state;
  // Words are sums of words: carries are moved on, so that they never overflow.
  std::int64_t carry = 0;
  for (unsigned i = 0; i < plan_.wide_words(); ++i) {
    carry += static_cast<std::int64_t>(state[i]);
    state[i] = i + 1 < plan_.wide_words() ? static_cast<std::uint32_t>(carry) : static_cast<std::uint64_t>(carry);
    carry >>= 32;
  }
  for (unsigned i = plan_.wide_words(); i < state.size(); ++i) state[i] = std::min<std::uint64_t>(state[i], 1);
  return state;
}

double DeviceScan::seconds() const {
  double sum = 0;
  for (const Event& event : launches_) sum += event.seconds();
  return sum;
}

}  // namespace masu
