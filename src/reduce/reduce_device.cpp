// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce_device.h"

#include "runtime/backend.h"
#include "runtime/whole.h"

#include <fmt/format.h>

#include <utility>

namespace masu {

namespace {

Buffer<std::byte> memory_for(const Device& device, const BufferBase* workspace, std::uint64_t bytes) {
  if (workspace == nullptr) return Buffer<std::byte>(device, bytes);
  if (!(workspace->device() == device) || workspace->size_bytes() < bytes || workspace->memory()->read_only() ||
      workspace->byte_offset() % reduce_plan::alignment != 0) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("reduce: workspace must be at least {} writable bytes on {} that begin at a multiple of {}, "
                    "got {} on {}",
                    bytes, device.id(), reduce_plan::alignment, workspace->size_bytes(), workspace->device().id()));
  }
  return Buffer<std::byte>(device, workspace->memory(), workspace->byte_offset(), bytes);
}

}  // namespace

DeviceReduce::DeviceReduce(const Device& device, const reduce_plan::Plan& plan, const BufferBase* workspace)
    : plan_(plan),
      memory_(memory_for(device, workspace, plan.workspace())),
      parts_(memory_.slice(0, plan.part_bytes())),
      results_(memory_.slice(plan.part_bytes(), plan.result_bytes())) {}

void DeviceReduce::launch(Stream& stream, std::string_view name, std::uint64_t groups,
                          std::vector<KernelArgument> arguments) {
  const auto program = runtime::own_program(*stream.device().implementation(), plan_.files(), plan_.defines());
  for (unsigned array = 0; array < (plan_.counts() ? 1 : 2); ++array) {
    arguments.emplace_back(LocalMemory{plan_.group * sizeof(std::uint64_t)});
  }
  launches_.emplace_back(
      stream.implementation().launch(*program->kernel(name), NDRange(groups * plan_.group, plan_.group), arguments));
}

void DeviceReduce::start(Stream& stream, const BufferBase& data, std::uint64_t data_at) {
  launches_.clear();
  const auto whole_data = whole(data);
  const auto whole_memory = whole(memory_);
  if (plan_.members == 0) {
    launch(stream, plan_.counts() ? "count_rows" : "extreme_rows", plan_.groups,
           {whole_data, data_at, static_cast<std::uint32_t>(plan_.count), plan_.rows, std::uint32_t{plan_.width},
            whole_memory, results_.byte_offset()});
    return;
  }
  if (plan_.counts()) {
    launch(stream, "count_parts", plan_.groups,
           {whole_data, data_at, plan_.count, std::uint32_t{plan_.members}, whole_memory, parts_.byte_offset()});
    launch(stream, "count_totals", plan_.rows,
           {std::uint32_t{plan_.members}, whole_memory, parts_.byte_offset(), whole_memory, results_.byte_offset()});
    return;
  }
  launch(
      stream, "extreme_parts", plan_.groups,
      {whole_data, data_at, plan_.count, plan_.rows, std::uint32_t{plan_.members}, whole_memory, parts_.byte_offset()});
  launch(stream, "extreme_places", plan_.rows * plan_.extremes(),
         {whole_data, data_at, plan_.count, plan_.rows, std::uint32_t{plan_.members}, whole_memory,
          parts_.byte_offset(), whole_memory, results_.byte_offset()});
}

std::vector<Reduced> DeviceReduce::fetch(Stream& stream) const {
  std::vector<std::uint64_t> words(results_.size() / sizeof(std::uint64_t));
  stream.read_bytes(results_, 0, words.data(), words.size() * sizeof(std::uint64_t));
  stream.finish();
  std::vector<Reduced> found(plan_.rows);
  if (plan_.counts()) {
    for (std::uint64_t row = 0; row < plan_.rows; ++row) found[row].nonzero = words[row];
    return found;
  }
  std::size_t at = 0;
  for (int which = 0; which < 2; ++which) {
    if (!wants(plan_.op, which)) continue;
    const ExtremeRule rule{which == 1, plan_.skip};
    for (std::uint64_t row = 0; row < plan_.rows; ++row, at += 2) {
      found[row].extremes[which] = {rank_of_bits(plan_.dtype, rule, words[at + 1]), words[at], words[at + 1]};
    }
  }
  return found;
}

double DeviceReduce::seconds() const {
  double sum = 0;
  for (const Event& event : launches_) sum += event.seconds();
  return sum;
}

}  // namespace masu
