// SPDX-License-Identifier: Apache-2.0
// Codes of 8 bits are counted as bytes; their numbers find their bins by the edges.
#include <masu/float8_histogram.h>

#include <array>
#include <cmath>
#include <vector>

namespace masu {
namespace {

// `count` tells the histogram of bytes. The result's bins are made first, so that a fault in them is found before.
template <class Count>
Histogram of_codes(Float8 format, const Bins& bins, HistogramOptions options, const Count& count) {
  HistogramOptions ours = options;
  ours.strategy = Strategy::automatic;
  ours.workspace = nullptr;
  if (options.channels != 1) throw Error(ErrorCode::invalid_argument, "histogram: codes must have one channel");
  const Histogram empty = HistogramAccumulator(Device::open("cpu"), Dtype::f32, bins, ours).result().front();
  options.outside = Outside::drop;
  options.right_open = false;
  const Histogram codes = count(Bins::even(256, 0, 256), options);

  const std::uint64_t size = empty.size();
  const bool clamps = ours.outside == Outside::clamp;
  std::vector<std::int64_t> numbers(size + 3);
  const double first = empty.edge(0);
  const double last = empty.edge(size);
  for (unsigned code = 0; code < 256; ++code) {
    const auto times = static_cast<std::int64_t>(codes.counts()[code]);
    const double x = float8_values(format)[code];
    if (times == 0) continue;
    std::uint64_t low = 0;
    if (std::isnan(x)) low = size + 2;
    else if (x < first) low = clamps ? 0 : size;
    else if (x > last || (x == last && ours.right_open)) low = clamps ? size - 1 : size + 1;
    else {
      // The last edge that is not greater, of those that begin a bin.
      for (std::uint64_t high = size; high - low > 1;) {
        const std::uint64_t middle = low + (high - low) / 2;
        (empty.edge(middle) <= x ? low : high) = middle;
      }
    }
    numbers[low] += times;
  }
  return empty.with_integers(numbers);
}

}  // namespace

Histogram histogram(const Device& device, std::span<const std::uint8_t> codes, Float8 format, const Bins& bins,
                    const HistogramOptions& options) {
  return of_codes(format, bins, options, [&](const Bins& bytes, const HistogramOptions& how) {
    return histogram_channels(device, ArrayView(codes), bytes, how).front();
  });
}

Histogram histogram(const Buffer<std::uint8_t>& codes, Float8 format, const Bins& bins,
                    const HistogramOptions& options) {
  return of_codes(format, bins, options, [&](const Bins& bytes, const HistogramOptions& how) {
    return histogram_channels(codes, Dtype::u8, bytes, how).front();
  });
}

}  // namespace masu
