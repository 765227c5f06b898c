// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest/selftest.h"

#include "histogram/histogram_reference.h"

#include <fmt/format.h>
#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>
#include <algorithm>

namespace masu::cli {
namespace {

ArrayView shapes_part(const ArrayView& data, std::uint64_t first, std::uint64_t count) {
  return {data.dtype, static_cast<const std::byte*>(data.data) + first * size_of(data.dtype), count};
}

ArrayView view_of(Dtype dtype, const std::vector<std::byte>& bytes) {
  return {dtype, bytes.data(), bytes.size() / size_of(dtype)};
}

bool equal(const Histogram& found, const reference::Counts& right) {
  return std::equal(found.counts().begin(), found.counts().end(), right.counts.begin(), right.counts.end()) &&
         found.below() == right.below && found.above() == right.above && found.nan() == right.nan;
}

std::vector<reference::Counts> plain(const ArrayView& data, const Bins& bins, const HistogramOptions& options,
                                     const std::vector<double>& edges) {
  const bool half_open = options.right_open || bins.kind() == Bins::Kind::integers;
  return reference::histogram(data, edges, half_open, options.outside, options.channels,
                              reference::half_even(BinRule(bins, data.dtype, options.right_open)));
}

void rows(const Device& device, SelftestTally& tally, Dtype dtype, const Bins& bins, std::uint64_t count,
          std::uint64_t row_elements, unsigned channels) {
  HistogramOptions options;
  options.channels = channels;
  options.outside = count % 2 == 0 ? Outside::drop : Outside::clamp;
  const std::string name = fmt::format("{} rows of {} {}, {} bins, {} channels", count, row_elements, to_string(dtype),
                                       bins.size(), channels);
  selftest_case(device, tally, name, options.strategy, [&] {
    const std::vector<std::byte> bytes = selftest_data(dtype, "normal", count * row_elements, row_elements);
    const ArrayView data = view_of(dtype, bytes);
    const RowHistograms found = row_histograms(device, data, count, bins, options);
    for (std::uint64_t r = 0; r < count; ++r) {
      const auto right = plain(shapes_part(data, r * row_elements, row_elements), bins, options, found.edges());
      for (unsigned c = 0; c < channels; ++c) {
        if (!equal(found.histogram(r, c), right[c])) return false;
      }
    }
    return true;
  });
}

// The reference's bin of each value, by counting it alone: the bins, then outside, then NaN.
std::vector<std::uint64_t> slots(const ArrayView& column, const Bins& bins, const std::vector<double>& edges) {
  const std::uint64_t n = edges.size() - 1;
  std::vector<std::uint64_t> result;
  std::vector<reference::Counts> one(1);
  for (std::uint64_t i = 0; i < column.count; ++i) {
    one[0] = {std::vector<std::uint64_t>(n), 0, 0, 0};
    reference::histogram(shapes_part(column, i, 1), edges, bins.kind() == Bins::Kind::integers, Outside::drop, one);
    const auto found = std::find(one[0].counts.begin(), one[0].counts.end(), std::uint64_t{1});
    result.push_back(one[0].nan != 0 ? n + 1 : static_cast<std::uint64_t>(found - one[0].counts.begin()));
  }
  return result;
}

void joint(const Device& device, SelftestTally& tally, Dtype dtype, const std::vector<Bins>& bins,
           std::uint64_t points) {
  std::string name = fmt::format("{} joint {} points,", to_string(dtype), points);
  for (const Bins& column : bins) name += fmt::format(" {} bins", column.size());
  selftest_case(device, tally, name, Strategy::automatic, [&] {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<ArrayView> columns;
    for (std::size_t d = 0; d < bins.size(); ++d) {
      bytes.push_back(selftest_data(dtype, d % 2 == 0 ? "uniform" : "normal", points, d + points));
    }
    for (const auto& column : bytes) columns.push_back(view_of(dtype, column));
    const JointHistogram found = joint_histogram(device, columns, bins);
    std::vector<std::uint64_t> cells(points, 0);
    std::vector<bool> nan(points);
    std::vector<bool> outside(points);
    for (unsigned d = 0; d < bins.size(); ++d) {
      const std::vector<std::uint64_t> slot = slots(columns[d], bins[d], found.edges(d));
      for (std::uint64_t i = 0; i < points; ++i) {
        nan[i] = nan[i] || slot[i] > found.size(d);
        outside[i] = outside[i] || slot[i] >= found.size(d);
        cells[i] = cells[i] * found.size(d) + slot[i];
      }
    }
    std::vector<std::uint64_t> counts(found.counts().size());
    std::uint64_t outsiders = 0;
    std::uint64_t nans = 0;
    for (std::uint64_t i = 0; i < points; ++i) {
      if (nan[i]) ++nans;
      else if (outside[i]) ++outsiders;
      else ++counts[cells[i]];
    }
    return std::equal(counts.begin(), counts.end(), found.counts().begin()) && found.outside() == outsiders &&
           found.nan() == nans;
  });
}

void region(const Device& device, SelftestTally& tally, Dtype dtype, const ImageLayout& layout, unsigned channels) {
  HistogramOptions options;
  options.channels = channels;
  const Bins bins = Bins::even(50, -20, 90);
  const Region& inside = *layout.region;
  const std::string name =
      fmt::format("{} region {},{},{},{} of {} x {} pixels, {} channels", to_string(dtype), inside.x, inside.y,
                  inside.width, inside.height, layout.width, layout.height, channels);
  selftest_case(device, tally, name, options.strategy, [&] {
    const std::uint64_t stride = layout.pitch / size_of(dtype);
    const std::vector<std::byte> bytes = selftest_data(dtype, "uniform", stride * layout.height, stride);
    const ArrayView data = view_of(dtype, bytes);
    const std::vector<Histogram> found = histogram_channels(device, data, layout, bins, options);
    std::vector<reference::Counts> right = plain(shapes_part(data, 0, 0), bins, options, found.front().edges());
    const auto half = reference::half_even(BinRule(bins, dtype, false));
    for (std::uint64_t y = inside.y; y < inside.y + inside.height; ++y) {
      reference::histogram(shapes_part(data, y * stride + inside.x * channels, inside.width * channels),
                           found.front().edges(), false, options.outside, right, half);
    }
    for (unsigned c = 0; c < channels; ++c) {
      if (!equal(found[c], right[c])) return false;
    }
    return true;
  });
}

// Bins that are found in the data are the same for a device as for the reference's edges.
void found_bins(const Device& device, SelftestTally& tally, Dtype dtype, Estimator estimator) {
  selftest_case(device, tally, fmt::format("{} bins by {}", to_string(dtype), to_string(estimator)),
                Strategy::automatic, [&] {
                  const std::vector<std::byte> bytes = selftest_data(dtype, "normal", 3001, 5);
                  const ArrayView data = view_of(dtype, bytes);
                  BinEstimator finder(dtype, Bins::automatic(estimator));
                  do {
                    finder.add(data);
                  } while (finder.next_pass());
                  const Histogram found = histogram(device, data, Bins::automatic(estimator));
                  return equal(found, plain(data, finder.bins(), {}, found.edges()).front());
                });
}

}  // namespace

void selftest_shapes(const Device& device, SelftestTally& tally) {
  // A device compiles a program for each kind of bins, dtype and shape, so there each dtype meets one of each.
  const bool all = device.kind() == DeviceKind::cpu;
  for (std::size_t i = 0; i < selftest_dtypes.size(); ++i) {
    const Dtype dtype = selftest_dtypes[i];
    const auto turn = [&](std::size_t number) { return all || i % 3 == number; };
    const Bins even = Bins::even(100, -10, 90);
    const Bins uneven = Bins::edges({-3, 0, 0.5, 1, 1, 7, 30, 30.25, 100});
    const Bins other = is_float(dtype) ? Bins::logarithmic(20, 1, 80) : Bins::integers(70);
    const std::array<const Bins*, 3> kinds = {&even, &uneven, &other};
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (!all && k != i / 3 % kinds.size()) continue;
      if (turn(0)) {
        rows(device, tally, dtype, *kinds[k], 1, 60, 1);
        rows(device, tally, dtype, *kinds[k], 37, 111, 1);
        rows(device, tally, dtype, *kinds[k], 300, 12, 3);
      }
      if (turn(1)) joint(device, tally, dtype, {*kinds[k], *kinds[(k + 1) % kinds.size()]}, 2003);
    }
    if (all) joint(device, tally, dtype, {even}, 1000);
    if (all || dtype == Dtype::f32) {
      joint(device, tally, dtype, {Bins::even(7, 0, 100), uneven, Bins::even(5, -50, 50)}, 1500);
    }
    const std::uint64_t element = size_of(dtype);
    if (turn(2)) {
      region(device, tally, dtype, {31, 17, 100 * element, Region{0, 0, 31, 17}}, 3);
      region(device, tally, dtype, {31, 17, 31 * 3 * element, Region{30, 16, 1, 1}}, 3);
    }
    if (all) region(device, tally, dtype, {31, 17, 33 * element, Region{5, 3, 20, 11}}, 1);
    for (int e = 0; (all || dtype == Dtype::i32) && e <= static_cast<int>(Estimator::sqrt); ++e) {
      found_bins(device, tally, dtype, static_cast<Estimator>(e));
    }
  }
}

}  // namespace masu::cli
