// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace masu::bench {
namespace {

constexpr std::array<std::string_view, 2> gpu_counts = {"256Mi", "16Mi"};  // others have the last one
constexpr unsigned device_repeats = 25;
constexpr unsigned cpu_repeats = 11;
constexpr unsigned least_repeats = 3;
constexpr double warm_up_seconds = 0.1;  // clocks rise under load
constexpr double most_seconds = 2;       // of a row's repeats, unless their number is asked for

}  // namespace

DeviceCeiling& Ceilings::reading(const Buffer<std::byte>& data, std::span<const std::byte> host) {
  const Key key(data.device().id(), data.size());
  const auto known = reading_.find(key);
  if (known != reading_.end()) return known->second;
  return reading_.try_emplace(key, data.device(), data, fold(host), quick_).first->second;
}

DeviceCopy& Ceilings::copying(const Buffer<std::byte>& source, Buffer<std::byte>& target) {
  const Key key(source.device().id(), source.size());
  const auto known = copying_.find(key);
  if (known != copying_.end()) return known->second;
  return copying_.try_emplace(key, source, target, quick_).first->second;
}

void refuse_strategies(const Request& request, std::string_view name) {
  if (!request.ladder && request.strategies.empty()) return;
  throw Error(ErrorCode::invalid_argument, "bench: " + std::string(name) + " has no strategies and no --ladder");
}

Reading::Reading(std::span<const std::byte> input, const Device& device, Ceilings& ceilings)
    : input_(input), ceilings_(ceilings), data_(device.upload(input)), stream_(device) {
  if (device.kind() == DeviceKind::cpu) here_.emplace(input);
}

double Reading::ceiling() {
  if (here_) return here_->read(input_);
  return ceilings_.reading(data_, input_).read(stream_, data_).seconds();
}

Runner::Runner(const Request& request, std::initializer_list<std::string_view> kinds,
               std::initializer_list<std::string_view> usual)
    : request_(request),
      kinds_(Selection::chosen("--kind", request.kinds, Names(kinds), Names(usual))),
      ceilings_(request.selection.quick) {}

bool Runner::wanted(std::string_view kind) const {
  return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
}

Runner::Sizes Runner::devices_by_count(std::size_t element_bytes) const {
  Sizes result;
  for (const Device& device : request_.devices) {
    const std::span<const std::string_view> usual = device.info().gpu ? gpu_counts : std::span(gpu_counts).last(1);
    for (const std::uint64_t count : request_.selection.counts(element_bytes, usual)) {
      const auto place = place_in(result, [&](const auto& one) { return one.first == count; });
      if (place == static_cast<std::ptrdiff_t>(result.size())) result.emplace_back(count, std::vector<Device>());
      result[static_cast<std::size_t>(place)].second.push_back(device);
    }
  }
  return result;
}

void Runner::add(Row row) {
  if (!(row.seconds.median() > 0)) throw WrongResult("bench: " + name_of(row) + ": no time was taken");
  row.group = group_;
  result_.rows.push_back(std::move(row));
}

void Runner::attempt(const Row& row, const std::function<void()>& measure) {
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

void Runner::on_device(const Device& device, Row row, const std::function<void(const Row&)>& measure) {
  row.device = device.id();
  if (device.kind() != DeviceKind::cpu) {
    attempt(row, [&] { measure(row); });
    return;
  }
  for (const unsigned threads : request_.selection.threads_or_default()) {
    set_cpu_threads(threads);
    row.threads = threads;
    attempt(row, [&] { measure(row); });
    set_cpu_threads(0);
  }
}

void Runner::warm_up(const std::function<void()>& once) const {
  if (request_.selection.quick) return;
  for (const double end = now() + warm_up_seconds; now() < end;) once();
}

void Runner::repeat(const Row& row, const std::function<void()>& once) const {
  const bool device = row.threads == 0 && row.kind != "pinned" && row.kind != "pageable";
  const unsigned repeats = request_.selection.repeats_or(device ? device_repeats : cpu_repeats);
  const double end = now() + most_seconds;
  for (unsigned i = 0; i < repeats; ++i) {
    if (request_.selection.repeats == 0 && i >= least_repeats && now() > end) break;
    once();
  }
}

void Runner::measure(Row row, Work& work) {
  row.kind = "kernel";
  const std::string name = name_of(row);
  request_.progress(name);
  work.prepare();
  work.run();
  work.check(name);
  row.strategy = work.strategy();
  row.scratch = work.scratch();
  Samples ceiling;
  if (wanted("kernel")) {
    // The ceiling first, since it may spoil the result.
    const auto turn = [&] {
      const double plain = work.ceiling();
      work.prepare();
      return std::pair(work.run(), plain);
    };
    warm_up(turn);
    repeat(row, [&] {
      const auto [seconds, plain] = turn();
      row.seconds.add(seconds);
      ceiling.add(plain);
    });
    work.check(name);
    row.ceiling = ceiling.median();
    add(row);
  }
  if (wanted("call")) {
    row.kind = "call";
    row.seconds = {};
    const auto timed = [&] {
      work.prepare();
      const double start = now();
      work.call();
      return now() - start;
    };
    timed();  // warms up
    repeat(row, [&] { row.seconds.add(timed()); });
    work.check(name);
    add(std::move(row));
  }
}

Measurements Runner::finish() {
  const auto place = [&](const Row& row) {
    return std::tuple(place_in(request_.devices, [&](const Device& one) { return one.id() == row.device; }), row.group,
                      row.threads);
  };
  std::stable_sort(result_.rows.begin(), result_.rows.end(),
                   [&](const Row& a, const Row& b) { return place(a) < place(b); });
  return std::move(result_);
}

}  // namespace masu::bench
