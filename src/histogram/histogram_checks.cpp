// SPDX-License-Identifier: Apache-2.0
#include "histogram/histogram_checks.h"

#include "call/operands.h"
#include "runtime/cpu_limits.h"

#include <fmt/format.h>

namespace masu {

void check_channels(std::string_view function, unsigned channels) {
  if (channels >= 1 && channels <= most_channels) return;
  call::refuse(function, fmt::format("channels must be 1 to {}, got {}", most_channels, channels));
}

void check_one_channel(const HistogramOptions& options) {
  if (options.channels == 1) return;
  call::refuse("histogram", fmt::format("channels must be 1 here (see histogram_channels), got {}", options.channels));
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

}  // namespace masu
