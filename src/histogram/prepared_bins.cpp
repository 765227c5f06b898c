// SPDX-License-Identifier: Apache-2.0
#include "histogram/prepared_bins.h"

#include "call/operands.h"

#include <fmt/format.h>

namespace masu {

PreparedBins::PreparedBins(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
PreparedBins::PreparedBins(PreparedBins&&) noexcept = default;
PreparedBins& PreparedBins::operator=(PreparedBins&&) noexcept = default;
PreparedBins::~PreparedBins() = default;

Dtype PreparedBins::dtype() const noexcept {
  return state_->rules.front()->dtype;
}

const Device& PreparedBins::device() const noexcept {
  return state_->device;
}

std::uint64_t PreparedBins::numbers() const noexcept {
  return state_->numbers;
}

std::uint64_t PreparedBins::workspace(std::uint64_t count) const {
  return state_->kernels ? state_->own_bytes() + state_->kernels->temporary_bytes(count) : 0;
}

PreparedBins::State::Checked PreparedBins::State::check(const Stream& stream, std::span<const BufferBase* const> arrays,
                                                        const Dtype* weights, std::span<const NamedResult> results,
                                                        const BufferBase* workspace) const {
  const std::size_t columns = weights != nullptr ? arrays.size() - 1 : arrays.size();
  if (columns != rules.size()) {
    call::refuse(name,
                 fmt::format("there must be {} columns, one for each of the bins, got {}", rules.size(), columns));
  }
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    call::check_device(name, device, *arrays[i]);
    call::check_stream(name, stream, *arrays[i]);
    const std::uint64_t length = call::count_of(name, *arrays[i], i < columns ? rules[i]->dtype : *weights);
    if (i == 0) count = length;
    if (length != count) {
      call::refuse(name, i < columns ? fmt::format("columns must have the same length, got {} and {}", count, length)
                                     : fmt::format("there must be a weight for each element, got {} elements and {} "
                                                   "weights",
                                                   count, length));
    }
  }
  if (count % channels != 0) {
    call::refuse(name, fmt::format("{} channels must divide the elements, got {}", channels, count));
  }
  if (elements != 0 && count != elements) {
    call::refuse(name, fmt::format("all rows together must have {} elements, got {}", elements, count));
  }
  const auto refuse_overlap = [&](std::string_view a, std::string_view b) {
    call::refuse_overlap(name, fmt::format("{} and {}", a, b));
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const NamedResult& result = results[i];
    call::check_results(name, result.name, result.memory, device, result.count, result.element_bytes, {});
    for (const BufferBase* array : arrays) {
      if (call::overlap(result.memory, *array)) refuse_overlap(result.name, "data");
    }
    for (const NamedResult& before : results.first(i)) {
      if (call::overlap(before.memory, result.memory)) refuse_overlap(before.name, result.name);
    }
  }
  const std::uint64_t bytes = kernels ? own_bytes() + kernels->temporary_bytes(count) : 0;
  if (workspace != nullptr) {
    for (const BufferBase* array : arrays) call::check_apart(name, "workspace and data", *workspace, *array);
    for (const NamedResult& result : results) {
      if (call::overlap(*workspace, result.memory)) refuse_overlap("workspace", result.name);
    }
  }
  return {count, call::take_workspace(name, workspace, stream, bytes)};
}

void PreparedBins::State::check_numbers(std::uint64_t got) const {
  if (got != numbers) call::refuse(name, fmt::format("there must be {} numbers, got {}", numbers, got));
}

void PreparedBins::State::count(Stream& stream, std::span<const BufferBase* const> arrays, std::uint64_t count,
                                const BufferBase& totals, const Buffer<std::byte>& room, const CopiedBeside* beside) {
  std::vector<call::At> there;
  for (const BufferBase* array : arrays) there.push_back({*array, array->byte_offset()});
  std::vector<Event> launches;
  const Buffer<std::byte> temporary = room.slice(own_bytes(), room.size_bytes() - own_bytes());
  CountedData data{there, count};
  data.beside = beside;
  const bool copied = kernels->set(stream, data, totals, &temporary, launches);
  if (beside != nullptr && !copied) call::copy(stream, beside->from, beside->to);
}

}  // namespace masu
