// SPDX-License-Identifier: Apache-2.0
#include "unique/unique_patterns.h"

#include "elements/elements.h"

#include <algorithm>
#include <bit>
#include <utility>

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
