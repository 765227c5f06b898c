// SPDX-License-Identifier: Apache-2.0
// The public functions for one histogram and for joint histograms: validate, plan, count, fold.
#include "call/launcher.h"
#include "call/operands.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/device/histogram_plan.h"
#include "histogram/device/slot_kernels.h"
#include "histogram/histogram_checks.h"

#include <masu/histogram.h>
#include <masu/joint_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace masu {

struct HistogramAccumulator::State : AccumulatorState {
  std::shared_ptr<const BinRule> rule;
  HistogramOptions options;
  std::vector<std::uint64_t> totals{};      // what was counted on the CPU
  std::unique_ptr<cpu::Counter> counted{};  // counts them

  void count(const ArrayView& data) {
    count_here([&] { counted->count(data, totals); });
  }
};

namespace {

// The counted part of an image: rows of `elements`, the first of which begins `offset` bytes into the memory.
struct ImageRows {
  std::uint64_t offset;
  std::uint64_t elements;
  std::uint64_t rows;
  std::uint64_t pitch;
};

ImageRows rows_of(const ImageLayout& layout, unsigned channels, Dtype dtype, std::uint64_t bytes) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  const std::uint64_t pixel = channels * size_of(dtype);
  const Region region = layout.region.value_or(Region{0, 0, layout.width, layout.height});
  if (layout.width > most || layout.height > most || layout.pitch > most) {
    call::refuse("histogram", fmt::format("an image has at most {} pixels and bytes in a row "
                                          "and rows, got {} x {} with a pitch of {}",
                                          most, layout.width, layout.height, layout.pitch));
  }
  const std::uint64_t pitch = layout.pitch != 0 ? layout.pitch : layout.width * pixel;
  if (pitch < layout.width * pixel || pitch % size_of(dtype) != 0) {
    call::refuse("histogram", fmt::format("pitch must be a multiple of {} and at least {}, got {}", size_of(dtype),
                                          layout.width * pixel, pitch));
  }
  if (region.x > layout.width || region.width > layout.width - region.x || region.y > layout.height ||
      region.height > layout.height - region.y) {
    call::refuse("histogram",
                 fmt::format("the region must lie inside of {} x {} pixels, got {} x {} at {},{}", layout.width,
                             layout.height, region.width, region.height, region.x, region.y));
  }
  const bool empty = layout.width == 0 || layout.height == 0;
  std::uint64_t needed = 0;
  const bool too_large = __builtin_mul_overflow(empty ? 0 : layout.height - 1, pitch, &needed) ||
                         __builtin_add_overflow(needed, empty ? 0 : layout.width * pixel, &needed);
  if (too_large || needed > bytes) {
    call::refuse("histogram",
                 fmt::format("an image of {} x {} pixels with a pitch of {} needs {} bytes, got {}", layout.width,
                             layout.height, pitch, too_large ? "too many" : std::to_string(needed), bytes));
  }
  return {region.y * pitch + region.x * pixel, region.width * channels, region.width == 0 ? 0 : region.height, pitch};
}

}  // namespace

HistogramAccumulator::HistogramAccumulator(const Device& device, Dtype dtype, const Bins& bins,
                                           const HistogramOptions& options) {
  const FloatingPointScope usual;
  check_channels("histogram", options.channels);
  auto rule = std::make_shared<const BinRule>(bins, dtype, options.right_open);
  const std::uint64_t slots = histogram_plan::slots_of(*rule);
  const bool on_cpu = call::on_cpu(device);
  // The totals and the result.
  const std::uint64_t bytes = (slots + rule->n) * options.channels * sizeof(std::uint64_t);
  check_memory("histogram", rule->n, bytes);
  state_ = std::make_unique<State>(State{{device}, rule, options});
  if (!on_cpu) {
    const auto kernels = [&](const TableUpload& upload) { return counting_kernels(device, *rule, options, upload); };
    state_->counter = std::make_unique<DeviceCounter>(device, kernels, options.memory / 2, options.workspace);
    return;
  }
  state_->totals = zeros_for(slots * options.channels, "histogram", rule->n, bytes);
  state_->counted = std::make_unique<cpu::Counter>(rule, options.channels, options.strategy);
}

HistogramAccumulator::HistogramAccumulator(HistogramAccumulator&&) noexcept = default;
HistogramAccumulator& HistogramAccumulator::operator=(HistogramAccumulator&&) noexcept = default;
HistogramAccumulator::~HistogramAccumulator() = default;

void HistogramAccumulator::add(const ArrayView& data) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype("histogram", s.rule->dtype, data.dtype);
  if (data.count % s.options.channels != 0) {
    call::refuse("histogram",
                 fmt::format("{} channels must divide the elements, got {}", s.options.channels, data.count));
  }
  if (data.count == 0) return;
  if (s.counter) {
    s.counter->add({&data, 1});
  } else {
    s.count(data);
  }
}

void HistogramAccumulator::add_buffer(const BufferBase& data, Dtype dtype, Stream* stream) {
  const FloatingPointScope usual;
  State& s = *state_;
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  call::check_device("histogram", s.device, data);
  if (stream != nullptr) call::check_stream("histogram", *stream, data);
  if (call::on_cpu(s.device)) return add(call::host_view(data, dtype));
  if (dtype != s.rule->dtype || count % s.options.channels != 0) return add(ArrayView(dtype, nullptr, count));
  if (count == 0) return;
  const call::At at{data, data.byte_offset()};
  s.counter->add({{&at, 1}, count}, stream);
}

void HistogramAccumulator::add(const ArrayView& data, const ImageLayout& layout) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype("histogram", s.rule->dtype, data.dtype);
  const std::size_t size = size_of(data.dtype);
  const ImageRows image = rows_of(layout, s.options.channels, data.dtype, data.count * size);
  const auto* first = static_cast<const std::byte*>(data.data) + image.offset;
  if (image.rows == 0) return;
  if (image.rows == 1 || image.pitch == image.elements * size) {
    return add(ArrayView(data.dtype, first, image.elements * image.rows));
  }
  if (s.counter) return s.counter->add_image(first, data.dtype, image.elements, image.rows, image.pitch);
  // Long rows where they are, short ones side by side.
  constexpr std::uint64_t packed_bytes = std::uint64_t{4} << 20;
  const std::uint64_t row_bytes = image.elements * size;
  const std::uint64_t most = packed_bytes / row_bytes;
  std::vector<std::byte> packed(most > 1 ? std::min(most, image.rows) * row_bytes : 0);
  for (std::uint64_t row = 0; row < image.rows;) {
    const std::uint64_t rows = most > 1 ? std::min(most, image.rows - row) : 1;
    const std::byte* from = first + row * image.pitch;
    for (std::uint64_t i = 0; most > 1 && i < rows; ++i) {
      std::memcpy(packed.data() + i * row_bytes, from + i * image.pitch, row_bytes);
    }
    s.count(ArrayView(data.dtype, most > 1 ? packed.data() : from, image.elements * rows));
    row += rows;
  }
}

void HistogramAccumulator::add_buffer(const BufferBase& data, Dtype dtype, const ImageLayout& layout, Stream* stream) {
  const FloatingPointScope usual;
  State& s = *state_;
  const ImageRows image = rows_of(layout, s.options.channels, dtype, data.size_bytes());
  const std::uint64_t row_bytes = image.elements * size_of(dtype);
  const std::uint64_t bytes = image.rows == 0 ? 0 : (image.rows - 1) * image.pitch + row_bytes;
  const Buffer<const std::byte> part(data.device(), data.memory(), data.byte_offset() + image.offset, bytes);
  if (image.rows <= 1 || image.pitch == row_bytes) return add_buffer(part, dtype, stream);
  add_buffer(Buffer<const std::byte>(data.device(), data.memory(), data.byte_offset(), 0), dtype, stream);  // checks
  const ImageLayout inside{image.elements / s.options.channels, image.rows, image.pitch, std::nullopt};
  if (call::on_cpu(s.device)) return add(call::host_view(part, dtype), inside);
  const call::At at{part, part.byte_offset()};
  s.counter->add({{&at, 1}, image.elements, image.rows, image.pitch}, stream);
}

std::vector<Histogram> HistogramAccumulator::result() const try {
  const FloatingPointScope usual;
  const State& s = *state_;
  const std::vector<std::uint64_t> of_device = s.counter ? s.counter->totals() : std::vector<std::uint64_t>();
  const std::vector<std::uint64_t>& totals = s.counter ? of_device : s.totals;
  const BinRule& rule = *s.rule;
  const std::uint64_t counted = totals.size() / s.options.channels;
  const Strategy used = s.counter ? s.counter->strategy() : s.counted->strategy();
  std::vector<Histogram> result;
  for (unsigned c = 0; c < s.options.channels; ++c) {
    std::vector<std::uint64_t> slots = histogram_plan::folded(rule, std::span(totals).subspan(c * counted, counted));
    if (s.options.outside == Outside::clamp) {
      slots.front() += std::exchange(slots[rule.n + slot_below], 0);
      slots[rule.n - 1] += std::exchange(slots[rule.n + slot_above], 0);
    }
    result.push_back(Histogram(counts_of_table(std::move(slots), {s.rule}, extra_slots, used)));
  }
  return result;
} catch (const std::bad_alloc&) {
  no_memory("histogram", state_->rule->n, state_->rule->n * state_->options.channels * sizeof(std::uint64_t));
}

Times HistogramAccumulator::times() const {
  return state_->all_times();
}

std::optional<ValueRange> finite_range(const Device& device, const ArrayView& data) {
  const FloatingPointScope usual;
  if (call::on_cpu(device)) return cpu::finite_range(data);
  return device_finite_range(device, data);
}

std::optional<ValueRange> finite_range(const BufferBase& data, Dtype dtype) {
  const FloatingPointScope usual;
  if (call::on_cpu(data.device())) return cpu::finite_range(call::host_view(data, dtype));
  return device_finite_range(data, dtype);
}

namespace {

void check_definite(const Bins& bins) {
  if (!bins.needs_data()) return;
  call::refuse("histogram", "bins of an image must not depend on the data; find them before");
}

}  // namespace

std::vector<Histogram> histogram_channels(const Device& device, const ArrayView& data, const Bins& bins,
                                          const HistogramOptions& options) {
  const Bins definite = definite_bins(device, data, bins);
  HistogramAccumulator accumulator(device, data.dtype, definite, options);
  accumulator.add(data);
  return accumulator.result();
}

std::vector<Histogram> histogram_channels(const Device& device, const ArrayView& data, const ImageLayout& layout,
                                          const Bins& bins, const HistogramOptions& options) {
  check_definite(bins);
  HistogramAccumulator accumulator(device, data.dtype, bins, options);
  accumulator.add(data, layout);
  return accumulator.result();
}

std::vector<Histogram> histogram_channels(const BufferBase& data, Dtype dtype, const ImageLayout& layout,
                                          const Bins& bins, const HistogramOptions& options) {
  check_definite(bins);
  HistogramAccumulator accumulator(data.device(), dtype, bins, options);
  accumulator.add_buffer(data, dtype, layout);
  return accumulator.result();
}

std::uint64_t histogram_workspace(const Device& device, Dtype dtype, const Bins& bins, const HistogramOptions& options,
                                  std::uint64_t count) {
  if (call::on_cpu(device)) return 0;
  return device_workspace(device, BinRule(bins, dtype, options.right_open), options, count);
}

std::vector<Histogram> histogram_channels(const BufferBase& data, Dtype dtype, const Bins& bins,
                                          const HistogramOptions& options) {
  const Bins definite = definite_bins(data, dtype, bins);
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

// Several columns together.

std::vector<std::shared_ptr<const BinRule>> checked_joint_rules(Dtype dtype, std::span<const Bins> bins,
                                                                const HistogramOptions& options) {
  check_column_count(joint_name, bins.size());
  if (options.channels != 1) call::refuse(joint_name, fmt::format("channels must be 1, got {}", options.channels));
  std::vector<std::shared_ptr<const BinRule>> rules;
  for (const Bins& column : bins) {
    const std::uint64_t joint_bins = joint_bin_count(rules);
    rules.push_back(std::make_shared<const BinRule>(column, dtype, options.right_open, true));
    if (rules.back()->n > most_joint_bins / joint_bins) {
      call::refuse(joint_name, fmt::format("there must be at most 2^31 joint bins, got {} * {} and more", joint_bins,
                                           rules.back()->n));
    }
  }
  return rules;
}

std::uint64_t joint_bin_count(std::span<const std::shared_ptr<const BinRule>> rules) noexcept {
  std::uint64_t joint_bins = 1;
  for (const auto& rule : rules) joint_bins *= rule->n;
  return joint_bins;
}

struct JointHistogramAccumulator::State : AccumulatorState {
  Dtype dtype;
  std::vector<std::shared_ptr<const BinRule>> rules;
  HistogramOptions options;
  std::uint64_t joint_bins = joint_bin_count(rules);
  std::vector<std::uint64_t> totals{};  // the joint bins, outside, nan
  std::unique_ptr<cpu::JointCounter> counted{};

  void count(std::span<const cpu::Column> columns, std::uint64_t points) {
    count_here([&] { counted->add(columns, points); });
  }
};

JointHistogramAccumulator::JointHistogramAccumulator(const Device& device, Dtype dtype, std::span<const Bins> bins,
                                                     const HistogramOptions& options) {
  const FloatingPointScope usual;
  std::vector<std::shared_ptr<const BinRule>> rules = checked_joint_rules(dtype, bins, options);
  state_ = std::make_unique<State>(State{{device}, dtype, std::move(rules), options});
  State& s = *state_;
  const std::uint64_t bytes = (2 * s.joint_bins + joint_extra_bins) * sizeof(std::uint64_t);
  check_memory(joint_name, s.joint_bins, bytes);
  if (!call::on_cpu(device)) {
    const auto kernels = [&](const TableUpload& upload) {
      return std::make_unique<JointKernels>(device, s.rules, options, upload);
    };
    s.counter = std::make_unique<DeviceCounter>(device, kernels, options.memory / 2, options.workspace);
    return;
  }
  s.totals = zeros_for(s.joint_bins + joint_extra_bins, joint_name, s.joint_bins, bytes);
  s.counted =
      std::make_unique<cpu::JointCounter>(s.rules, options.outside == Outside::clamp, options.strategy, s.totals);
}

JointHistogramAccumulator::JointHistogramAccumulator(JointHistogramAccumulator&&) noexcept = default;
JointHistogramAccumulator& JointHistogramAccumulator::operator=(JointHistogramAccumulator&&) noexcept = default;
JointHistogramAccumulator::~JointHistogramAccumulator() = default;

void JointHistogramAccumulator::add(std::span<const ArrayView> columns) {
  const FloatingPointScope usual;
  State& s = *state_;
  check_columns(joint_name, s.rules.size(), columns.size());
  for (const ArrayView& column : columns) {
    call::check_dtype(joint_name, s.dtype, column.dtype);
    check_lengths(joint_name, columns.front().count, column.count);
  }
  if (columns.front().count == 0) return;
  if (s.counter) return s.counter->add(columns);
  s.count(cpu::columns_of(columns), columns.front().count);
}

void JointHistogramAccumulator::add_interleaved(const ArrayView& points) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype(joint_name, s.dtype, points.dtype);
  const std::size_t columns = s.rules.size();
  if (points.count % columns != 0) {
    call::refuse(joint_name, fmt::format("{} columns must divide the elements, got {}", columns, points.count));
  }
  if (points.count == 0) return;
  if (!s.counter) return s.count(cpu::columns_of_points(points, columns), points.count / columns);
  each_columns(points, columns,
               [&](std::span<const ArrayView> views, std::uint64_t /*first*/) { s.counter->add(views); });
}

void JointHistogramAccumulator::add_buffers(std::span<const BufferBase* const> columns, Dtype dtype, Stream* stream) {
  const FloatingPointScope usual;
  State& s = *state_;
  check_columns(joint_name, s.rules.size(), columns.size());
  call::check_dtype(joint_name, s.dtype, dtype);
  const std::uint64_t count = checked_length(joint_name, s.device, stream, columns, dtype);
  if (count == 0) return;
  if (s.counter) return s.counter->add(columns, count, stream);
  std::vector<ArrayView> views;
  for (const BufferBase* column : columns) views.push_back(call::host_view(*column, dtype));
  s.count(cpu::columns_of(views), count);
}

JointHistogram JointHistogramAccumulator::result() const try {
  const FloatingPointScope usual;
  const State& s = *state_;
  return JointHistogram(counts_of_table(s.counter ? s.counter->totals() : s.totals, s.rules, joint_extra_bins,
                                        s.counter ? s.counter->strategy() : s.counted->strategy()));
} catch (const std::bad_alloc&) {
  no_memory(joint_name, state_->joint_bins, state_->joint_bins * sizeof(std::uint64_t));
}

Times JointHistogramAccumulator::times() const {
  return state_->all_times();
}

JointHistogram joint_histogram(const Device& device, std::span<const ArrayView> columns, std::span<const Bins> bins,
                               const HistogramOptions& options) {
  check_column_count(joint_name, columns.size());
  check_columns(joint_name, bins.size(), columns.size());
  std::vector<Bins> definite;
  for (std::size_t d = 0; d < bins.size(); ++d) definite.push_back(definite_bins(device, columns[d], bins[d]));
  JointHistogramAccumulator accumulator(device, columns.front().dtype, definite, options);
  accumulator.add(columns);
  return accumulator.result();
}

JointHistogram joint_histogram(std::span<const BufferBase* const> columns, Dtype dtype, std::span<const Bins> bins,
                               const HistogramOptions& options) {
  check_column_count(joint_name, columns.size());
  check_columns(joint_name, bins.size(), columns.size());
  std::vector<Bins> definite;
  for (std::size_t d = 0; d < bins.size(); ++d) definite.push_back(definite_bins(*columns[d], dtype, bins[d]));
  JointHistogramAccumulator accumulator(columns.front()->device(), dtype, definite, options);
  accumulator.add_buffers(columns, dtype);
  return accumulator.result();
}

}  // namespace masu
