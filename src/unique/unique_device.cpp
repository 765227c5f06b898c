// SPDX-License-Identifier: Apache-2.0
#include "unique/unique_device.h"

#include "call/operands.h"

#include <algorithm>

namespace masu {

namespace {

// The bits of `wanted` in unique.cl.
constexpr std::uint32_t wants_values = 1;
constexpr std::uint32_t wants_lengths = 2;
constexpr std::uint32_t wants_starts = 4;
constexpr std::uint32_t wants_firsts = 8;
constexpr std::uint32_t wants_number = 16;

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
      spans_at_(mask_at_ + call::aligned(plan.mask_bytes())),
      kernels_(data.device(), unique_plan::files, plan.defines(dtype, index_bytes), plan.group) {}

template <class... T>
void DeviceRunFinder::launch(std::string_view kernel, std::uint64_t groups, const T&... arguments) {
  events_.push_back(kernels_.launch(stream_, kernel, groups, arguments...));
}

double DeviceRunFinder::seconds() const {
  return call::seconds_of(events_);
}

call::Arguments DeviceRunFinder::input() const {
  return call::Arguments(data_, count_, plan_.a_span, plan_.tiles, call::At{memory_, mask_at_}, spans_at_);
}

void DeviceRunFinder::fill_order() {
  const std::uint64_t groups = std::min<std::uint64_t>(plan_.spans * plan_.a_span, 4096);
  launch("unique_iota", groups, *order_, count_);
}

void DeviceRunFinder::mark() {
  launch("unique_flags", plan_.spans, input(), call::local<std::uint32_t>(std::uint64_t{plan_.group} * plan_.unroll),
         call::local<std::uint32_t>(std::uint64_t{plan_.group} * 2));
}

std::uint64_t DeviceRunFinder::runs() {
  std::vector<std::uint32_t> spans(plan_.spans * 2);
  const Buffer<std::uint32_t> view(memory_.device(), memory_.memory(), spans_at_, plan_.span_bytes());
  call::fetch(stream_, view, 0, spans.data(), spans.size() * sizeof(spans[0]));
  stream_.finish();
  std::uint64_t runs = 0;
  for (std::size_t s = 0; s < spans.size(); s += 2) runs += spans[s];
  return runs;
}

void DeviceRunFinder::write(const RunOutput& output) {
  call::Arguments outputs;
  std::uint32_t wanted = 0;
  // What is not wanted is some memory that no one writes.
  const auto add = [&](const BufferBase* buffer, std::uint32_t bit) {
    if (buffer != nullptr) wanted |= bit;
    outputs.add(buffer != nullptr ? call::At{*buffer, buffer->byte_offset()} : call::At{memory_, 0});
  };
  add(output.values, wants_values);
  add(output.lengths, wants_lengths);
  add(output.starts, order_ != nullptr ? wants_firsts : wants_starts);
  add(order_, 0);
  add(output.number, wants_number);
  if (wanted == 0) return;
  const std::uint64_t group = plan_.group;
  launch("unique_emit", plan_.spans, input(), outputs, wanted, call::local<std::uint64_t>(group * 3),
         call::local<std::uint32_t>(group), call::local<std::uint32_t>(1), call::local<std::uint16_t>(plan_.staged()),
         call::local<std::uint32_t>(plan_.tile_words() * 2));
}

void DeviceRunFinder::write_inverse(const BufferBase& inverse) {
  const std::uint64_t group = plan_.group;
  launch("unique_inverse", plan_.spans, input(), *order_, inverse, call::local<std::uint64_t>(group * 3),
         call::local<std::uint32_t>(group), call::local<std::uint32_t>(plan_.tile_words() * 2));
}

}  // namespace masu
