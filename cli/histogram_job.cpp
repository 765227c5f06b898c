// SPDX-License-Identifier: Apache-2.0
#include "histogram_job.h"

#include "chunks.h"
#include "command.h"
#include "histogram/histogram_reference.h"

#include <fmt/format.h>
#include <masu/device.h>
#include <algorithm>
#include <chrono>
#include <cmath>

namespace masu::cli {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

constexpr std::uint64_t default_bins = 100;
constexpr double most_default_bins = 1024;  // for integers between given limits: a bin for each value up to here

Device open_device(const HistogramJob& job, const io::SourceInfo& info) {
  if (!job.device.empty()) return Device::open(job.device);
  return device_for_histogram(info.count.value_or(0) * size_of(info.dtype));
}

unsigned channels_of(const HistogramJob& job, const io::SourceInfo& info) {
  const auto own = static_cast<unsigned>(std::max<std::size_t>(info.channels.size(), 1));
  if (!job.channels) return own;
  if (info.channels.size() > 1 && *job.channels != own && *job.channels != 1) {
    usage_error(fmt::format("--channels of {} is {} or 1, got {}", info.name, own, *job.channels));
  }
  if (info.count && *info.count % *job.channels != 0) {
    usage_error(fmt::format("--channels {} must divide the {} values of {}", *job.channels, *info.count, info.name));
  }
  return *job.channels;
}

std::vector<std::string> channel_names(unsigned channels, const io::SourceInfo& info) {
  if (info.channels.size() == channels) return info.channels;
  std::vector<std::string> names;
  for (unsigned i = 0; channels > 1 && i < channels; ++i) names.push_back(fmt::to_string(i));
  return names;
}

// The bins, where they do not depend on the data.
std::optional<Bins> bins_without_data(const BinsRequest& request, const io::SourceInfo& info) {
  if (request.integers) return Bins::integers(*request.integers);
  if (!request.edges.empty()) return Bins::edges(request.edges);
  if (request.range) {
    const auto [lo, hi] = *request.range;
    const double values = hi - lo;
    const bool whole = !is_float(info.dtype) && values == std::floor(values) && values >= 1;
    const bool each = whole && lo == std::floor(lo) && values <= most_default_bins;
    return Bins::even(request.bins.value_or(each ? static_cast<std::uint64_t>(values) : default_bins), lo, hi);
  }
  if (request.bins) return std::nullopt;
  if (size_of(info.dtype) == 1) return Bins::for_data(info.dtype, std::nullopt);
  if (!info.channels.empty() && info.dtype == Dtype::u16) return Bins::integers(std::uint64_t{1} << 16U);
  return std::nullopt;
}

// The same for bins that need the data's range.
Bins bins_for_range(const BinsRequest& request, Dtype dtype, const std::optional<ValueRange>& range) {
  if (!request.bins) return Bins::for_data(dtype, range);
  return range ? Bins::even(*request.bins, *range) : Bins::even(*request.bins, 0, 1);
}

// A first pass over the data.
std::optional<ValueRange> find_range(const Device& device, ChunkReader& reader, Seconds& seconds) {
  std::optional<ValueRange> range;
  while (true) {
    const ArrayView piece = reader.next();
    if (piece.count == 0) return range;
    const auto start = Clock::now();
    range = merge(range, finite_range(device, piece));
    seconds.compute += since(start);
  }
}

// The reference's counts, piece by piece beside the fast ones.
class Verifier {
 public:
  Verifier(const std::vector<Histogram>& empty, bool half_open, Outside outside)
      : edges_(empty.front().edges()), half_open_(half_open), outside_(outside), expected_(empty.size()) {
    for (reference::Counts& counts : expected_) counts.counts.resize(empty.front().size());
  }
  void add(const ArrayView& data) { reference::histogram(data, edges_, half_open_, outside_, expected_); }
  void compare(const std::vector<Histogram>& found, const std::string& input) const {
    for (std::size_t c = 0; c < found.size(); ++c) {
      const Histogram& histogram = found[c];
      const auto check = [&](const std::string& what, std::uint64_t got, std::uint64_t expected) {
        if (got == expected) return;
        throw Differs(
            fmt::format("{}: channel {}, {}: counted {}, the reference counted {}", input, c, what, got, expected));
      };
      for (std::uint64_t i = 0; i < histogram.size(); ++i) {
        if (histogram.counts()[i] != expected_[c].counts[i]) {
          check(fmt::format("bin {}", i), histogram.counts()[i], expected_[c].counts[i]);
        }
      }
      check("below", histogram.below(), expected_[c].below);
      check("above", histogram.above(), expected_[c].above);
      check("nan", histogram.nan(), expected_[c].nan);
    }
  }

 private:
  std::vector<double> edges_;
  bool half_open_;
  Outside outside_;
  std::vector<reference::Counts> expected_;
};

}  // namespace

HistogramResult run_histogram(const HistogramJob& job, const std::string& input, Progress& progress) {
  const auto began = Clock::now();
  const std::unique_ptr<io::Source> source = io::open(input, job.source);
  HistogramResult result;
  result.source = source->info();
  const io::SourceInfo& info = result.source;
  const Device device = open_device(job, info);
  result.device = device.id();
  HistogramOptions options = job.options;
  options.channels = channels_of(job, info);
  result.names = channel_names(options.channels, info);

  const std::uint64_t chunk = device.kind() == DeviceKind::cpu ? std::uint64_t{8} << 20U : std::uint64_t{64} << 20U;
  std::optional<Bins> bins = bins_without_data(job.bins, info);
  std::optional<HistogramAccumulator> accumulator;
  if (bins) accumulator.emplace(device, info.dtype, *bins, options);  // refuses what cannot work before any reading
  ChunkReader reader(*source, options.channels, std::min(job.memory.value_or(chunk), chunk), progress);
  const std::optional<std::uint64_t> bytes =
      info.count ? std::optional(*info.count * size_of(info.dtype)) : std::nullopt;

  Bounds bounds = dtype_bounds(info.dtype);
  if (!bins) {
    source->keep_for_rewind();
    progress.start("range", bytes);
    const std::optional<ValueRange> range = find_range(device, reader, result.seconds);
    if (range && !is_float(info.dtype)) bounds = {range->lo, range->hi};
    bins = bins_for_range(job.bins, info.dtype, range);
    accumulator.emplace(device, info.dtype, *bins, options);
    reader.rewind();
  }

  const bool half_open = options.right_open || bins->kind() == Bins::Kind::integers;
  bool from_counts = false;  // whether range and mean can be told from the counts: every value has its own bin
  std::optional<Verifier> verifier;
  if (job.verify || job.summaries) {
    const std::vector<Histogram> empty = accumulator->result();
    const Histogram& first = empty.front();
    if (job.verify) verifier.emplace(empty, half_open, options.outside);
    if (job.summaries) {
      result.one_value = one_value_per_bin(first, bins->kind(), half_open, bounds);
      from_counts = result.one_value && first.edge(0) <= bounds.least && first.edge(first.size()) > bounds.greatest;
      result.summaries.resize(options.channels);
    }
  }

  double verifying = 0;
  progress.start("histogram", bytes);
  while (true) {
    const ArrayView piece = reader.next();
    if (piece.count == 0) break;
    accumulator->add(piece);
    result.bytes += piece.count * size_of(info.dtype);
    if (verifier) {
      const auto start = Clock::now();
      verifier->add(piece);
      verifying += since(start);
    }
    for (unsigned c = 0; job.summaries && !from_counts && c < options.channels; ++c) {
      result.summaries[c].add(piece, c, options.channels);
    }
  }
  result.channels = accumulator->result();
  progress.finish();
  const HistogramTimes times = accumulator->times();
  result.seconds.read = reader.seconds();
  result.seconds.transfer = times.transfer;
  result.seconds.compute += times.compute;
  result.seconds.total = since(began) - verifying;
  result.bad_lines = source->bad_lines();
  // Bins of f32 data are f32 numbers where masu made them.
  result.edge_dtype = info.dtype == Dtype::f32 && bins->kind() == Bins::Kind::even ? Dtype::f32 : Dtype::f64;
  for (unsigned c = 0; job.summaries && from_counts && c < options.channels; ++c) {
    result.summaries[c].add(result.channels[c]);
  }
  if (verifier) verifier->compare(result.channels, info.name);
  return result;
}

}  // namespace masu::cli
