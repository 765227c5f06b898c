// SPDX-License-Identifier: Apache-2.0
#include "histogram/histogram_checks.h"

#include "runtime/cpu_limits.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <type_traits>

namespace masu {

void check_channels(std::string_view function, unsigned channels) {
  if (channels >= 1 && channels <= most_channels) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: channels must be 1 to {}, got {}", function, most_channels, channels));
}

void check_dtype(std::string_view function, Dtype expected, Dtype got) {
  if (expected == got) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: data must be {} as before, got {}", function, to_string(expected), to_string(got)));
}

void check_device(std::string_view function, const Device& device, const BufferBase& buffer, const Stream* stream) {
  if (buffer.device() == device && (stream == nullptr || stream->device() == device)) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: buffer and stream must be of the device {}, got {} and {}", function, device.id(),
                          buffer.device().id(), stream != nullptr ? stream->device().id() : device.id()));
}

void no_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes, std::uint64_t free) {
  std::string message = fmt::format("{}: {} bins need {} bytes of memory", function, counters, bytes);
  if (free != 0) message += fmt::format(", {} are free", free);
  throw Error(ErrorCode::out_of_memory, message);
}

void check_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes) {
  constexpr std::uint64_t always_tried = std::uint64_t{1} << 30;
  if (bytes < always_tried) return;
  const std::uint64_t free = runtime::available_memory();
  if (free != 0 && bytes > free) no_memory(function, counters, bytes, free);
}

ArrayView host_view(const BufferBase& buffer, Dtype dtype) {
  return {dtype, static_cast<const char*>(buffer.native()) + buffer.byte_offset(),
          buffer.size_bytes() / size_of(dtype)};
}

bool reaches_bins(const BinRule& rule, bool joint) {
  return dispatch(rule.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half>) {
      const std::optional<Thresholds<float>> limits = half_thresholds(rule);
      return !limits || (!limits->all_below && !limits->all_above);
    } else {
      if (size_of(rule.dtype) == 1 && !joint) return true;
      const BinLimits<T> limits(rule);
      return !limits.all_below && !limits.all_above;
    }
  });
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace masu
