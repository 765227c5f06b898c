// SPDX-License-Identifier: Apache-2.0
#include "sort/prepared_segments.h"

#include "call/operands.h"
#include "sort/device/sort_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace masu {

namespace {

constexpr std::string_view name = "PreparedSegments";

std::string text_of(const Payload& payload) {
  if (payload.kind == Payload::Kind::none) return "alone";
  const bool indices = payload.kind == Payload::Kind::indices;
  return fmt::format("with {} of {} bytes", indices ? "indices" : "values", payload.bytes);
}

}  // namespace

void check_segments(std::string_view function, std::span<const std::uint64_t> offsets, std::uint64_t count) {
  const auto falls = std::ranges::adjacent_find(offsets, std::ranges::greater());
  if (falls != offsets.end()) {
    call::refuse(function, fmt::format("segment offsets must be non-decreasing, got {} after {} at place {}",
                                       *(falls + 1), *falls, falls - offsets.begin() + 1));
  }
  if (!offsets.empty() && offsets.back() > count) {
    call::refuse(function, fmt::format("segments must end at or before {}, got {}", count, offsets.back()));
  }
}

PreparedSegments::State::State(const Device& on, Dtype keys, std::uint64_t count,
                               std::span<const std::uint64_t> segments, Payload::Kind moved, std::size_t bytes)
    : device_(on), dtype_(keys), payload_{moved, nullptr, bytes}, offsets_(segments.begin(), segments.end()) {
  call::check_count(name, count);
  if (moved == Payload::Kind::records) call::check_element_bytes(name, bytes);
  if (offsets_.size() < 2) call::refuse(name, fmt::format("at least two offsets, got {}", offsets_.size()));
  check_segments(name, offsets_, count);
  pieces_ = {count, 1, offsets_};
  pieces_.most = pieces_.longest();
  if (!call::on_cpu(device_) && count != 0)
    tables_ = segments_on_device(device_, {.dtype = dtype_, .payload = payload_}, job(name, count, Order::ascending));
}

SortJob PreparedSegments::State::job(std::string_view function, std::uint64_t count, Order order) const {
  if (count != pieces_.count) {
    call::refuse(function, fmt::format("the segments are prepared for {} keys, got {}", pieces_.count, count));
  }
  return {order, SortAlgorithm::automatic, pieces_, function};
}

void PreparedSegments::State::check(std::string_view function, const Device& on, Dtype keys,
                                    const Payload& payload) const {
  const std::size_t bytes = payload.bytes;
  if (!(on == device_) || keys != dtype_ || payload.kind != payload_.kind || bytes != payload_.bytes) {
    call::refuse(function, fmt::format("the segments are prepared for {} {} on {}, got {} {} on {}", to_string(dtype_),
                                       text_of(payload_), device_.id(), to_string(keys), text_of(payload), on.id()));
  }
  const bool given = payload.kind == Payload::Kind::records && payload.buffer != nullptr && !call::on_cpu(on);
  if (given && sort_plan::carried(bytes) && !sort_kernels::aligned(payload.buffer, bytes)) {
    call::refuse(function, fmt::format("with prepared segments, values must begin at a multiple of {} bytes, got {}",
                                       bytes, call::place_of(*payload.buffer)));
  }
}

PreparedSegments::PreparedSegments(const Device& device, Dtype dtype, std::uint64_t count,
                                   std::span<const std::uint64_t> offsets, std::size_t value_bytes)
    : state_(detail::make_hidden<State>(device, dtype, count, offsets,
                                        value_bytes == 0 ? Payload::Kind::none : Payload::Kind::records, value_bytes)) {
}

PreparedSegments PreparedSegments::for_argsort(const Device& device, Dtype dtype, std::uint64_t count,
                                               std::span<const std::uint64_t> offsets, Dtype index_dtype) {
  return PreparedSegments(
      detail::make_hidden<State>(device, dtype, count, offsets, Payload::Kind::indices, size_of(index_dtype)));
}

PreparedSegments::PreparedSegments(detail::Hidden<State> state) noexcept : state_(std::move(state)) {}

}  // namespace masu
