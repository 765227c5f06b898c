// SPDX-License-Identifier: Apache-2.0
#include "histogram/histogram_device.h"

#include "runtime/backend.h"
#include "runtime/program_cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <span>

namespace masu {

namespace {

constexpr std::string_view kernel_file = "src/histogram/histogram.cl";

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The whole memory that a buffer lies in: kernels take any byte offset into it, OpenCL only aligned sub-buffers.
Buffer<const std::byte> whole(const BufferBase& buffer) {
  return Buffer<const std::byte>(buffer.device(), buffer.memory(), 0, buffer.memory()->bytes());
}

std::shared_ptr<runtime::Kernel> kernel_for(const Device& device, const histogram_plan::Plan& plan, Dtype dtype,
                                            unsigned channels) {
  runtime::Device& implementation = *device.implementation();
  return runtime::own_program(implementation, kernel_file, plan.defines(dtype, channels))->kernel(plan.kernel_name());
}

// Calls body(piece) for host data in pieces of whole pixels that fit the staging buffer.
template <class Body>
void in_pieces(const ArrayView& data, std::uint64_t largest_bytes, unsigned channels, const Body& body) {
  const std::uint64_t most = largest_bytes / size_of(data.dtype) / channels * channels;
  for (std::uint64_t first = 0; first < data.count; first += most) {
    const char* from = static_cast<const char*>(data.data) + first * size_of(data.dtype);
    body(ArrayView(data.dtype, from, std::min(most, data.count - first)));
  }
}

}  // namespace

struct DeviceCounter::State {
  Device device;
  Dtype dtype;
  unsigned channels;
  histogram_plan::Plan plan;
  std::uint64_t slots;  // of one channel
  std::shared_ptr<runtime::Kernel> kernel;
  Stream stream;
  Buffer<std::byte> thresholds;
  Buffer<std::uint64_t> counts;
  std::optional<Buffer<std::byte>> staging;
  std::vector<KernelArgument> rule;
  std::vector<Event> launches;
  HistogramTimes times;

  State(Device on, const BinRule& bins, unsigned count, const histogram_plan::Plan& planned)
      : device(std::move(on)),
        dtype(histogram_plan::kernel_dtype(bins.dtype)),
        channels(count),
        plan(planned),
        slots(histogram_plan::slots_of(bins)),
        kernel(kernel_for(device, plan, dtype, channels)),
        stream(device),
        thresholds(device, 1),
        counts(device, slots * channels) {
    const double start = now();
    counts.fill(0);
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!std::is_same_v<T, Half>) set_rule<T>(bins);
    });
    times.transfer += now() - start;
  }

  template <class T>
  void set_rule(const BinRule& bins) {
    using Position = std::conditional_t<std::is_same_v<T, double>, double, float>;
    T first{};
    T last{};
    std::uint64_t reachable = 1;
    T base{};
    double scale = 0;
    double shift = 0;
    double error = 0;
    if (plan.binning != histogram_plan::Binning::bytes) {
      const Thresholds<T> found(bins);
      first = found.first;
      last = found.last;
      reachable = found.reachable;
      if (!found.lower.empty()) {
        thresholds = Buffer<std::byte>(device, found.lower.size() * sizeof(T));
        thresholds.write(std::as_bytes(std::span(found.lower)));
      }
      if (plan.binning == histogram_plan::Binning::even) {
        // Guesses start at the first value that lies in a bin, so that the differences of integers do not wrap.
        base = first;
        scale = static_cast<double>(bins.n) / (bins.hi - bins.lo);
        shift = (static_cast<double>(base) - bins.lo) * scale;
        error = histogram_plan::position_error(bins);
      }
    }
    rule = {thresholds,
            static_cast<std::uint32_t>(reachable),
            static_cast<std::uint32_t>(bins.n),
            first,
            last,
            base,
            static_cast<Position>(scale),
            static_cast<Position>(shift),
            static_cast<Position>(error)};
  }

  // Launches on `queue`, in pieces so small that no 32-bit count of a work-group overflows.
  void launch(Stream& queue, const BufferBase& data, std::uint64_t offset, std::uint64_t count) {
    const std::size_t size = size_of(dtype);
    const std::uint64_t most = histogram_plan::group_elements * plan.groups / channels * channels;
    for (std::uint64_t first = 0; first < count; first += most) {
      const std::uint64_t length = std::min(most, count - first);
      const std::uint64_t groups = plan.groups_for(length, size);
      std::vector<KernelArgument> arguments{whole(data), offset + first * size, length,
                                            static_cast<std::uint32_t>(slots)};
      arguments.insert(arguments.end(), rule.begin(), rule.end());
      arguments.emplace_back(counts);
      if (plan.local_bytes != 0) arguments.emplace_back(LocalMemory{plan.local_bytes});
      const NDRange range(groups * plan.group, plan.group);
      launches.emplace_back(queue.implementation().launch(*kernel, range, arguments));
    }
  }

  void settle() {
    for (const Event& event : launches) times.compute += event.seconds();
    launches.clear();
  }
};

DeviceCounter::DeviceCounter(Device device, const BinRule& rule, unsigned channels, const histogram_plan::Plan& plan)
    : state_(std::make_unique<State>(std::move(device), rule, channels, plan)) {}

DeviceCounter::~DeviceCounter() = default;

void DeviceCounter::add(const ArrayView& data) {
  State& s = *state_;
  in_pieces(data, histogram_plan::staging_bytes, s.channels, [&](const ArrayView& piece) {
    const std::uint64_t bytes = piece.count * size_of(piece.dtype);
    const double start = now();
    if (!s.staging || s.staging->size() < bytes) {
      s.staging.reset();
      s.staging.emplace(s.device, bytes);
    }
    s.stream.write(*s.staging, std::span(static_cast<const std::byte*>(piece.data), bytes)).wait();
    s.times.transfer += now() - start;
    s.launch(s.stream, *s.staging, 0, piece.count);
    s.stream.finish();
    s.settle();
  });
}

void DeviceCounter::add(const BufferBase& data, std::uint64_t count, Stream* stream) {
  State& s = *state_;
  Stream& queue = stream != nullptr ? *stream : s.stream;
  s.launch(queue, data, data.byte_offset(), count);
  if (stream == nullptr) {
    queue.finish();
    s.settle();
  }
}

std::vector<std::uint64_t> DeviceCounter::totals() const {
  State& s = *state_;
  s.settle();
  const double start = now();
  std::vector<std::uint64_t> result = s.counts.read();
  s.times.transfer += now() - start;
  return result;
}

HistogramTimes DeviceCounter::times() const {
  state_->settle();
  return state_->times;
}

Strategy DeviceCounter::strategy() const noexcept {
  return state_->plan.strategy;
}

namespace {

template <class T>
std::optional<ValueRange> range_on_device(const BufferBase& data, std::uint64_t count) {
  const Device& device = data.device();
  const histogram_plan::Plan plan = histogram_plan::make_range(device.info());
  const auto kernel = kernel_for(device, plan, dtype_of<T>, 1);
  const std::uint64_t groups = plan.groups_for(count, sizeof(T));
  Buffer<T> found(device, 2 * groups);
  Stream stream(device);
  const std::size_t local = plan.group * sizeof(T);
  const std::vector<KernelArgument> arguments{whole(data),
                                              data.byte_offset(),
                                              count,
                                              std::numeric_limits<T>::max(),
                                              std::numeric_limits<T>::lowest(),
                                              found,
                                              LocalMemory{local},
                                              LocalMemory{local}};
  stream.implementation().launch(*kernel, NDRange(groups * plan.group, plan.group), arguments);
  stream.finish();
  T lo = std::numeric_limits<T>::max();
  T hi = std::numeric_limits<T>::lowest();
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
      throw Error(ErrorCode::unsupported, "finite_range: f16 data is not supported in this version");
    } else {
      if (std::is_same_v<T, double> && !data.device().info().fp64) {
        throw Error(ErrorCode::unsupported, "finite_range: " + data.device().id() + " has no fp64, got f64 data");
      }
      return range_on_device<T>(data, count);
    }
  });
}

std::optional<ValueRange> device_finite_range(const Device& device, const ArrayView& data) {
  std::optional<ValueRange> range;
  in_pieces(data, histogram_plan::staging_bytes, 1, [&](const ArrayView& piece) {
    const std::uint64_t bytes = piece.count * size_of(piece.dtype);
    const auto staged = device.upload(std::span(static_cast<const std::byte*>(piece.data), bytes));
    range = merge(range, device_finite_range(staged, piece.dtype));
  });
  return range;
}

}  // namespace masu
