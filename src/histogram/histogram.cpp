// SPDX-License-Identifier: Apache-2.0
// The public functions for one histogram and for joint histograms.
#include "call/launcher.h"
#include "call/operands.h"
#include "histogram/counts.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/device/slot_kernels.h"

#include <masu/histogram.h>
#include <masu/joint_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace masu {

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
                                           const HistogramOptions& options)
    : CountAccumulator(
          (FloatingPointScope(), detail::make_hidden<CountState>(device, CountShape::of_one(dtype, bins, options)))) {}

void HistogramAccumulator::add(const ArrayView& data) {
  const FloatingPointScope usual;
  state_->add({state_->device, {&data, 1}});
}

void HistogramAccumulator::add_buffer(const BufferBase& data, Dtype dtype, Stream* stream) {
  const FloatingPointScope usual;
  const BufferBase* const column = &data;
  state_->add({state_->device, dtype, {&column, 1}}, stream);
}

void HistogramAccumulator::add(const ArrayView& data, const ImageLayout& layout) {
  const FloatingPointScope usual;
  CountState& s = *state_;
  call::check_dtype("histogram", s.shape.empty.dtype, data.dtype);
  const std::size_t size = size_of(data.dtype);
  const ImageRows image = rows_of(layout, s.shape.options.channels, data.dtype, data.count * size);
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
    const cpu::Column column{most > 1 ? packed.data() : from, size};
    s.count_on_cpu({&column, 1}, image.elements * rows);
    row += rows;
  }
}

void HistogramAccumulator::add_buffer(const BufferBase& data, Dtype dtype, const ImageLayout& layout, Stream* stream) {
  const FloatingPointScope usual;
  CountState& s = *state_;
  const ImageRows image = rows_of(layout, s.shape.options.channels, dtype, data.size_bytes());
  const std::uint64_t row_bytes = image.elements * size_of(dtype);
  const std::uint64_t bytes = image.rows == 0 ? 0 : (image.rows - 1) * image.pitch + row_bytes;
  const Buffer<const std::byte> part(data.device(), data.memory(), data.byte_offset() + image.offset, bytes);
  if (image.rows <= 1 || image.pitch == row_bytes) return add_buffer(part, dtype, stream);
  add_buffer(Buffer<const std::byte>(data.device(), data.memory(), data.byte_offset(), 0), dtype, stream);  // checks
  const ImageLayout inside{image.elements / s.shape.options.channels, image.rows, image.pitch, std::nullopt};
  if (call::on_cpu(s.device)) return add(call::host_view(part, dtype), inside);
  const call::At at{part, part.byte_offset()};
  s.counter->add({{&at, 1}, image.elements, image.rows, image.pitch}, stream);
}

std::vector<Histogram> HistogramAccumulator::result() const {
  const FloatingPointScope usual;
  return CountShape::histograms(state_->counts());
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

std::vector<Histogram> histograms_of(const Columns& data, const Bins& bins, const HistogramOptions& options) {
  const FloatingPointScope usual;
  CountState state(data.device, CountShape::of_one(data.dtype, data.definite({&bins, 1}).front(), options));
  state.add(data);
  return CountShape::histograms(state.counts());
}

HistogramAccumulator accumulator_of_image(const Device& device, Dtype dtype, const Bins& bins,
                                          const HistogramOptions& options) {
  if (bins.needs_data()) {
    call::refuse("histogram", "bins of an image must not depend on the data; find them before");
  }
  return {device, dtype, bins, options};
}

JointHistogram joint_histogram_of(const Columns& data, std::span<const Bins> bins, const HistogramOptions& options) {
  const FloatingPointScope usual;
  check_column_count(joint_name, data.size());
  check_columns(joint_name, bins.size(), data.size());
  CountState state(data.device, CountShape::of_joint(data.dtype, data.definite(bins), options));
  state.add(data);
  return CountShape::as<JointHistogram>(state.counts());
}

}  // namespace

std::vector<Histogram> histogram_channels(const Device& device, const ArrayView& data, const Bins& bins,
                                          const HistogramOptions& options) {
  return histograms_of({device, {&data, 1}}, bins, options);
}

std::vector<Histogram> histogram_channels(const BufferBase& data, Dtype dtype, const Bins& bins,
                                          const HistogramOptions& options) {
  const BufferBase* const column = &data;
  return histograms_of({data.device(), dtype, {&column, 1}}, bins, options);
}

std::vector<Histogram> histogram_channels(const Device& device, const ArrayView& data, const ImageLayout& layout,
                                          const Bins& bins, const HistogramOptions& options) {
  HistogramAccumulator accumulator = accumulator_of_image(device, data.dtype, bins, options);
  accumulator.add(data, layout);
  return accumulator.result();
}

std::vector<Histogram> histogram_channels(const BufferBase& data, Dtype dtype, const ImageLayout& layout,
                                          const Bins& bins, const HistogramOptions& options) {
  HistogramAccumulator accumulator = accumulator_of_image(data.device(), dtype, bins, options);
  accumulator.add_buffer(data, dtype, layout);
  return accumulator.result();
}

std::uint64_t histogram_workspace(const Device& device, Dtype dtype, const Bins& bins, const HistogramOptions& options,
                                  std::uint64_t count) {
  if (call::on_cpu(device)) return 0;
  return device_workspace(device, BinRule(bins, dtype, options.right_open), options, count);
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

JointHistogramAccumulator::JointHistogramAccumulator(const Device& device, Dtype dtype, std::span<const Bins> bins,
                                                     const HistogramOptions& options)
    : CountAccumulator((FloatingPointScope(),
                        detail::make_hidden<CountState>(device, CountShape::of_joint(dtype, bins, options)))) {}

void JointHistogramAccumulator::add(std::span<const ArrayView> columns) {
  const FloatingPointScope usual;
  state_->add({state_->device, columns});
}

void JointHistogramAccumulator::add_interleaved(const ArrayView& points) {
  const FloatingPointScope usual;
  CountState& s = *state_;
  call::check_dtype(joint_name, s.shape.empty.dtype, points.dtype);
  const std::size_t columns = s.shape.empty.rules.size();
  if (points.count % columns != 0) {
    call::refuse(joint_name, fmt::format("{} columns must divide the elements, got {}", columns, points.count));
  }
  s.count_points(points, columns, nullptr);
}

void JointHistogramAccumulator::add_buffers(std::span<const BufferBase* const> columns, Dtype dtype, Stream* stream) {
  const FloatingPointScope usual;
  state_->add({state_->device, dtype, columns}, stream);
}

JointHistogram JointHistogramAccumulator::result() const {
  const FloatingPointScope usual;
  return CountShape::as<JointHistogram>(state_->counts());
}

JointHistogram joint_histogram(const Device& device, std::span<const ArrayView> columns, std::span<const Bins> bins,
                               const HistogramOptions& options) {
  return joint_histogram_of({device, columns}, bins, options);
}

JointHistogram joint_histogram(std::span<const BufferBase* const> columns, Dtype dtype, std::span<const Bins> bins,
                               const HistogramOptions& options) {
  check_column_count(joint_name, columns.size());
  return joint_histogram_of({columns.front()->device(), dtype, columns}, bins, options);
}

}  // namespace masu
