// SPDX-License-Identifier: Apache-2.0
// The public functions: validate, plan, count, fold.
#include "histogram/bin_rule.h"
#include "histogram/histogram_cpu.h"
#include "histogram/histogram_device.h"
#include "histogram/histogram_plan.h"
#include "runtime/cpu_limits.h"

#include <masu/histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <numeric>

namespace masu {

namespace {

constexpr unsigned most_channels = 16;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// True when some value of the dtype lies in a bin or between two: what the kernels take for granted.
bool reaches_bins(const BinRule& rule) {
  return dispatch(rule.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half>) {
      return false;
    } else {
      if (size_of(rule.dtype) == 1) return true;
      const Thresholds<T> thresholds(rule);
      return !thresholds.all_below && !thresholds.all_above;
    }
  });
}

[[noreturn]] void no_memory(const BinRule& rule, std::uint64_t bytes, std::uint64_t free) {
  throw Error(ErrorCode::out_of_memory,
              free == 0 ? fmt::format("histogram: {} bins need {} bytes of memory", rule.n, bytes)
                        : fmt::format("histogram: {} bins need {} bytes of memory, {} are free", rule.n, bytes, free));
}

// Where memory is promised freely, many bins would end the process by a signal instead of an error.
void check_memory(const BinRule& rule, std::uint64_t bytes) {
  constexpr std::uint64_t always_tried = std::uint64_t{1} << 30;
  if (bytes < always_tried) return;
  const std::uint64_t free = runtime::available_memory();
  if (free != 0 && bytes > free) no_memory(rule, bytes, free);
}

// The bytes of a buffer on `cpu`.
ArrayView host_view(const BufferBase& buffer, Dtype dtype) {
  return {dtype, static_cast<const char*>(buffer.native()) + buffer.byte_offset(),
          buffer.size_bytes() / size_of(dtype)};
}

}  // namespace

std::vector<double> Histogram::edges() const {
  std::vector<double> result(size() + 1);
  for (std::uint64_t i = 0; i < result.size(); ++i) result[i] = rule_->edge(i);
  return result;
}

double Histogram::edge(std::uint64_t i) const {
  if (i > size()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("Histogram::edge: i must be <= {}, got {}", size(), i));
  }
  return rule_->edge(i);
}

std::uint64_t Histogram::n() const noexcept {
  return std::accumulate(counts_.begin(), counts_.end(), below_ + above_ + nan_);
}

void Histogram::merge(const Histogram& other) {
  if (!rule_->same_edges(*other.rule_)) {
    throw Error(ErrorCode::invalid_argument, "Histogram::merge: both must have the same edges, got different ones");
  }
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  below_ += other.below_;
  above_ += other.above_;
  nan_ += other.nan_;
}

bool operator==(const Histogram& a, const Histogram& b) {
  return a.counts_ == b.counts_ && a.below_ == b.below_ && a.above_ == b.above_ && a.nan_ == b.nan_ &&
         a.rule_->same_edges(*b.rule_);
}

struct HistogramAccumulator::State {
  Device device;
  std::shared_ptr<const BinRule> rule;
  HistogramOptions options;
  std::uint64_t slots;                     // of one channel
  std::vector<std::uint64_t> totals;       // what was counted on the CPU
  std::unique_ptr<DeviceCounter> counter;  // what is counted on a device
  Strategy used;
  HistogramTimes times;

  void count_here(const ArrayView& data) {
    const double start = now();
    used = cpu::count(*rule, data, options.channels, options.strategy, totals);
    times.compute += now() - start;
  }
};

HistogramAccumulator::HistogramAccumulator(const Device& device, Dtype dtype, const Bins& bins,
                                           const HistogramOptions& options) {
  if (options.channels < 1 || options.channels > most_channels) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("histogram: channels must be 1 to {}, got {}", most_channels, options.channels));
  }
  auto rule = std::make_shared<const BinRule>(bins, dtype, options.right_open);
  const std::uint64_t slots = histogram_plan::slots_of(*rule);
  const bool on_cpu = device.kind() == DeviceKind::cpu;
  // The totals, the result, and the thresholds of a device.
  const std::uint64_t bytes =
      (slots + rule->n) * options.channels * sizeof(std::uint64_t) + (on_cpu ? 0 : rule->n * size_of(dtype));
  check_memory(*rule, bytes);
  state_ = std::make_unique<State>(State{device, rule, options, slots, {}, nullptr, Strategy::sequential, {}});
  if (!on_cpu && reaches_bins(*rule)) {
    const auto plan = histogram_plan::make(device.info(), *rule, options.channels, options.strategy);
    state_->counter = std::make_unique<DeviceCounter>(device, *rule, options.channels, plan);
    state_->used = plan.strategy;
    return;
  }
  try {
    state_->totals.resize(slots * options.channels);
  } catch (const std::bad_alloc&) {
    no_memory(*rule, bytes, 0);
  }
  state_->count_here(ArrayView(dtype, nullptr, 0));  // settles the strategy, or says why it does not fit
  state_->times = {};
}

HistogramAccumulator::HistogramAccumulator(HistogramAccumulator&&) noexcept = default;
HistogramAccumulator& HistogramAccumulator::operator=(HistogramAccumulator&&) noexcept = default;
HistogramAccumulator::~HistogramAccumulator() = default;

void HistogramAccumulator::add(const ArrayView& data) {
  State& s = *state_;
  if (data.dtype != s.rule->dtype) {
    throw Error(ErrorCode::invalid_argument, fmt::format("histogram: data must be {} as before, got {}",
                                                         to_string(s.rule->dtype), to_string(data.dtype)));
  }
  if (data.count % s.options.channels != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("histogram: {} channels must divide the elements, got {}", s.options.channels, data.count));
  }
  if (data.count == 0) return;
  if (s.counter) {
    s.counter->add(data);
  } else {
    s.count_here(data);
  }
}

void HistogramAccumulator::add_buffer(const BufferBase& data, Dtype dtype, Stream* stream) {
  State& s = *state_;
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  if (!(data.device() == s.device) || (stream != nullptr && !(stream->device() == s.device))) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("histogram: buffer and stream must be of the device {}, got {} and {}", s.device.id(),
                            data.device().id(), stream != nullptr ? stream->device().id() : s.device.id()));
  }
  if (s.device.kind() == DeviceKind::cpu) return add(host_view(data, dtype));
  if (dtype != s.rule->dtype || count % s.options.channels != 0) return add(ArrayView(dtype, nullptr, count));
  if (count == 0) return;
  if (s.counter) return s.counter->add(data, count, stream);
  // No value of the dtype reaches the bins: rare enough to count on the host.
  if (stream != nullptr) stream->finish();
  const Buffer<const std::byte> bytes(data.device(), data.memory(), data.byte_offset(), data.size_bytes());
  const std::vector<std::byte> host = bytes.read();
  s.count_here(ArrayView(dtype, host.data(), count));
}

std::vector<Histogram> HistogramAccumulator::result() const try {
  const State& s = *state_;
  const std::vector<std::uint64_t> totals = s.counter ? s.counter->totals() : s.totals;
  const BinRule& rule = *s.rule;
  std::vector<Histogram> result(s.options.channels);
  for (unsigned c = 0; c < s.options.channels; ++c) {
    std::vector<std::uint64_t> slots(rule.n + extra_slots);
    const auto from = totals.begin() + static_cast<std::ptrdiff_t>(c * s.slots);
    if (size_of(rule.dtype) == 1) {
      for (unsigned byte = 0; byte < histogram_plan::byte_slots; ++byte) {
        const int value = rule.dtype == Dtype::i8 ? static_cast<std::int8_t>(byte) : static_cast<int>(byte);
        slots[rule.slot(value)] += from[byte];
      }
    } else {
      std::copy_n(from, slots.size(), slots.begin());
    }
    Histogram& h = result[c];
    h.below_ = slots[rule.n + slot_below];
    h.above_ = slots[rule.n + slot_above];
    h.nan_ = slots[rule.n + slot_nan];
    slots.resize(rule.n);
    if (s.options.outside == Outside::clamp) {
      slots.front() += std::exchange(h.below_, 0);
      slots.back() += std::exchange(h.above_, 0);
    }
    h.counts_ = std::move(slots);
    h.dtype_ = rule.dtype;
    h.strategy_ = s.used;
    h.rule_ = s.rule;
  }
  return result;
} catch (const std::bad_alloc&) {
  no_memory(*state_->rule, state_->rule->n * state_->options.channels * sizeof(std::uint64_t), 0);
}

HistogramTimes HistogramAccumulator::times() const {
  return state_->counter ? state_->counter->times() : state_->times;
}

std::optional<ValueRange> finite_range(const Device& device, const ArrayView& data) {
  if (device.kind() == DeviceKind::cpu) return cpu::finite_range(data);
  return device_finite_range(device, data);
}

std::optional<ValueRange> finite_range(const BufferBase& data, Dtype dtype) {
  if (data.device().kind() == DeviceKind::cpu) return cpu::finite_range(host_view(data, dtype));
  return device_finite_range(data, dtype);
}

namespace {

// Even bins without a range get the data's, or 0:1 where there is nothing finite.
template <class FindRange>
Bins with_range(const Bins& bins, const FindRange& find) {
  if (!bins.needs_data()) return bins;
  const std::optional<ValueRange> range = find();
  return range ? Bins::even(bins.size(), *range) : Bins::even(bins.size(), 0, 1);
}

void check_one_channel(const HistogramOptions& options) {
  if (options.channels == 1) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("histogram: channels must be 1 here (see histogram_channels), got {}", options.channels));
}

}  // namespace

std::vector<Histogram> histogram_channels(const Device& device, const ArrayView& data, const Bins& bins,
                                          const HistogramOptions& options) {
  const Bins definite = with_range(bins, [&] { return finite_range(device, data); });
  HistogramAccumulator accumulator(device, data.dtype, definite, options);
  accumulator.add(data);
  return accumulator.result();
}

std::vector<Histogram> histogram_channels(const BufferBase& data, Dtype dtype, const Bins& bins,
                                          const HistogramOptions& options) {
  const Bins definite = with_range(bins, [&] { return finite_range(data, dtype); });
  HistogramAccumulator accumulator(data.device(), dtype, definite, options);
  accumulator.add_buffer(data, dtype);
  return accumulator.result();
}

Histogram histogram(const Device& device, const ArrayView& data, const Bins& bins, const HistogramOptions& options) {
  check_one_channel(options);
  return std::move(histogram_channels(device, data, bins, options).front());
}

Histogram histogram(const BufferBase& data, Dtype dtype, const Bins& bins, const HistogramOptions& options) {
  check_one_channel(options);
  return std::move(histogram_channels(data, dtype, bins, options).front());
}

Pending<Histogram> histogram(Stream& stream, const BufferBase& data, Dtype dtype, const Bins& bins,
                             const HistogramOptions& options) {
  check_one_channel(options);
  auto accumulator = std::make_shared<HistogramAccumulator>(data.device(), dtype, bins, options);
  accumulator->add_buffer(data, dtype, &stream);
  return {stream.record(), [accumulator] { return std::move(accumulator->result().front()); }};
}

Device device_for_histogram(std::uint64_t bytes) {
  // Rough on purpose: what a thread counts, what pageable memory moves, and what a GPU costs to open (2026-11, H200).
  constexpr double thread_bytes_a_second = 4e9;
  constexpr double transfer_bytes_a_second = 10e9;
  constexpr double start_seconds = 0.4;
  const char* named = std::getenv("MASU_DEVICE");
  if (named != nullptr && *named != '\0') return Device::open(named);
  const auto amount = static_cast<double>(bytes);
  const double here = amount / (thread_bytes_a_second * cpu_threads());
  if (here <= start_seconds + amount / transfer_bytes_a_second) return Device::open("cpu");
  Device best = Device::open("auto");
  return best.info().gpu ? best : Device::open("cpu");
}

}  // namespace masu
