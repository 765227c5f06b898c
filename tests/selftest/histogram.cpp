// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"
#include "cli/verify/references.h"
#include "tests/selftest/selftest.h"

#include <fmt/format.h>
#include <masu/histogram.h>
#include <masu/io.h>
#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>
#include <algorithm>
#include <array>

namespace masu::cli {
namespace {

constexpr std::array strategies = {Strategy::automatic, Strategy::global, Strategy::private_,   Strategy::local,
                                   Strategy::lanes,     Strategy::packed, Strategy::partitioned};
constexpr std::array distributions = {"uniform", "constant", "normal", "zipf", "sorted", "runs", "few"};
constexpr std::array<std::uint64_t, 6> histogram_sizes = {0, 1, 2, 31, 4099, 70001};

struct Shape {
  const char* name;
  Bins bins;
  bool for_floats = true;  // whether float data may be counted so
  bool for_f16 = true;     // whether the edges are different numbers of f16

  [[nodiscard]] bool suits(Dtype dtype) const {
    return (!is_float(dtype) || for_floats) && (dtype != Dtype::f16 || for_f16);
  }
};

std::vector<Shape> shapes() {
  return {{"256 integers", Bins::integers(256), false, false},
          {"100 even bins of -10:90", Bins::even(100, -10, 90), true},
          {"1 bin of 0:64", Bins::even(1, 0, 64), true},
          {"uneven edges", Bins::edges({-3, 0, 0.5, 1, 1, 7, 30, 30.25, 100}), true},
          {"30 bins of equal ratio of 0.5:100", Bins::logarithmic(30, 0.5, 100), true},
          {"5000 even bins of -100:100", Bins::even(5000, -100, 100), true, false},
          {"200000 even bins of -100:100", Bins::even(200000, -100, 100), true, false}};
}

struct Case {
  Dtype dtype;
  const Shape* shape;
  const char* distribution;
  std::uint64_t size;
  HistogramOptions options;

  [[nodiscard]] std::string name() const {
    return fmt::format("{} {}, {}, {} values, strategy {}, {} channels{}{}", to_string(dtype), shape->name,
                       distribution, size, to_string(options.strategy), options.channels,
                       options.right_open ? ", right-open" : "", options.outside == Outside::clamp ? ", clamped" : "");
  }
};

std::vector<reference::Counts> plain(const ArrayView& data, const Bins& bins, const HistogramOptions& options,
                                     const std::vector<double>& edges) {
  const bool half_open = options.right_open || bins.kind() == Bins::Kind::integers;
  return reference::histogram(data, edges, half_open, options.outside, options.channels,
                              reference::half_even(BinRule(bins, data.dtype, options.right_open)));
}

bool equal(const Histogram& found, const reference::Counts& right) {
  return std::equal(found.counts().begin(), found.counts().end(), right.counts.begin(), right.counts.end()) &&
         found.below() == right.below && found.above() == right.above && found.nan() == right.nan;
}

void check(const Device& device, const Case& test, std::uint64_t seed, SelftestTally& tally) {
  const std::uint64_t count = test.size / test.options.channels * test.options.channels;
  selftest_case(device, tally, test.name(), test.options.strategy, [&] {
    const std::vector<std::byte> bytes = selftest_data(test.dtype, test.distribution, count, seed);
    const ArrayView view(test.dtype, bytes.data(), count);
    const std::vector<Histogram> found = histogram_channels(device, view, test.shape->bins, test.options);
    const auto right = plain(view, test.shape->bins, test.options, found.front().edges());
    return std::equal(found.begin(), found.end(), right.begin(), right.end(), equal);
  });
}

// What decides which program runs; the other properties of a case only change its arguments.
struct Choice {
  Dtype dtype;
  const Shape* shape;
  Strategy strategy;
  unsigned channels;
};

// Every dtype with every kind of bins and every strategy on the CPU. A device has to compile a program for each, so
// there it is every dtype and every strategy several times, and each kind of bins with many of them.
std::vector<Choice> choices(const Device& device, const std::vector<Shape>& shapes) {
  const bool all = device.kind() == DeviceKind::cpu;
  std::vector<Choice> result;
  for (std::size_t d = 0; d < all_dtypes.size(); ++d) {
    const Dtype dtype = all_dtypes[d];
    for (std::size_t s = 0; s < strategies.size(); ++s) {
      if (!all && (d + s) % 3 != 0) continue;
      for (std::size_t b = 0; b < shapes.size(); ++b) {
        if (!all && b != (d + 2 * s) % shapes.size()) continue;
        std::size_t shape = b;
        while (!shapes[shape].suits(dtype)) shape = (shape + 1) % shapes.size();
        if (all && shape != b) continue;
        result.push_back({dtype, &shapes[shape], strategies[s], (d + s + b) % 5 == 3 ? 3U : 1U});
      }
    }
  }
  return result;
}

}  // namespace

std::vector<std::byte> selftest_data(Dtype dtype, std::string_view distribution, std::uint64_t count,
                                     std::uint64_t seed) {
  // Limits that every dtype has, wider than most of the bins.
  const std::string_view limits = distribution == "constant" ? "lo=7"
                                  : is_signed(dtype)         ? "lo=-100:hi=100"
                                                             : "lo=0:hi=120";
  const auto source =
      io::open(fmt::format("random:{}:{}:dist={}:{}:seed={}", to_string(dtype), count, distribution, limits, seed));
  return io::read_all(*source);
}

void selftest_case(const Device& device, SelftestTally& tally, const std::string& name, Strategy strategy,
                   const std::function<bool()>& test) {
  if (tally.met++ % tally.every != 0) return;
  try {
    tally.add(test(), name);
  } catch (const Error& error) {
    // A named strategy may say which limit it met, and a device may lack fp64; anything else is a failure.
    const bool may_refuse = strategy != Strategy::automatic || !device.info().fp64;
    if (error.code() != ErrorCode::unsupported || !may_refuse) tally.add(false, name + ": " + error.what());
  }
}

// Sizes, distributions and options take turns, so that each meets each dtype, kind of bins and strategy.
void selftest_histogram(const Device& device, SelftestTally& tally) {
  const std::vector<Shape> all = shapes();
  std::uint64_t number = 0;
  for (const Choice& choice : choices(device, all)) {
    for (const std::uint64_t size : histogram_sizes) {
      Case test{choice.dtype, choice.shape, in_turn(distributions, number), size, {}};
      test.options.strategy = choice.strategy;
      test.options.channels = choice.channels;
      test.options.right_open = number % 3 == 1;
      test.options.outside = number % 5 == 2 ? Outside::clamp : Outside::drop;
      check(device, test, number, tally);
      ++number;
    }
  }
}

namespace {

ArrayView view_of(Dtype dtype, const std::vector<std::byte>& bytes) {
  return {dtype, bytes.data(), bytes.size() / size_of(dtype)};
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
      const auto right = plain(part_of(data, r * row_elements, row_elements), bins, options, found.edges());
      for (unsigned c = 0; c < channels; ++c) {
        if (!equal(found.histogram(r, c), right[c])) return false;
      }
    }
    return true;
  });
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
    ReferenceSlots slots;
    for (unsigned d = 0; d < bins.size(); ++d) {
      slots.edges.push_back(found.edges(d));
      slots.half_open.push_back(bins[d].kind() == Bins::Kind::integers);
    }
    std::vector<std::uint64_t> counts(found.counts().size() + 3);  // the joint bins, outside in two, NaN
    slots.each(columns, [&](std::size_t slot) { ++counts[slot]; });
    const std::span<const std::uint64_t> beside = std::span(counts).last(3);
    return std::equal(found.counts().begin(), found.counts().end(), counts.begin()) &&
           found.outside() == beside[0] + beside[1] && found.nan() == beside[2];
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
    std::vector<reference::Counts> right = plain(part_of(data, 0, 0), bins, options, found.front().edges());
    const auto half = reference::half_even(BinRule(bins, dtype, false));
    for (std::uint64_t y = inside.y; y < inside.y + inside.height; ++y) {
      reference::histogram(part_of(data, y * stride + inside.x * channels, inside.width * channels),
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
  for (std::size_t i = 0; i < all_dtypes.size(); ++i) {
    const Dtype dtype = all_dtypes[i];
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
