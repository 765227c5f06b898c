// SPDX-License-Identifier: Apache-2.0
// How fast values are counted. Axes: device, case, size, distribution, strategy, CPU threads. Every result is checked
// against the plain count before it is timed; masu and the plain reading (or copying) of the same bytes take turns.
#include <masu/buffer.h>

#include "bench/runner.h"
#include "call/launcher.h"
#include "histogram/counting_bench.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace masu::bench {
namespace {

// Data that was counted `times` times over.
void check(const Counting& counting, const Tally& expected, const std::string& name) {
  const std::uint64_t times = counting.times();
  const Tally found = counting.tally();
  if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                  [&](std::uint64_t a, std::uint64_t b) { return a == times * b; })) {
    throw WrongResult("bench: " + name + ": the counts differ from the plain reference's");
  }
}

// One input in one place: the steps of a measurement.
class Bench {
 public:
  virtual ~Bench() = default;
  // Counts once more and gives the seconds; then reads (or copies) the same bytes plainly and gives those seconds.
  struct Turn {
    double counting;
    double reading;
  };
  virtual Turn turn(Counting& counting) = 0;
  [[nodiscard]] virtual Source source() const = 0;
};

class DeviceBench final : public Bench {
 public:
  DeviceBench(const Device& device, const Input& input)
      : view_(input.view()), data_(device.upload(input.bytes())), stream_(call::timed_stream(device, true)) {}

  [[nodiscard]] const Buffer<std::byte>& data() const noexcept { return data_; }
  void use(DeviceCeiling& ceiling) { ceiling_ = &ceiling; }

  // Reading before counting hides the time that a launch takes to reach the device.
  Turn turn(Counting& counting) override {
    const double before = counting.seconds();
    ceiling_->read(stream_, data_);
    counting.count(&stream_);
    const Event reading = ceiling_->read(stream_, data_);
    stream_.finish();
    return {counting.seconds() - before, reading.seconds()};
  }
  [[nodiscard]] Source source() const override { return {&data_, view_}; }

 private:
  ArrayView view_;
  Buffer<std::byte> data_;
  DeviceCeiling* ceiling_ = nullptr;
  Stream stream_;
};

class CpuBench final : public Bench {
 public:
  explicit CpuBench(const Input& input) : input_(input), ceiling_(input.bytes()) {}

  Turn turn(Counting& counting) override {
    const double before = counting.seconds();
    counting.count(nullptr);
    return {counting.seconds() - before, ceiling_.read(input_.bytes())};
  }
  [[nodiscard]] Source source() const override { return {nullptr, input_.view()}; }

 private:
  const Input& input_;
  CpuCeiling ceiling_;
};

// Data in host memory counted on a device, to the result; beside it the plain copy of the data to the device.
class HostBench final : public Bench {
 public:
  HostBench(const Device& device, const Input& input, bool page_locked)
      : view_(input.view()), bytes_(input.bytes().size()), target_(device, bytes_), stream_(device) {
    if (!page_locked) return;
    locked_.emplace(device, bytes_);
    std::copy(input.bytes().begin(), input.bytes().end(), locked_->data());
    view_.data = locked_->data();
  }

  Turn turn(Counting& counting) override {
    const double start = now();
    counting.count(nullptr);
    counting.finish();
    const double counted = now();
    stream_.write_bytes(target_, 0, view_.data, bytes_);
    stream_.finish();
    return {counted - start, now() - counted};
  }
  [[nodiscard]] Source source() const override { return {nullptr, view_}; }

 private:
  ArrayView view_;
  std::uint64_t bytes_;
  Buffer<std::byte> target_;
  std::optional<HostBuffer<std::byte>> locked_;
  Stream stream_;
};

class HistogramSuite {
 public:
  explicit HistogramSuite(const Request& request)
      : request_(request),
        runner_(request, {"kernel", "call", "pinned", "pageable"}, {"kernel", "call"}),
        strategies_(request.strategies.empty() ? std::vector<std::string>{"auto"} : request.strategies),
        cases_(request.selection.chosen_cases(histogram_cases())),
        distributions_(Selection::chosen("--distribution", request.selection.distributions, histogram_distributions)) {
    for (const std::string& name : request.strategies) strategy_from_name(name);
  }

  Measurements run() {
    for (const auto& [bytes, devices] : devices_by_size()) {
      for (const HistogramCase& what : cases_) {
        what_ = what;
        runner_.next_group();
        for (const std::string_view distribution : distributions_) {
          const Input input = histogram_input(what, bytes, distribution);
          const Tally expected = count_plainly(what, input.view());
          const Row row = histogram_row(what, input, distribution);
          for (const Device& device : devices) measure_on(device, input, expected, row);
        }
      }
    }
    return runner_.finish();
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

  void measure_on(const Device& device, const Input& input, const Tally& expected, const Row& row) {
    if (device.kind() == DeviceKind::cpu) {
      runner_.on_device(device, row, [&](const Row& one) {
        CpuBench bench(input);
        measure(device, bench, expected, one);
      });
      return;
    }
    if (runner_.wanted("kernel") || runner_.wanted("call")) {
      runner_.on_device(device, row, [&](const Row& one) {
        DeviceBench bench(device, input);
        bench.use(runner_.ceilings().reading(bench.data(), input.bytes()));
        measure(device, bench, expected, one);
      });
    }
    for (const std::string_view kind : {"pinned", "pageable"}) {
      if (!runner_.wanted(kind)) continue;
      Row host = row;
      host.kind = kind;
      runner_.on_device(device, host, [&](const Row& one) {
        HostBench bench(device, input, kind == "pinned");
        measure_turns(device, bench, expected, one, {});
      });
    }
  }

  void measure(const Device& device, Bench& bench, const Tally& expected, Row row) {
    for (const std::string& strategy : strategies_) {
      HistogramOptions options;
      options.strategy = strategy_from_name(strategy);
      if (!request_.strategies.empty()) row.asked = strategy;
      row.kind = "kernel";
      request_.progress(name_of(row));
      try {
        if (runner_.wanted("kernel")) row.ceiling = measure_turns(device, bench, expected, row, options);
        if (runner_.wanted("call")) measure_call(device, bench, expected, row, options);
      } catch (const Error& error) {  // a strategy whose tables do not fit
        const ErrorCode code = error.code();
        if (options.strategy == Strategy::automatic) throw;
        if (code == ErrorCode::device_lost || code == ErrorCode::io) throw;
        request_.note(name_of(row) + ": left out: " + error.what());
      }
    }
  }

  // Gives the ceiling's median, in seconds.
  double measure_turns(const Device& device, Bench& bench, const Tally& expected, Row row,
                       const HistogramOptions& options) {
    const auto counting = make_counting(device, what_, bench.source(), options);
    bench.turn(*counting);
    counting->finish();
    check(*counting, expected, name_of(row));
    runner_.warm_up([&] { bench.turn(*counting); });
    row.seconds = {};
    Samples reading;
    runner_.repeat(row, [&] {
      const Bench::Turn turn = bench.turn(*counting);
      row.seconds.add(turn.counting);
      reading.add(turn.reading);
    });
    counting->finish();
    check(*counting, expected, name_of(row));
    row.strategy = to_string(counting->strategy());
    row.ceiling = reading.median();
    runner_.add(row);
    return row.ceiling;
  }

  void measure_call(const Device& device, Bench& bench, const Tally& expected, Row row,
                    const HistogramOptions& options) {
    row.kind = "call";
    row.seconds = {};
    const auto call = [&] {
      const double start = now();
      const auto counting = make_counting(device, what_, bench.source(), options);
      counting->count(nullptr);
      counting->finish();
      const double seconds = now() - start;
      check(*counting, expected, name_of(row));
      row.strategy = to_string(counting->strategy());
      return seconds;
    };
    call();  // warms up
    runner_.repeat(row, [&] { row.seconds.add(call()); });
    runner_.add(row);
  }

  const Request& request_;
  Runner runner_;
  std::vector<std::string> strategies_;
  std::vector<HistogramCase> cases_;
  Names distributions_;
  HistogramCase what_{};  // being measured
};

// The steps of the ladder next to each other, whatever their sizes.
void sort_ladder(const Request& request, std::vector<Row>& rows) {
  const auto place = [&](const Row& row) {
    return std::tuple(place_in(request.devices, [&](const Device& one) { return one.id() == row.device; }),
                      place_in(histogram_cases(), [&](const HistogramCase& one) { return one.name == row.case_name; }),
                      row.threads,
                      place_in(histogram_distributions, [&](std::string_view one) { return one == row.distribution; }),
                      place_in(request.strategies, [&](const std::string& one) { return one == row.asked; }));
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return place(a) < place(b); });
}

// What the ladder is unless something else is asked for: bytes of two distributions in the steps of a textbook; with
// --case every strategy.
Request ladder_request(Request request) {
  if (request.strategies.empty()) {
    request.strategies = {"global", "private", "local", "lanes"};
    if (!request.selection.cases.empty()) {
      request.strategies.insert(request.strategies.end(), {"packed", "partitioned"});
    }
    request.strategies.emplace_back("auto");
  }
  if (request.selection.cases.empty()) request.selection.cases = {"u8-256"};
  if (request.selection.distributions.empty()) request.selection.distributions = {"uniform", "constant"};
  if (request.kinds.empty()) request.kinds = {"kernel"};
  return request;
}

}  // namespace

Measurements histogram_suite(const Request& request) {
  if (request.ladder) {
    const Request ladder = ladder_request(request);
    Measurements result = HistogramSuite(ladder).run();
    sort_ladder(ladder, result.rows);
    return result;
  }
  return HistogramSuite(request).run();
}

}  // namespace masu::bench
