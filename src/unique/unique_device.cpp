// SPDX-License-Identifier: Apache-2.0
#include "unique/unique_device.h"

#include "runtime/backend.h"
#include "runtime/whole.h"

#include <algorithm>
#include <span>

namespace masu {

namespace {

// The bits of `wanted` in unique.cl.
constexpr std::uint32_t wants_values = 1;
constexpr std::uint32_t wants_lengths = 2;
constexpr std::uint32_t wants_starts = 4;
constexpr std::uint32_t wants_firsts = 8;

}  // namespace

DeviceRunFinder::DeviceRunFinder(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t count,
                                 const unique_plan::Plan& plan, const BufferBase& memory, const BufferBase* order,
                                 std::size_t index_bytes)
    : stream_(stream),
      data_(data),
      count_(count),
      plan_(plan),
      memory_(memory),
      order_(order),
      mask_at_(memory.byte_offset()),
      spans_at_(mask_at_ + unique_plan::aligned(plan.mask_bytes())),
      program_(runtime::own_program(*data.device().implementation(), std::span(&unique_plan::file, 1),
                                    plan.defines(dtype, index_bytes))) {}

void DeviceRunFinder::launch(std::string_view kernel, std::uint64_t groups,
                             const std::vector<KernelArgument>& arguments) {
  const NDRange range(groups * plan_.group, plan_.group);
  events_.emplace_back(stream_.implementation().launch(*program_->kernel(kernel), range, arguments));
}

double DeviceRunFinder::seconds() const {
  double sum = 0;
  for (const Event& event : events_) sum += event.seconds();
  return sum;
}

std::vector<KernelArgument> DeviceRunFinder::input() const {
  return {whole(data_), data_.byte_offset(), count_, plan_.a_span, plan_.tiles, whole(memory_), mask_at_, spans_at_};
}

void DeviceRunFinder::fill_order() {
  const std::uint64_t groups = std::min<std::uint64_t>(plan_.spans * plan_.a_span, 4096);
  launch("unique_iota", groups, {whole(*order_), order_->byte_offset(), count_});
}

void DeviceRunFinder::mark() {
  std::vector<KernelArgument> arguments = input();
  arguments.emplace_back(LocalMemory{std::size_t{plan_.group} * plan_.unroll * sizeof(std::uint32_t)});
  arguments.emplace_back(LocalMemory{std::size_t{plan_.group} * 2 * sizeof(std::uint32_t)});
  launch("unique_flags", plan_.spans, arguments);
}

std::uint64_t DeviceRunFinder::runs() {
  std::vector<std::uint32_t> spans(plan_.spans * 2);
  const Buffer<std::uint32_t> view(memory_.device(), memory_.memory(), spans_at_, plan_.span_bytes());
  stream_.read(view, std::span(spans));
  stream_.finish();
  runs_ = 0;
  for (std::size_t s = 0; s < spans.size(); s += 2) runs_ += spans[s];
  return runs_;
}

void DeviceRunFinder::write(const RunOutput& output) {
  std::vector<KernelArgument> arguments = input();
  std::uint32_t wanted = 0;
  // What is not wanted is some memory that no one writes.
  const auto add = [&](const BufferBase* buffer, std::uint32_t bit) {
    if (buffer != nullptr) wanted |= bit;
    arguments.emplace_back(whole(buffer != nullptr ? *buffer : memory_));
    arguments.emplace_back(buffer != nullptr ? buffer->byte_offset() : std::uint64_t{0});
  };
  add(output.values, wants_values);
  add(output.lengths, wants_lengths);
  add(output.starts, order_ != nullptr ? wants_firsts : wants_starts);
  add(order_, 0);
  arguments.emplace_back(wanted);
  arguments.emplace_back(runs_);
  if (wanted == 0) return;
  const std::size_t group = plan_.group;
  arguments.emplace_back(LocalMemory{group * 2 * sizeof(std::uint64_t)});
  arguments.emplace_back(LocalMemory{group * sizeof(std::uint32_t)});
  arguments.emplace_back(LocalMemory{(group / plan_.row + 1) * sizeof(std::uint32_t)});
  arguments.emplace_back(LocalMemory{static_cast<std::size_t>(plan_.staged()) * sizeof(std::uint16_t)});
  arguments.emplace_back(LocalMemory{static_cast<std::size_t>(plan_.tile_words()) * 2 * sizeof(std::uint32_t)});
  launch("unique_emit", plan_.spans, arguments);
}

void DeviceRunFinder::write_inverse(const BufferBase& inverse) {
  std::vector<KernelArgument> arguments = input();
  const std::size_t group = plan_.group;
  arguments.insert(arguments.end(),
                   {whole(*order_), order_->byte_offset(), whole(inverse), inverse.byte_offset(),
                    LocalMemory{group * 2 * sizeof(std::uint64_t)}, LocalMemory{group * sizeof(std::uint32_t)},
                    LocalMemory{group / plan_.row * sizeof(std::uint32_t)},
                    LocalMemory{static_cast<std::size_t>(plan_.tile_words()) * 2 * sizeof(std::uint32_t)}});
  launch("unique_inverse", plan_.spans, arguments);
}

}  // namespace masu
