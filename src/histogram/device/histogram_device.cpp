// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/histogram_device.h"
#include "call/operands.h"
#include "call/timer.h"

#include "call/staging.h"
#include "histogram/device/counting_kernels.h"
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

}  // namespace

std::uint64_t device_workspace(const Device& device, const BinRule& rule, const HistogramOptions& options,
                               std::uint64_t count) {
  HistogramOptions allocating = options;
  allocating.workspace = nullptr;
  return CountingKernels::temporary_bytes(plan_of(device, SlotRule(rule, device.info()), options), count, allocating);
}

struct DeviceCounter::State {
  Device device;
  HistogramOptions options;
  Stream stream;
  CountingKernels kernels;
  Buffer<std::uint64_t> counts;
  Event prepared;                              // tables and counts, on `stream`
  std::optional<Buffer<std::byte>> temporary;  // of the kernels
  std::optional<call::Staging> staging;
  std::vector<Event> launches;
  Times times;

  State(const Device& on, SlotRule rule, const histogram_plan::Plan& plan, const HistogramOptions& asked)
      : device(on),
        options(asked),
        stream(call::timed_stream(device, true)),
        kernels(device, std::move(rule), plan, {.stream = &stream}),
        counts(device, kernels.slots() * plan.channels) {
    const call::Timer timer(&times, &Times::transfer);
    prepared = stream.fill(counts, std::uint64_t{0});
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    try {
      stream.finish();  // before the host memory of the rules goes
    } catch (...) {     // a lost device, which the next call on it reports
    }
  }

  void count(Stream& queue, const CountedData& data) {
    if (&queue != &stream && !prepared.ready()) queue.wait(prepared);
    const std::uint64_t bytes = CountingKernels::temporary_bytes(kernels.plan(), data.count * data.rows, options);
    if (bytes != 0 && (!temporary || temporary->size_bytes() < bytes)) {
      stream.finish();  // it may still use the memory of before
      if (temporary) queue.finish();
      temporary.reset();
      temporary = call::take_workspace("histogram", options.workspace, device, bytes, {&data.memory});
    }
    kernels.count(queue, data, counts, temporary ? &*temporary : nullptr, launches);
    // What comes next may come on another stream, to the same temporary memory, or to totals that are added to without
    // atomics.
    if (kernels.plan().strategy == Strategy::sequential || (temporary && &queue != &stream)) queue.finish();
  }

  void settle() {
    if (staging) staging->finish();
    times.compute += take_seconds(launches);
  }
};

DeviceCounter::DeviceCounter(const Device& device, const BinRule& rule, const HistogramOptions& options) {
  SlotRule slot_rule(rule, device.info());
  const histogram_plan::Plan plan = plan_of(device, slot_rule, options);
  state_ = std::make_unique<State>(device, std::move(slot_rule), plan, options);
}

DeviceCounter::DeviceCounter(const Device& device, SlotRule rule, const histogram_plan::Plan& plan,
                             const HistogramOptions& options)
    : state_(std::make_unique<State>(device, std::move(rule), plan, options)) {}

DeviceCounter::~DeviceCounter() = default;

void DeviceCounter::add(const ArrayView& data) {
  State& s = *state_;
  if (!s.staging) s.staging.emplace(s.device, s.options.memory / 2);
  s.staging->pieces(data, s.kernels.plan().channels,
                    [&](Stream& queue, const BufferBase& buffer, std::uint64_t elements) {
                      s.count(queue, {buffer, 0, elements});
                    });
}

void DeviceCounter::add_image(const std::byte* first, std::uint64_t count, std::uint64_t rows, std::uint64_t pitch) {
  State& s = *state_;
  if (!s.staging) s.staging.emplace(s.device, s.options.memory / 2);
  const std::size_t size = size_of(s.kernels.rule().element);
  const std::uint64_t row_bytes = count * size;
  const std::uint64_t most = s.staging->piece_bytes() / row_bytes;
  for (std::uint64_t row = 0; row < rows; row += std::max<std::uint64_t>(most, 1)) {
    if (most == 0) {  // a row longer than a piece
      add(ArrayView(s.kernels.rule().element, first + row * pitch, count));
      continue;
    }
    const std::uint64_t length = std::min(most, rows - row);
    s.staging->rows(first + row * pitch, row_bytes, length, pitch, [&](Stream& queue, const BufferBase& buffer, auto) {
      s.count(queue, {buffer, 0, count * length});
    });
  }
}

void DeviceCounter::add_rows(const BufferBase& data, std::uint64_t offset, std::uint64_t count, std::uint64_t rows,
                             std::uint64_t pitch, Stream* stream) {
  State& s = *state_;
  Stream& queue = stream != nullptr ? *stream : s.stream;
  s.count(queue, {data, data.byte_offset() + offset, count, rows, pitch});
  if (stream != nullptr) return;
  queue.finish();
  if (s.launches.size() >= most_launches) s.settle();
}

void DeviceCounter::add(const BufferBase& data, std::uint64_t count, Stream* stream) {
  add_rows(data, 0, count, 1, 0, stream);
}

std::vector<std::uint64_t> DeviceCounter::totals() const {
  State& s = *state_;
  if (s.staging) s.staging->finish();
  const call::Timer timer(&s.times, &Times::transfer);
  std::vector<std::uint64_t> result(s.counts.size());
  call::fetch(s.stream, s.counts, 0, result.data(), result.size() * sizeof(result[0]));
  s.stream.finish();
  return result;
}

Times DeviceCounter::times() const {
  state_->settle();
  Times times = state_->times;
  if (state_->staging) times.transfer += state_->staging->seconds();
  return times;
}

Strategy DeviceCounter::strategy() const noexcept {
  return state_->kernels.plan().strategy;
}

std::uint64_t DeviceCounter::slots() const noexcept {
  return state_->kernels.slots();
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
