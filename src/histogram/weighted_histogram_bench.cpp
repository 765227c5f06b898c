// SPDX-License-Identifier: Apache-2.0
// How fast weights are summed by bins. Axes: device, case, number of elements, distribution of the values, CPU threads.
// Every result is checked against plain exact sums before it is timed; masu and the plain reading of the same bytes,
// values and weights, take turns.
#include <masu/sum.h>
#include <masu/weighted_histogram.h>

#include "bench/histogram_cases.h"
#include "bench/inputs.h"
#include "bench/runner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <future>
#include <string>
#include <vector>

namespace masu::bench {
namespace {

constexpr std::array<std::string_view, 5> distributions = {"uniform", "constant", "normal", "zipf", "sorted"};
constexpr std::array<std::string_view, 3> usual_distributions_of_weights = {"uniform", "constant", "zipf"};

// f32 values in even bins of [0, 1). Weights lie in [0, 1), or, where they are `wide`, have every finite exponent and
// both signs.
struct WeightedCase {
  std::string_view name;
  Dtype weights;
  std::uint64_t bins;
  bool wide = false;
  bool variances = false;
  bool usual = true;
};
constexpr auto cases = std::to_array<WeightedCase>({
    {"f32-256", Dtype::f32, 256},
    {"f32-256-wide", Dtype::f32, 256, true},
    {"f32-256-variances", Dtype::f32, 256, false, true, false},
    {"f64-256", Dtype::f64, 256, false, false, false},
    {"f64-256-wide", Dtype::f64, 256, true, false, false},
    {"i32-256", Dtype::i32, 256, false, false, false},
    {"f32-16", Dtype::f32, 16, false, false, false},
    {"f32-10000", Dtype::f32, 10000, false, false, false},
});

// Random bits whose exponent is that of a finite number.
template <class Bits>
void make_finite(std::span<std::byte> bytes, unsigned fraction_bits) {
  const Bits lowest = Bits{1} << fraction_bits;
  const Bits exponent = (~Bits{0} >> 1) & ~(lowest - 1);
  for (std::size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof(Bits));
    if ((bits & exponent) == exponent) bits ^= lowest;
    std::memcpy(bytes.data() + at, &bits, sizeof(Bits));
  }
}

// The values, and behind them the weights.
struct WeightedInput {
  WeightedInput(const WeightedCase& what, std::uint64_t count, std::string_view distribution)
      : values_bytes(count * sizeof(float)), all(Dtype::u8, values_bytes + count * size_of(what.weights)) {
    const std::string size = std::to_string(count);
    const Input values = histogram_input(HistogramCase{"", Dtype::f32, what.bins}, values_bytes, distribution);
    std::copy(values.bytes().begin(), values.bytes().end(), all.bytes().begin());
    const std::span<std::byte> weights = all.bytes().subspan(values_bytes);
    const Dtype bits = size_of(what.weights) == 8 ? Dtype::u64 : Dtype::u32;
    const Dtype drawn = what.wide ? bits : what.weights;
    const Input found(drawn, count, "random:" + std::string(to_string(drawn)) + ":" + size + ":seed=1");
    std::copy(found.bytes().begin(), found.bytes().end(), weights.begin());
    if (!what.wide) return;
    if (bits == Dtype::u64) make_finite<std::uint64_t>(weights, 52);
    else make_finite<std::uint32_t>(weights, 23);
  }
  [[nodiscard]] ArrayView values() const { return {Dtype::f32, all.bytes().data(), values_bytes / sizeof(float)}; }
  [[nodiscard]] ArrayView weights(Dtype dtype) const {
    return {dtype, all.bytes().data() + values_bytes, values_bytes / sizeof(float)};
  }
  std::uint64_t values_bytes;
  Input all;
};

// The totals of the bins by one look into the edges a value, on pieces of the data side by side.
std::vector<double> sum_plainly(const WeightedCase& what, const WeightedInput& input, std::span<const double> edges) {
  const ArrayView values = input.values();
  const ArrayView weights = input.weights(what.weights);
  const std::size_t size = size_of(what.weights);
  constexpr std::uint64_t pieces = 16;
  std::vector<std::future<std::vector<ExactSum>>> parts;
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    parts.push_back(std::async(std::launch::async, [&, piece] {
      std::vector<ExactSum> sums(what.bins);
      const std::uint64_t end = values.count * (piece + 1) / pieces;
      for (std::uint64_t i = values.count * piece / pieces; i < end; ++i) {
        const auto x = static_cast<double>(static_cast<const float*>(values.data)[i]);
        if (x < edges.front() || x > edges.back()) continue;
        const auto bin = std::upper_bound(edges.begin(), edges.end() - 1, x) - edges.begin() - 1;
        const auto* weight = static_cast<const std::byte*>(weights.data) + i * size;
        sums[static_cast<std::size_t>(bin)].add(ArrayView(what.weights, weight, 1));
      }
      return sums;
    }));
  }
  std::vector<ExactSum> sums(what.bins);
  for (auto& part : parts) {
    const std::vector<ExactSum> found = part.get();
    for (std::size_t bin = 0; bin < sums.size(); ++bin) sums[bin].merge(found[bin]);
  }
  std::vector<double> totals;
  for (const ExactSum& sum : sums) totals.push_back(sum.sum());
  return totals;
}

class Weighing final : public Reading {
 public:
  Weighing(const WeightedCase& what, const WeightedInput& input, std::span<const double> expected, const Device& device,
           Ceilings& ceilings)
      : Reading(input.all.bytes(), device, ceilings),
        what_(what),
        expected_(expected),
        device_(device),
        values_(data().slice(0, input.values_bytes)),
        weights_(data().slice(input.values_bytes, data().size() - input.values_bytes)) {}
  void check(const std::string& name) override {
    const auto same = [](double a, double b) {
      return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    };
    if (std::equal(expected_.begin(), expected_.end(), result_.totals().begin(), result_.totals().end(), same)) return;
    throw WrongResult("bench: " + name + ": the totals differ from the plain exact sums");
  }

 private:
  void once(Times* times) override {
    WeightedHistogramAccumulator accumulator(device_, Dtype::f32, what_.weights, Bins::even(what_.bins, 0, 1),
                                             {.variances = what_.variances});
    accumulator.add_buffer(values_, Dtype::f32, weights_, what_.weights);
    result_ = accumulator.result();
    if (times != nullptr) *times = accumulator.times();
  }

  WeightedCase what_;
  std::span<const double> expected_;
  Device device_;
  Buffer<std::byte> values_;
  Buffer<std::byte> weights_;
  WeightedHistogram result_;
};

}  // namespace

Measurements weighted_suite(const Request& request) {
  refuse_strategies(request, "weighted");
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  for (const WeightedCase& what : request.selection.chosen_cases(std::span<const WeightedCase>(cases))) {
    for (const auto& [count, devices] : runner.devices_by_count(sizeof(float) + size_of(what.weights))) {
      runner.next_group();
      for (const std::string_view distribution : Selection::chosen("--distribution", request.selection.distributions,
                                                                   distributions, usual_distributions_of_weights)) {
        const WeightedInput input(what, count, distribution);
        const std::vector<double> edges =
            WeightedHistogramAccumulator(Device::open("cpu"), Dtype::f32, what.weights, Bins::even(what.bins, 0, 1))
                .result()
                .edges();
        const std::vector<double> expected = sum_plainly(what, input, edges);
        Row row;
        row.case_name = what.name;
        row.dtype = what.weights;
        row.details["bins"] = what.bins;
        row.distribution = distribution;
        row.bytes = input.all.bytes().size();
        row.count = count;
        runner.measure(devices, row, [&](const Device& device) {
          return Weighing(what, input, expected, device, runner.ceilings());
        });
      }
    }
  }
  return runner.finish();
}

}  // namespace masu::bench
