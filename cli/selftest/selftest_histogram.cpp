// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest/selftest.h"

#include "histogram/histogram_reference.h"

#include <fmt/format.h>
#include <masu/histogram.h>
#include <masu/io.h>
#include <array>

namespace masu::cli {
namespace {

constexpr std::array strategies = {Strategy::automatic, Strategy::sequential, Strategy::global, Strategy::private_,
                                   Strategy::local,     Strategy::lanes,      Strategy::packed, Strategy::partitioned};
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

std::vector<reference::Counts> expected(const Case& test, const ArrayView& view, const std::vector<double>& edges) {
  const bool half_open = test.options.right_open || test.shape->bins.kind() == Bins::Kind::integers;
  const BinRule rule(test.shape->bins, test.dtype, test.options.right_open);
  return reference::histogram(view, edges, half_open, test.options.outside, test.options.channels,
                              reference::half_even(rule));
}

void check(const Device& device, const Case& test, std::uint64_t seed, SelftestTally& tally) {
  const std::uint64_t count = test.size / test.options.channels * test.options.channels;
  selftest_case(device, tally, test.name(), test.options.strategy, [&] {
    const std::vector<std::byte> bytes = selftest_data(test.dtype, test.distribution, count, seed);
    const ArrayView view(test.dtype, bytes.data(), count);
    const std::vector<Histogram> found = histogram_channels(device, view, test.shape->bins, test.options);
    const std::vector<reference::Counts> right = expected(test, view, found.front().edges());
    bool same = found.size() == right.size();
    for (std::size_t c = 0; same && c < found.size(); ++c) {
      const auto counts = found[c].counts();
      const reference::Counts got{{counts.begin(), counts.end()}, found[c].below(), found[c].above(), found[c].nan()};
      same = got == right[c];
    }
    return same;
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
  for (std::size_t d = 0; d < selftest_dtypes.size(); ++d) {
    const Dtype dtype = selftest_dtypes[d];
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
      Case test{choice.dtype, choice.shape, distributions[number % distributions.size()], size, {}};
      test.options.strategy = choice.strategy;
      test.options.channels = choice.channels;
      test.options.right_open = number % 3 == 1;
      test.options.outside = number % 5 == 2 ? Outside::clamp : Outside::drop;
      check(device, test, number, tally);
      ++number;
    }
  }
}

}  // namespace masu::cli
