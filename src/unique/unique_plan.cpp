// SPDX-License-Identifier: Apache-2.0
#include "unique/unique_plan.h"

#include "elements/clusters.h"
#include "elements/elements.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace masu::unique_plan {

namespace {

constexpr std::uint64_t spans_a_unit_cpu = 4;
constexpr unsigned least_group = 16;
// Fewer elements for each compute unit are little data: its tiles are an eighth, so that more units take part.
constexpr std::uint64_t little_elements = 65536;
constexpr unsigned little_group = 128;

}  // namespace

std::vector<runtime::Define> Plan::defines(Dtype dtype, std::size_t places) const {
  return element_defines(without_sign(dtype), {{"MASU_GROUP", group},
                                               {"MASU_UNROLL", unroll},
                                               {"MASU_WORDS", words},
                                               {"MASU_STAGED", staged()},
                                               {"MASU_INDEX", unsigned_type(places)}});
}

Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t count, unsigned group, std::uint64_t most_spans) {
  Plan plan;
  const unsigned units = std::max(1U, device.compute_units);
  if (count < units * little_elements) {
    plan.group = little_group;
    plan.words = 1;
    plan.unroll = std::min(plan.unroll, static_cast<unsigned>(2 * size_of(dtype)));  // a step is at most a tile
  }
  plan.group = std::max(least_group, group != 0 ? group : work_group(device, plan.group));
  if (!device.gpu) plan.unroll = 1;
  plan.lead = call::workspace_alignment / size_of(dtype) - 1;
  plan.tiles = std::max<std::uint64_t>(1, (count + plan.lead + plan.tile_bits() - 1) / plan.tile_bits());
  if (most_spans == 0)
    most_spans = std::min(tuned.most_spans, units * (device.gpu ? tuned.spans_a_unit : spans_a_unit_cpu));
  plan.a_span = (plan.tiles + most_spans - 1) / most_spans;
  plan.spans = (plan.tiles + plan.a_span - 1) / plan.a_span;
  return plan;
}

}  // namespace masu::unique_plan

namespace masu {

namespace {

// The bits of `wanted` in unique.cl.
constexpr std::uint32_t wants_values = 1;
constexpr std::uint32_t wants_lengths = 2;
constexpr std::uint32_t wants_starts = 4;
constexpr std::uint32_t wants_firsts = 8;
constexpr std::uint32_t wants_number = 16;
constexpr std::uint32_t wants_inverse = 32;

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
      kernels_(data.device(), unique_plan::files, plan.defines(dtype, index_bytes), plan.group) {
  kernels_.start({"unique_flags", "unique_emit"});
}

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

void DeviceRunFinder::start_order(const BufferBase& unsorted) {
  const std::uint64_t groups = std::min<std::uint64_t>(plan_.spans * plan_.a_span, 4096);
  launch("unique_iota", groups, *order_, unsorted, data_, count_);
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
  add(output.inverse, wants_inverse);
  if (wanted == 0) return;
  const std::uint64_t group = plan_.group;
  launch("unique_emit", plan_.spans, input(), outputs, wanted, call::local<std::uint64_t>(group * 3),
         call::local<std::uint32_t>(group), call::local<std::uint32_t>(1), call::local<std::uint16_t>(plan_.staged()),
         call::local<std::uint32_t>(plan_.tile_words() * 2));
}

}  // namespace masu

namespace masu::unique_patterns {

namespace {

constexpr std::uint64_t least_of_16_bits = std::uint64_t{1} << 16;
constexpr unsigned most_group = 1024;

// Where results lie that are read back: the values, their counts, how many they are.
struct Results {
  explicit Results(Dtype dtype)
      : counts(PatternCounts::patterns_of(dtype) * size_of(dtype)),
        number(counts + PatternCounts::patterns_of(dtype) * sizeof(std::uint64_t)),
        bytes(number + 2 * sizeof(std::uint64_t)) {}
  std::uint64_t counts;
  std::uint64_t number;
  std::uint64_t bytes;
};

}  // namespace

bool serves(Dtype dtype, std::uint64_t count, bool another_way) noexcept {
  return (size_of(dtype) == 1 || (size_of(dtype) == 2 && count >= least_of_16_bits)) &&
         (another_way || !is_float(dtype));
}

std::uint64_t workspace(const DeviceInfo& device, Dtype dtype, std::uint64_t count) {
  return call::aligned(PatternCounts(device, dtype, count).bytes()) + Results(dtype).bytes;
}

std::vector<runtime::Define> defines(Dtype dtype, unsigned group) {
  return element_defines(dtype, {{"MASU_GROUP", group}, {"MASU_PATTERNS", PatternCounts::patterns_of(dtype)}});
}

Finder::Finder(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t count, Buffer<std::byte> memory)
    : stream_(stream), dtype_(dtype), memory_(std::move(memory)) {
  PatternCounts counts(stream.device().info(), dtype, count);
  results_at_ = call::aligned(counts.bytes());
  counts.count(stream, data, memory_.slice(0, counts.bytes()), events_);
}

void Finder::write(const RunOutput& output) {
  const std::uint64_t patterns = PatternCounts::patterns_of(dtype_);
  const auto group = static_cast<unsigned>(std::min<std::uint64_t>(
      {most_group, std::bit_floor(std::uint64_t{stream_.device().info().max_work_group_size}), patterns}));
  // What is not wanted is some memory that no one writes.
  const BufferBase& lengths = output.lengths != nullptr ? *output.lengths : memory_;
  events_.push_back(call::Kernels(stream_.device(), files, defines(dtype_, group), group)
                        .launch(stream_, "unique_patterns", patterns / group, memory_, *output.values, lengths,
                                std::uint32_t{output.lengths != nullptr}, *output.number,
                                call::local<std::uint32_t>(group)));
}

std::optional<DeviceUnique<std::byte>> Finder::read(bool counts) {
  const Results at(dtype_);
  const Buffer<std::byte> results = memory_.slice(results_at_, at.bytes);
  const Buffer<std::byte> lengths = results.slice(at.counts, at.number - at.counts);
  const Buffer<std::byte> number = results.slice(at.number, at.bytes - at.number);
  write({.values = &results, .lengths = counts ? &lengths : nullptr, .number = &number});
  std::array<std::uint64_t, 2> found{};  // how many values; of floats, whether some has several patterns
  call::fetch(stream_, number, 0, found.data(), (is_float(dtype_) ? 2 : 1) * sizeof found[0]);
  stream_.finish();
  if (is_float(dtype_) && found[1] != 0) return std::nullopt;
  const Device& device = stream_.device();
  DeviceUnique<std::byte> result{Buffer<std::byte>(device, found[0] * size_of(dtype_)),
                                 Buffer<std::uint64_t>(device, counts ? found[0] : 0), Buffer<std::uint64_t>(device, 0),
                                 Buffer<std::uint64_t>(device, 0)};
  events_.push_back(call::copy(stream_, results.slice(0, result.values.size()), result.values));
  if (counts) events_.push_back(call::copy(stream_, lengths.slice(0, result.counts.size_bytes()), result.counts));
  stream_.finish();
  return result;
}

}  // namespace masu::unique_patterns
