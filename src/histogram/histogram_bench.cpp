// SPDX-License-Identifier: Apache-2.0
// How fast values are counted. Axes: device, type and bins, size, distribution, strategy, CPU threads. Every result is
// checked against the plain reference before it is timed; masu and the plain reading of the same bytes take turns.
#include <masu/histogram.h>

#include <fmt/format.h>

#include "bench/ceiling.h"
#include "bench/inputs.h"
#include "bench/suites.h"
#include "histogram/histogram_reference.h"

#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <tuple>

namespace masu::bench {
namespace {

constexpr unsigned device_repeats = 25;
constexpr unsigned cpu_repeats = 11;
constexpr double warm_up_seconds = 0.1;  // clocks rise under load

Bins bins_of(const HistogramCase& what) {
  return is_float(what.dtype) ? Bins::even(what.bins, 0, 1) : Bins::integers(what.bins);
}

// The plain reference, on pieces of the data side by side.
reference::Counts count_plainly(const ArrayView& data, const HistogramCase& what) {
  const std::vector<double> edges =
      HistogramAccumulator(Device::open("cpu"), what.dtype, bins_of(what)).result().front().edges();
  const bool half_open = !is_float(what.dtype);
  const std::uint64_t pieces = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::vector<reference::Counts>> parts(pieces);
  std::vector<std::jthread> threads;
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    threads.emplace_back([&, piece] {
      const std::uint64_t begin = data.count * piece / pieces;
      const std::uint64_t end = data.count * (piece + 1) / pieces;
      const auto* first = static_cast<const std::byte*>(data.data) + begin * size_of(data.dtype);
      parts[piece] = reference::histogram(ArrayView(data.dtype, first, end - begin), edges, half_open);
    });
  }
  threads.clear();
  reference::Counts sum = parts.front().front();
  for (std::uint64_t piece = 1; piece < pieces; ++piece) {
    const reference::Counts& part = parts[piece].front();
    for (std::size_t bin = 0; bin < sum.counts.size(); ++bin) sum.counts[bin] += part.counts[bin];
    sum.below += part.below;
    sum.above += part.above;
    sum.nan += part.nan;
  }
  return sum;
}

// Data that was counted `times` times over.
void check(const Histogram& found, const reference::Counts& expected, std::uint64_t times, const std::string& name) {
  bool right = found.below() == times * expected.below && found.above() == times * expected.above &&
               found.nan() == times * expected.nan && found.size() == expected.counts.size();
  for (std::uint64_t bin = 0; right && bin < found.size(); ++bin) {
    right = found.counts()[bin] == times * expected.counts[bin];
  }
  if (!right) throw WrongResult("bench: " + name + ": the counts differ from the plain reference's");
}

std::string name_of(const Row& row) {
  return fmt::format("{} {} {} {} bytes {}{}", row.device, row.what.name, row.distribution, row.bytes, row.kind,
                     row.threads == 0 ? "" : fmt::format(", {} threads", row.threads));
}

// One input on one device: the steps of a measurement, on device memory or on host memory.
class Bench {
 public:
  virtual ~Bench() = default;
  // Counts once more and gives the seconds; then reads the same bytes plainly and gives those seconds.
  struct Turn {
    double counting;
    double reading;
  };
  virtual Turn turn(HistogramAccumulator& accumulator) = 0;
  virtual Histogram call(const Bins& bins, const HistogramOptions& options) = 0;
};

class DeviceBench final : public Bench {
 public:
  DeviceBench(const Device& device, const Input& input, bool quick)
      : dtype_(input.view().dtype),
        data_(device.upload(input.bytes())),
        ceiling_(device, data_, fold(input.bytes()), quick),
        stream_(device) {}

  // The reading in front of the counting hides how long a launch takes to reach the device.
  Turn turn(HistogramAccumulator& accumulator) override {
    const double before = accumulator.times().compute;
    ceiling_.read(stream_, data_);
    accumulator.add_buffer(data_, dtype_, &stream_);
    const Event reading = ceiling_.read(stream_, data_);
    stream_.finish();
    return {accumulator.times().compute - before, reading.seconds()};
  }
  Histogram call(const Bins& bins, const HistogramOptions& options) override {
    return histogram_channels(data_, dtype_, bins, options).front();
  }

 private:
  Dtype dtype_;
  Buffer<std::byte> data_;
  DeviceCeiling ceiling_;
  Stream stream_;
};

class CpuBench final : public Bench {
 public:
  CpuBench(const Device& device, const Input& input) : device_(device), input_(input), ceiling_(input.bytes()) {}

  Turn turn(HistogramAccumulator& accumulator) override {
    const double before = accumulator.times().compute;
    accumulator.add(input_.view());
    return {accumulator.times().compute - before, ceiling_.read(input_.bytes())};
  }
  Histogram call(const Bins& bins, const HistogramOptions& options) override {
    return histogram(device_, input_.view(), bins, options);
  }

 private:
  Device device_;
  const Input& input_;
  CpuCeiling ceiling_;
};

class Suite {
 public:
  explicit Suite(const Request& request)
      : request_(request),
        strategies_(request.strategies.empty() ? std::vector<std::string>{"auto"} : request.strategies) {}

  std::vector<Row> run() {
    const std::vector<HistogramCase> cases = chosen_cases(request_.selection);
    const auto shapes = Selection::chosen("--distribution", request_.selection.distributions, distributions);
    for (const auto& [bytes, devices] : devices_by_size()) {
      for (const HistogramCase& what : cases) {
        for (const std::string_view distribution : shapes) {
          const Input input(what.dtype, bytes, distribution);
          const reference::Counts expected = count_plainly(input.view(), what);
          Row row;
          row.what = what;
          row.distribution = distribution;
          row.bytes = input.bytes().size();
          for (const Device& device : devices) measure_on(device, input, expected, row);
        }
      }
    }
    sort();
    return std::move(rows_);
  }

 private:
  // Each input is made once, for all devices that count that many bytes.
  [[nodiscard]] std::map<std::uint64_t, std::vector<Device>, std::greater<>> devices_by_size() const {
    std::map<std::uint64_t, std::vector<Device>, std::greater<>> result;
    for (const Device& device : request_.devices) {
      for (const std::uint64_t bytes : request_.selection.sizes("100Mi")) result[bytes].push_back(device);
      if (device.info().gpu && request_.selection.size_texts.empty() && !request_.selection.quick) {
        result[std::uint64_t{1} << 30].push_back(device);
      }
    }
    return result;
  }

  // By device, size, case and threads; the distributions keep their order.
  void sort() {
    const auto place = [&](const Row& row) {
      const auto device = std::find_if(request_.devices.begin(), request_.devices.end(),
                                       [&](const Device& one) { return one.id() == row.device; });
      const auto what = std::find_if(histogram_cases().begin(), histogram_cases().end(),
                                     [&](const HistogramCase& one) { return one.name == row.what.name; });
      return std::tuple(device - request_.devices.begin(), ~row.bytes, what - histogram_cases().begin(), row.threads);
    };
    std::stable_sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) { return place(a) < place(b); });
  }

  void measure_on(const Device& device, const Input& input, const reference::Counts& expected, Row row) {
    row.device = device.id();
    if (device.kind() != DeviceKind::cpu) {
      try {
        DeviceBench bench(device, input, request_.selection.quick);
        measure(device, bench, expected, row, device_repeats);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::unsupported) throw;
        request_.note(name_of(row) + ": left out: " + error.what());
      }
      return;
    }
    for (const unsigned threads : request_.selection.threads_or_default()) {
      set_cpu_threads(threads);
      row.threads = threads;
      CpuBench bench(device, input);
      measure(device, bench, expected, row, cpu_repeats);
      set_cpu_threads(0);
    }
  }

  void measure(const Device& device, Bench& bench, const reference::Counts& expected, Row row, unsigned otherwise) {
    const unsigned repeats = request_.selection.repeats_or(otherwise);
    for (const std::string& strategy : strategies_) {
      HistogramOptions options;
      options.strategy = strategy_from_name(strategy);
      row.kind = "kernel";
      request_.progress(name_of(row));
      try {
        row.ceiling = measure_kernel(device, bench, expected, row, options, repeats);
      } catch (const Error& error) {  // a strategy whose tables do not fit
        const ErrorCode code = error.code();
        if (options.strategy == Strategy::automatic) throw;
        if (code != ErrorCode::invalid_argument && code != ErrorCode::unsupported) throw;
        request_.note(name_of(row) + ": left out: " + error.what());
        continue;
      }
      measure_call(bench, expected, row, options, repeats);
    }
  }

  // Gives the ceiling's median, in seconds.
  double measure_kernel(const Device& device, Bench& bench, const reference::Counts& expected, Row row,
                        const HistogramOptions& options, unsigned repeats) {
    HistogramAccumulator accumulator(device, row.what.dtype, bins_of(row.what), options);
    bench.turn(accumulator);
    std::uint64_t turns = 1;
    check(accumulator.result().front(), expected, turns, name_of(row));
    if (!request_.selection.quick) {
      for (const double end = now() + warm_up_seconds; now() < end; ++turns) bench.turn(accumulator);
    }
    row.seconds = {};
    Samples reading;
    for (unsigned i = 0; i < repeats; ++i, ++turns) {
      const Bench::Turn turn = bench.turn(accumulator);
      row.seconds.add(turn.counting);
      reading.add(turn.reading);
    }
    const Histogram found = accumulator.result().front();
    check(found, expected, turns, name_of(row));
    row.strategy = to_string(found.strategy());
    row.ceiling = reading.median();
    rows_.push_back(row);
    return row.ceiling;
  }

  void measure_call(Bench& bench, const reference::Counts& expected, Row row, const HistogramOptions& options,
                    unsigned repeats) {
    row.kind = "call";
    row.seconds = {};
    const Bins bins = bins_of(row.what);
    for (unsigned i = 0; i <= repeats; ++i) {  // the first one warms up
      const double start = now();
      const Histogram found = bench.call(bins, options);
      const double seconds = now() - start;
      check(found, expected, 1, name_of(row));
      if (i > 0) row.seconds.add(seconds);
      row.strategy = to_string(found.strategy());
    }
    rows_.push_back(row);
  }

  const Request& request_;
  std::vector<std::string> strategies_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> histogram_suite(const Request& request) {
  for (const std::string& name : request.strategies) strategy_from_name(name);  // told before anything is made
  return Suite(request).run();
}

}  // namespace masu::bench
