// SPDX-License-Identifier: Apache-2.0
// How fast values are counted. Axes: device, case, size, distribution, strategy, CPU threads. Every result is checked
// against the plain count before it is timed; masu and the plain reading (or copying) of the same bytes take turns.
#include <masu/host_buffer.h>

#include <fmt/format.h>

#include "bench/ceiling.h"
#include "bench/inputs.h"
#include "bench/suites.h"
#include "histogram/counting_bench.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace masu::bench {
namespace {

constexpr unsigned device_repeats = 25;
constexpr unsigned cpu_repeats = 11;
constexpr unsigned least_repeats = 3;
constexpr double warm_up_seconds = 0.1;  // clocks rise under load
constexpr double most_seconds = 2;       // of a row's repeats, unless their number is asked for
constexpr std::string_view sequential_size = "1Mi";
constexpr std::array<std::string_view, 4> kinds = {"kernel", "call", "pinned", "pageable"};

// Data that was counted `times` times over.
void check(const Counting& counting, const Tally& expected, const std::string& name) {
  const std::uint64_t times = counting.times();
  const Tally found = counting.tally();
  if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                  [&](std::uint64_t a, std::uint64_t b) { return a == times * b; })) {
    throw WrongResult("bench: " + name + ": the counts differ from the plain reference's");
  }
}

std::string name_of(const Row& row) {
  return fmt::format("{} {} {} {} bytes {}{}{}", row.device, row.what.name, row.distribution, row.bytes, row.kind,
                     row.asked.empty() ? "" : ", " + row.asked,
                     row.threads == 0 ? "" : fmt::format(", {} threads", row.threads));
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
      : view_(input.view()), data_(device.upload(input.bytes())), stream_(device) {}

  [[nodiscard]] const Buffer<std::byte>& data() const noexcept { return data_; }
  void use(DeviceCeiling& ceiling) { ceiling_ = &ceiling; }

  // The reading in front of the counting hides how long a launch takes to reach the device.
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

class Suite {
 public:
  explicit Suite(const Request& request)
      : request_(request),
        strategies_(request.strategies.empty() ? std::vector<std::string>{"auto"} : request.strategies),
        cases_(chosen_cases(request.selection)),
        distributions_(Selection::chosen("--distribution", request.selection.distributions, distributions)) {
    const std::vector<std::string> usual = {"kernel", "call"};
    kinds_ = Selection::chosen("--kind", request.kinds.empty() ? usual : request.kinds, kinds);
    for (const std::string& name : request.strategies) strategy_from_name(name);
  }

  Measurements run() {
    for (const auto& [bytes, devices] : devices_by_size()) {
      for (const HistogramCase& what : cases_) {
        for (const std::string_view distribution : distributions_) {
          const Input input(what, bytes, distribution);
          const Tally expected = count_plainly(what, input.view());
          Row row;
          row.what = what;
          row.distribution = distribution;
          row.bytes = input.bytes().size();
          for (const Device& device : devices) measure_on(device, input, expected, row);
        }
      }
    }
    return std::move(result_);
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

  [[nodiscard]] bool wanted(std::string_view kind) const {
    return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
  }

  // One bad row does not cost the others: the first failure is told at the end.
  template <class F>
  void attempt(const Row& row, const F& measure) {
    try {
      measure();
    } catch (const Error& error) {
      request_.note(name_of(row) + ": left out: " + error.what());
      const bool impossible = error.code() == ErrorCode::out_of_memory || error.code() == ErrorCode::unsupported;
      if (!impossible && !result_.failure) result_.failure = std::current_exception();
    } catch (const WrongResult& error) {
      request_.note(error.what());
      if (!result_.failure) result_.failure = std::current_exception();
    }
  }

  void measure_on(const Device& device, const Input& input, const Tally& expected, Row row) {
    row.device = device.id();
    if (device.kind() == DeviceKind::cpu) {
      for (const unsigned threads : request_.selection.threads_or_default()) {
        set_cpu_threads(threads);
        row.threads = threads;
        attempt(row, [&] {
          CpuBench bench(input);
          measure(device, bench, expected, row, cpu_repeats);
        });
        set_cpu_threads(0);
      }
      return;
    }
    if (wanted("kernel") || wanted("call")) {
      attempt(row, [&] {
        DeviceBench bench(device, input);
        bench.use(ceiling_of(device, bench.data(), input));
        measure(device, bench, expected, row, device_repeats);
      });
    }
    for (const std::string_view kind : {"pinned", "pageable"}) {
      if (!wanted(kind)) continue;
      row.kind = kind;
      attempt(row, [&] {
        HostBench bench(device, input, kind == "pinned");
        measure_turns(device, bench, expected, row, {}, cpu_repeats);
      });
    }
  }

  // The best shape of the reading kernel is sought once for each device and size.
  DeviceCeiling& ceiling_of(const Device& device, const Buffer<std::byte>& data, const Input& input) {
    const auto key = std::pair(device.id(), data.size());
    const auto known = ceilings_.find(key);
    if (known != ceilings_.end()) return known->second;
    return ceilings_.try_emplace(key, device, data, fold(input.bytes()), request_.selection.quick).first->second;
  }

  void measure(const Device& device, Bench& bench, const Tally& expected, Row row, unsigned otherwise) {
    for (const std::string& strategy : strategies_) {
      HistogramOptions options;
      options.strategy = strategy_from_name(strategy);
      if (!request_.strategies.empty()) row.asked = strategy;
      row.kind = "kernel";
      request_.progress(name_of(row));
      try {
        if (wanted("kernel")) row.ceiling = measure_turns(device, bench, expected, row, options, otherwise);
        if (wanted("call")) measure_call(device, bench, expected, row, options, otherwise);
      } catch (const Error& error) {  // a strategy whose tables do not fit
        const ErrorCode code = error.code();
        if (options.strategy == Strategy::automatic) throw;
        if (code == ErrorCode::device_lost || code == ErrorCode::io) throw;
        request_.note(name_of(row) + ": left out: " + error.what());
      }
    }
  }

  // Calls once(i) for each repeat.
  template <class F>
  void repeat(unsigned otherwise, const F& once) const {
    const unsigned repeats = request_.selection.repeats_or(otherwise);
    const double end = now() + most_seconds;
    for (unsigned i = 0; i < repeats; ++i) {
      if (request_.selection.repeats == 0 && i >= least_repeats && now() > end) break;
      once();
    }
  }

  // Gives the ceiling's median, in seconds.
  double measure_turns(const Device& device, Bench& bench, const Tally& expected, Row row,
                       const HistogramOptions& options, unsigned otherwise) {
    const auto counting = make_counting(device, row.what, bench.source(), options);
    bench.turn(*counting);
    counting->finish();
    check(*counting, expected, name_of(row));
    if (!request_.selection.quick) {
      for (const double end = now() + warm_up_seconds; now() < end;) bench.turn(*counting);
    }
    row.seconds = {};
    Samples reading;
    repeat(otherwise, [&] {
      const Bench::Turn turn = bench.turn(*counting);
      row.seconds.add(turn.counting);
      reading.add(turn.reading);
    });
    counting->finish();
    check(*counting, expected, name_of(row));
    row.strategy = to_string(counting->strategy());
    row.ceiling = reading.median();
    result_.rows.push_back(row);
    return row.ceiling;
  }

  void measure_call(const Device& device, Bench& bench, const Tally& expected, Row row, const HistogramOptions& options,
                    unsigned otherwise) {
    row.kind = "call";
    row.seconds = {};
    const auto call = [&] {
      const double start = now();
      const auto counting = make_counting(device, row.what, bench.source(), options);
      counting->count(nullptr);
      counting->finish();
      const double seconds = now() - start;
      check(*counting, expected, name_of(row));
      row.strategy = to_string(counting->strategy());
      return seconds;
    };
    call();  // warms up
    repeat(otherwise, [&] { row.seconds.add(call()); });
    result_.rows.push_back(row);
  }

  const Request& request_;
  std::vector<std::string> strategies_;
  std::vector<HistogramCase> cases_;
  std::vector<std::string_view> distributions_;
  std::vector<std::string_view> kinds_;
  std::map<std::pair<std::string, std::uint64_t>, DeviceCeiling> ceilings_;
  Measurements result_;
};

template <class Range, class Same>
std::ptrdiff_t place_in(const Range& range, const Same& same) {
  return std::find_if(range.begin(), range.end(), same) - range.begin();
}

// By device, size, case and threads; the distributions keep their order.
void sort(const Request& request, std::vector<Row>& rows) {
  const auto place = [&](const Row& row) {
    return std::tuple(place_in(request.devices, [&](const Device& one) { return one.id() == row.device; }), ~row.bytes,
                      place_in(histogram_cases(), [&](const HistogramCase& one) { return one.name == row.what.name; }),
                      row.threads);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return place(a) < place(b); });
}

// The steps of the ladder next to each other, whatever their sizes.
void sort_ladder(const Request& request, std::vector<Row>& rows) {
  const auto place = [&](const Row& row) {
    return std::tuple(place_in(request.devices, [&](const Device& one) { return one.id() == row.device; }),
                      place_in(histogram_cases(), [&](const HistogramCase& one) { return one.name == row.what.name; }),
                      row.threads,
                      place_in(distributions, [&](std::string_view one) { return one == row.distribution; }),
                      place_in(request.strategies, [&](const std::string& one) { return one == row.asked; }));
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return place(a) < place(b); });
}

void append(Measurements& all, Measurements more) {
  std::move(more.rows.begin(), more.rows.end(), std::back_inserter(all.rows));
  if (!all.failure) all.failure = more.failure;
}

// What the ladder is unless something else is asked for: bytes of two distributions in the steps of a textbook; with
// --case every strategy.
Request ladder_request(Request request) {
  if (request.strategies.empty()) {
    request.strategies = {"sequential", "global", "private", "local", "lanes"};
    if (!request.selection.cases.empty()) {
      request.strategies.insert(request.strategies.end(), {"packed", "split", "partitioned"});
    }
    request.strategies.emplace_back("auto");
  }
  if (request.selection.cases.empty()) request.selection.cases = {"u8-256"};
  if (request.selection.distributions.empty()) request.selection.distributions = {"uniform", "constant"};
  if (request.kinds.empty()) request.kinds = {"kernel"};
  return request;
}

// One work-item that counts everything takes seconds for what the others do in a millisecond: on devices other than
// `cpu` it counts 1 MiB.
Measurements measure_ladder(const Request& ladder) {
  Measurements result;
  for (const bool host : {false, true}) {
    Request part = ladder;
    std::erase_if(part.devices, [&](const Device& device) { return (device.kind() == DeviceKind::cpu) != host; });
    if (part.devices.empty()) continue;
    if (!host && std::erase(part.strategies, "sequential") != 0) {
      Request alone = part;
      alone.strategies = {"sequential"};
      if (!alone.selection.quick) alone.selection.size_texts = {std::string(sequential_size)};
      append(result, Suite(alone).run());
      if (part.strategies.empty()) continue;
    }
    append(result, Suite(part).run());
  }
  return result;
}

}  // namespace

Measurements histogram_suite(const Request& request) {
  if (request.ladder) {
    const Request ladder = ladder_request(request);
    Measurements result = measure_ladder(ladder);
    sort_ladder(ladder, result.rows);
    return result;
  }
  Measurements result = Suite(request).run();
  sort(request, result.rows);
  return result;
}

}  // namespace masu::bench
