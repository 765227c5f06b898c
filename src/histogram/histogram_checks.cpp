// SPDX-License-Identifier: Apache-2.0
#include "histogram/histogram_checks.h"

#include "call/operands.h"
#include "runtime/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

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

namespace {

// What is read back from a device at a time.
constexpr std::uint64_t piece_bytes = std::uint64_t{64} << 20;

Bins with_range(std::uint64_t n, const std::optional<ValueRange>& range) {
  return range ? Bins::even(n, *range) : Bins::even(n, 0, 1);
}

// `give(estimator)` adds all the data, once a pass.
template <class Give>
Bins estimated(Dtype dtype, const Bins& bins, const Give& give) {
  BinEstimator estimator(dtype, bins);
  do give(estimator);
  while (estimator.next_pass());
  return estimator.bins();
}

}  // namespace

Bins definite_bins(const Device& device, const ArrayView& data, const Bins& bins) {
  if (!bins.needs_data()) return bins;
  if (bins.kind() == Bins::Kind::even) return with_range(bins.size(), finite_range(device, data));
  return estimated(data.dtype, bins, [&](BinEstimator& estimator) { estimator.add(data); });
}

Bins definite_bins(const BufferBase& data, Dtype dtype, const Bins& bins) {
  if (!bins.needs_data()) return bins;
  if (bins.kind() == Bins::Kind::even) return with_range(bins.size(), finite_range(data, dtype));
  const Buffer<const std::byte> bytes(data.device(), data.memory(), data.byte_offset(), data.size_bytes());
  std::vector<std::byte> piece(std::min(piece_bytes, bytes.size_bytes()));
  return estimated(dtype, bins, [&](BinEstimator& estimator) {
    for (std::uint64_t first = 0; first < bytes.size(); first += piece_bytes) {
      const std::span part(piece.data(), std::min<std::uint64_t>(piece.size(), bytes.size() - first));
      bytes.read(part, first);
      estimator.add(ArrayView(dtype, part.data(), part.size() / size_of(dtype)));
    }
  });
}

}  // namespace masu
