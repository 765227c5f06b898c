// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/histogram_device.h"
#include "call/operands.h"
#include "call/timer.h"

#include "call/staging.h"
#include "histogram/device/device_rules.h"
#include "histogram/device/partitioner.h"
#include "histogram/histogram_checks.h"

#include <algorithm>
#include <limits>
#include <span>

namespace masu {

namespace {

histogram_plan::Plan plan_of(const Device& device, const SlotRule& rule, const HistogramOptions& options) {
  return histogram_plan::make(device.info(), rule, options.channels, options.strategy);
}

constexpr std::size_t most_launches = 256;  // whose times are still to be asked for

// For one span, or for rows with a pitch.
struct Launcher {
  histogram_plan::Plan plan;
  call::Kernels kernels;
};

}  // namespace

std::uint64_t device_workspace(const Device& device, const BinRule& rule, const HistogramOptions& options,
                               std::uint64_t count) {
  const histogram_plan::Plan plan = plan_of(device, SlotRule(rule, device.info()), options);
  if (plan.strategy != Strategy::partitioned) return 0;
  HistogramOptions allocating = options;
  allocating.workspace = nullptr;
  return Partitioner::bytes_for(
      plan, std::min(Partitioner::chunk_elements(plan, allocating), std::max<std::uint64_t>(count, 1)));
}

struct DeviceCounter::State {
  Device device;
  HistogramOptions options;
  histogram_plan::Plan plan;
  Stream stream;
  DeviceRules rules;
  std::uint64_t slots;  // of one channel
  std::optional<Launcher> span;
  std::optional<Launcher> rows;
  Buffer<std::uint64_t> counts;
  Event prepared;  // rules and counts, on `stream`
  std::optional<Partitioner> partitioner;
  std::optional<call::Staging> staging;
  std::vector<Event> launches;
  HistogramTimes times;

  State(const Device& on, SlotRule rule, const histogram_plan::Plan& planned, const HistogramOptions& asked,
        Timing timing)
      : device(on),
        options(asked),
        plan(planned),
        stream(call::timed_stream(device, timing == Timing::on)),
        rules(device, {std::move(rule)}, plan, false, &stream),
        slots(rules.column(0).slots),
        counts(device, slots * plan.channels) {
    const call::Timer timer(&times, &HistogramTimes::transfer);
    prepared = stream.fill(counts, std::uint64_t{0});
    if (plan.strategy != Strategy::partitioned) span = Launcher{plan, rules.kernels(plan)};
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    try {
      stream.finish();  // before the host memory of the rules goes
    } catch (...) {     // a lost device, which the next call on it reports
    }
  }

  // Launches on `queue`, in pieces so small that no 32-bit count of a work-group overflows. Rows of `count` elements.
  void launch(Stream& queue, const BufferBase& data, std::uint64_t offset, std::uint64_t count, std::uint64_t row_count,
              std::uint64_t pitch) {
    if (&queue != &stream && !prepared.ready()) queue.wait(prepared);
    if (plan.strategy == Strategy::partitioned) return partition(queue, data, offset, count, row_count, pitch);
    const std::size_t size = size_of(rules.column(0).element);
    // A work-group takes whole rows; long ones are for all groups.
    if (row_count == 1 || count > histogram_plan::short_row_elements) {
      const std::uint64_t most =
          histogram_plan::group_elements * plan.groups / plan.split / plan.channels * plan.channels;
      for (std::uint64_t row = 0; row < row_count; ++row) {
        for (std::uint64_t first = 0; first < count; first += most) {
          const std::uint64_t length = std::min(most, count - first);
          launch_one(queue, *span, data, offset + row * pitch + first * size, length, 1, 0,
                     plan.groups_for(length, size));
        }
      }
      return;
    }
    if (!rows) {
      const auto for_rows = histogram_plan::make(device.info(), rules.column(0), plan.channels, row_strategy(), true);
      rows = Launcher{with_guide(for_rows), rules.kernels(with_guide(for_rows))};
    }
    const std::uint64_t most = histogram_plan::group_elements / count;
    for (std::uint64_t first = 0; first < row_count; first += most) {
      const std::uint64_t length = std::min(most, row_count - first);
      launch_one(queue, *rows, data, offset + first * pitch, count, length, pitch,
                 std::min<std::uint64_t>(length, rows->plan.groups));
    }
  }

  // A strategy that takes rows with a pitch.
  [[nodiscard]] Strategy row_strategy() const {
    return plan.strategy == Strategy::packed || plan.strategy == Strategy::split ? Strategy::global : plan.strategy;
  }
  // The guide was made for the first plan, and serves the other.
  [[nodiscard]] histogram_plan::Plan with_guide(histogram_plan::Plan other) const {
    other.cells = plan.cells;
    other.guide_local = plan.guide_local && other.guide_local;
    return other;
  }

  void launch_one(Stream& queue, Launcher& launcher, const BufferBase& data, std::uint64_t offset, std::uint64_t count,
                  std::uint64_t row_count, std::uint64_t pitch, std::uint64_t groups) {
    launches.push_back(launcher.kernels.launch(queue, launcher.plan.kernel_name(), groups, call::At{data, offset},
                                               count, row_count, pitch, static_cast<std::uint32_t>(slots),
                                               rules.arguments(0),
                                               KernelArgument(counts, ArgumentType{}),  // two words each to the kernel
                                               std::uint64_t{0}, rules.local(launcher.plan)));
    // It adds without atomics, so no other stream may count beside it.
    if (plan.strategy == Strategy::sequential) queue.finish();
  }

  void partition(Stream& queue, const BufferBase& data, std::uint64_t offset, std::uint64_t count,
                 std::uint64_t row_count, std::uint64_t pitch) {
    const std::uint64_t all = count * row_count;
    if (!partitioner || partitioner->most_elements() < std::min(all, Partitioner::chunk_elements(plan, options))) {
      stream.finish();  // it may still use the temporary memory of before
      if (partitioner) queue.finish();
      partitioner.reset();
      partitioner.emplace(rules, plan, slots * plan.channels, std::min(all, Partitioner::chunk_elements(plan, options)),
                          data, options.workspace);
    }
    const std::size_t size = size_of(rules.column(0).element);
    // Chunks of whole pixels, and of whole rows where there are several; a row that is longer than a chunk is cut.
    const std::uint64_t chunk = partitioner->most_elements() / plan.channels * plan.channels;
    const std::uint64_t whole_rows = std::max<std::uint64_t>(1, chunk / count);
    for (std::uint64_t row = 0; row < row_count; row += whole_rows) {
      const std::uint64_t row_length = std::min(whole_rows, row_count - row);
      for (std::uint64_t first = 0; first < count; first += chunk) {
        const std::uint64_t length = std::min(chunk, count - first);
        const call::Arguments input(call::At{data, offset + row * pitch + first * size}, length * row_length, length,
                                    row_length == 1 ? std::uint64_t{0} : pitch, static_cast<std::uint32_t>(slots),
                                    rules.arguments(0));
        partitioner->count(queue, input, length * row_length, counts, launches);
      }
    }
    if (&queue != &stream) queue.finish();  // the next piece may come on another stream, with the same temporary memory
  }

  void settle() {
    if (staging) staging->finish();
    times.compute += take_seconds(launches);
  }
};

DeviceCounter::DeviceCounter(const Device& device, const BinRule& rule, const HistogramOptions& options,
                             Timing timing) {
  SlotRule slot_rule(rule, device.info());
  const histogram_plan::Plan plan = plan_of(device, slot_rule, options);
  state_ = std::make_unique<State>(device, std::move(slot_rule), plan, options, timing);
}

DeviceCounter::DeviceCounter(const Device& device, SlotRule rule, const histogram_plan::Plan& plan,
                             const HistogramOptions& options)
    : state_(std::make_unique<State>(device, std::move(rule), plan, options, Timing::on)) {}

DeviceCounter::~DeviceCounter() = default;

void DeviceCounter::add(const ArrayView& data) {
  State& s = *state_;
  if (!s.staging) s.staging.emplace(s.device, s.options.memory / 2);
  s.staging->pieces(data, s.plan.channels, [&](Stream& queue, const BufferBase& buffer, std::uint64_t elements) {
    s.launch(queue, buffer, 0, elements, 1, 0);
  });
}

void DeviceCounter::add_image(const std::byte* first, std::uint64_t count, std::uint64_t rows, std::uint64_t pitch) {
  State& s = *state_;
  if (!s.staging) s.staging.emplace(s.device, s.options.memory / 2);
  const std::size_t size = size_of(s.rules.column(0).element);
  const std::uint64_t row_bytes = count * size;
  const std::uint64_t most = s.staging->piece_bytes() / row_bytes;
  for (std::uint64_t row = 0; row < rows; row += std::max<std::uint64_t>(most, 1)) {
    if (most == 0) {  // a row longer than a piece
      add(ArrayView(s.rules.column(0).element, first + row * pitch, count));
      continue;
    }
    const std::uint64_t length = std::min(most, rows - row);
    s.staging->rows(first + row * pitch, row_bytes, length, pitch, [&](Stream& queue, const BufferBase& buffer, auto) {
      s.launch(queue, buffer, 0, count * length, 1, 0);
    });
  }
}

void DeviceCounter::add_rows(const BufferBase& data, std::uint64_t offset, std::uint64_t count, std::uint64_t rows,
                             std::uint64_t pitch, Stream* stream) {
  State& s = *state_;
  Stream& queue = stream != nullptr ? *stream : s.stream;
  s.launch(queue, data, data.byte_offset() + offset, count, rows, pitch);
  if (stream != nullptr) return;
  queue.finish();
  if (s.launches.size() >= most_launches) s.settle();
}

void DeviceCounter::add(const BufferBase& data, std::uint64_t count, Stream* stream) {
  add_rows(data, 0, count, 1, 0, stream);
}

void DeviceCounter::count(const BufferBase& data, std::uint64_t count, BufferBase& totals) {
  State& s = *state_;
  if (count != 0) s.launch(s.stream, data, data.byte_offset(), count, 1, 0);
  s.stream.copy_bytes(totals, s.counts);
  s.stream.finish();
}

std::vector<std::uint64_t> DeviceCounter::totals() const {
  State& s = *state_;
  if (s.staging) s.staging->finish();
  const call::Timer timer(&s.times, &HistogramTimes::transfer);
  std::vector<std::uint64_t> result(s.counts.size());
  call::fetch(s.stream, s.counts, 0, result.data(), result.size() * sizeof(result[0]));
  s.stream.finish();
  return result;
}

const Buffer<std::uint64_t>& DeviceCounter::counts() const noexcept {
  return state_->counts;
}

HistogramTimes DeviceCounter::times() const {
  state_->settle();
  HistogramTimes times = state_->times;
  if (state_->staging) times.transfer += state_->staging->seconds();
  return times;
}

Strategy DeviceCounter::strategy() const noexcept {
  return state_->plan.strategy;
}

std::uint64_t DeviceCounter::slots() const noexcept {
  return state_->slots;
}

namespace {

// `T`: the values, which f16 elements turn into floats.
template <class T>
std::optional<ValueRange> range_on_device(const BufferBase& data, Dtype dtype, std::uint64_t count, T greatest) {
  const Device& device = data.device();
  const histogram_plan::Plan plan = histogram_plan::make_range(device.info());
  SlotRule rule(BinRule(Bins::edges({0, 1}), dtype, false), device.info());
  rule.value = dtype_of<T>;  // also of 8-bit elements, whose rule counts bytes
  call::Kernels kernels(device, plan.files(), plan.defines(device.info(), std::span(&rule, 1), false), plan.group);
  const std::uint64_t groups = plan.groups_for(count, sizeof(T));
  Buffer<T> found(device, 2 * groups);
  Stream stream(device);
  const LocalMemory local = call::local<T>(plan.group);
  const T least = std::is_signed_v<T> ? static_cast<T>(std::is_integral_v<T> ? -greatest - 1 : -greatest) : T{0};
  kernels.launch(stream, plan.kernel_name(), groups, data, count, greatest, least, KernelArgument(found), local, local);
  stream.finish();
  T lo = greatest;
  T hi = least;
  const std::vector<T> parts = found.read();
  for (std::size_t i = 0; i < parts.size(); i += 2) {
    lo = std::min(lo, parts[i]);
    hi = std::max(hi, parts[i + 1]);
  }
  if (lo > hi) return std::nullopt;
  return ValueRange{static_cast<double>(lo), static_cast<double>(hi), lo == hi};
}

}  // namespace

std::optional<ValueRange> device_finite_range(const BufferBase& data, Dtype dtype) {
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  if (count == 0) return std::nullopt;
  return dispatch(dtype, [&](auto tag) -> std::optional<ValueRange> {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half>) {
      constexpr float greatest_half = 65504;
      return range_on_device<float>(data, dtype, count, greatest_half);
    } else {
      call::check_fp64("finite_range", data.device(), dtype);
      return range_on_device<T>(data, dtype, count, std::numeric_limits<T>::max());
    }
  });
}

std::optional<ValueRange> device_finite_range(const Device& device, const ArrayView& data) {
  std::optional<ValueRange> range;
  const std::uint64_t most = call::staging_bytes / size_of(data.dtype);
  for (std::uint64_t first = 0; first < data.count; first += most) {
    const auto* from = static_cast<const std::byte*>(data.data) + first * size_of(data.dtype);
    const std::uint64_t bytes = std::min(most, data.count - first) * size_of(data.dtype);
    range = merge(range, device_finite_range(device.upload(std::span(from, bytes)), data.dtype));
  }
  return range;
}

}  // namespace masu
