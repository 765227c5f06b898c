// SPDX-License-Identifier: Apache-2.0
// Every kernel and every binning of the histogram on the device opencl:0, small, against the plain reference: what
// check.sh runs under Oclgrind. Everything is launched from this one thread.
//
//   oclgrind_histogram KERNEL     local, lanes, global, private, sequential, range
#include "histogram/bin_rule.h"
#include "histogram/histogram_device.h"
#include "histogram/histogram_plan.h"
#include "histogram/histogram_reference.h"
#include "histogram/histogram_test_data.h"

#include <masu/histogram.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace masu {
namespace {

using histogram_plan::Binning;
using test::Samples;

// Values before and behind what is counted, so that it starts and ends at odd places of a buffer. A read of them shows
// in the counts: all are alike.
constexpr std::size_t margin = 3;

template <class T>
Buffer<T> padded(const Device& device, const std::vector<T>& data) {
  std::vector<T> all(data.size() + 2 * margin, T{1});
  std::copy(data.begin(), data.end(), all.begin() + margin);
  return device.upload(all);
}

void expect(bool right, const std::string& what) {
  if (!right) throw std::runtime_error("wrong: " + what);
}

// The totals of the kernel as the reference has them. Bytes are 256 bins there.
std::vector<reference::Counts> unpack(const std::vector<std::uint64_t>& totals, const BinRule& rule,
                                      unsigned channels) {
  std::vector<reference::Counts> result(channels);
  const std::uint64_t slots = histogram_plan::slots_of(rule);
  for (unsigned c = 0; c < channels; ++c) {
    const auto from = totals.begin() + static_cast<std::ptrdiff_t>(c * slots);
    const auto end = from + static_cast<std::ptrdiff_t>(rule.n);
    result[c].counts.assign(from, end);
    if (size_of(rule.dtype) == 1) continue;
    result[c].below = end[slot_below];
    result[c].above = end[slot_above];
    result[c].nan = end[slot_nan];
  }
  return result;
}

// Counts with 4 loads in flight too, as GPUs do, and with one work-group, which then goes round its loops more than
// once.
template <class T>
void count(const Device& device, Strategy strategy, const std::vector<T>& data, const Bins& bins, Binning binning,
           unsigned channels = 1) {
  const BinRule rule(bins, dtype_of<T>, false);
  auto plan = histogram_plan::make(device.info(), rule, channels, strategy);
  const std::string name = std::string(to_string(strategy)) + " " + std::string(to_string(dtype_of<T>)) + ", " +
                           std::to_string(channels) + " channels";
  expect(plan.binning == binning, name + ": the binning");
  if (strategy == Strategy::lanes) expect(plan.copies > 1, name + ": several copies of the table");
  if (strategy != Strategy::sequential) {
    plan.unroll = 4;
    plan.group = std::min(plan.group, 16U);
    plan.groups = 2;
  }
  const Buffer<T> buffer = padded(device, data);
  DeviceCounter counter(device, rule, channels, plan);
  std::vector<double> edges(rule.n + 1);
  for (std::uint64_t i = 0; i <= rule.n; ++i) edges[i] = rule.edge(i);
  std::vector<reference::Counts> expected(channels);
  for (reference::Counts& counts : expected) counts.counts.resize(rule.n);
  // All; less than a vector; a start of every alignment.
  for (std::size_t first = 0; first <= 16 / sizeof(T); first += channels) {
    const std::size_t most = first == 0 ? data.size() : 2 * (margin + first);
    const std::size_t length = std::min(data.size() - first, most) / channels * channels;
    counter.add(buffer.slice(margin + first, length), length, nullptr);
    reference::histogram(ArrayView(dtype_of<T>, data.data() + first, length), edges, rule.half_open, Outside::drop,
                         expected);
  }
  expect(unpack(counter.totals(), rule, channels) == expected, name);
  std::printf("right: %s\n", name.c_str());
}

// A launch has 16 work-items in 2 groups at most, or 2 with tables of their own: enough values for their unrolled loop
// (4 vectors for each), the loop behind it, the head and the tail.
constexpr std::size_t vectors = 4 * 32 + 37;
template <class T>
constexpr std::size_t size = vectors * 16 / sizeof(T) + 2;

template <class T>
std::vector<T> samples(std::uint64_t bins, double lo, double hi, std::size_t count = size<T>) {
  return Samples<T>(bins, lo, hi).take(count);
}

void count_all(const Device& device, Strategy strategy) {
  const Bins bytes = Bins::integers(256);
  count(device, strategy, samples<std::uint8_t>(256, 0, 256), bytes, Binning::bytes);
  count(device, strategy, samples<std::uint16_t>(40, 0, 50), Bins::integers(40), Binning::integers);
  count(device, strategy, samples<float>(20, 0, 1), Bins::even(20, 0, 1), Binning::even);
  count(device, strategy, samples<std::int32_t>(9, -30, 60), Bins::edges({-30, -7, 0, 0, 5, 59}), Binning::edges);
  count(device, strategy, samples<std::uint8_t>(256, 0, 256, size<std::uint8_t> / 3 * 3), bytes, Binning::bytes, 3);
  count(device, strategy, samples<float>(20, 0, 1, size<float> / 3 * 3), Bins::even(20, 0, 1), Binning::even, 3);
  count(device, strategy, samples<std::uint64_t>(20, 0, 1000), Bins::even(20, 0, 1000), Binning::even);
  if (device.info().fp64) {
    count(device, strategy, samples<double>(20, -1, 1), Bins::even(20, -1, 1), Binning::even);
  }
}

template <class T>
void find_range(const Device& device, std::vector<T> data) {
  const Buffer<T> buffer = padded(device, data);
  for (const std::size_t length : {data.size(), std::size_t{5}, std::size_t{1}}) {
    const auto found = device_finite_range(buffer.slice(margin, length), dtype_of<T>);
    std::optional<ValueRange> expected;
    for (std::size_t i = 0; i < length; ++i) {
      const auto x = static_cast<double>(data[i]);
      if (std::isfinite(x)) expected = merge(expected, ValueRange{x, x, true});
    }
    const std::string name = "range of " + std::to_string(length) + " " + std::string(to_string(dtype_of<T>));
    expect(found.has_value() == expected.has_value(), name);
    expect(!found || (found->lo == expected->lo && found->hi == expected->hi), name);
    std::printf("right: %s\n", name.c_str());
  }
}

void find_ranges(const Device& device) {
  find_range(device, samples<std::uint8_t>(100, 50, 150));
  find_range(device, samples<std::int32_t>(100, -50, 150));
  std::vector<float> floats = samples<float>(20, -5, 1);
  floats[0] = std::nanf("");
  find_range(device, floats);
  if (device.info().fp64) find_range(device, samples<double>(20, -5, 1));
}

void run(const std::string& name) {
  const Device device = Device::open("opencl");
  std::printf("device: %s\n", device.info().name.c_str());
  if (name == "range") find_ranges(device);
  else count_all(device, strategy_from_name(name));
}

}  // namespace
}  // namespace masu

int main(int count, char** arguments) try {
  masu::run(count == 2 ? arguments[1] : "local");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
