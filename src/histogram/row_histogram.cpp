// SPDX-License-Identifier: Apache-2.0
// One histogram for each of many rows: the public functions.
#include "call/operands.h"
#include "histogram/counts.h"

#include <masu/row_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace masu {

namespace {

// How many elements complete the pixel that was cut, or are left when nothing was.
std::uint64_t missing(const CountState& state) noexcept {
  const std::size_t size = size_of(state.shape.empty.dtype);
  return state.pixel.empty() ? 0 : state.shape.options.channels - state.pixel.size() / size;
}

// Takes elements of a cut pixel.
void take(CountState& state, std::span<const std::byte> elements) {
  state.pixel.insert(state.pixel.end(), elements.begin(), elements.end());
  if (missing(state) != 0) return;
  // Copied: the pixel is empty again even if counting fails.
  const std::vector<std::byte> whole = std::exchange(state.pixel, {});
  const ArrayView view(state.shape.empty.dtype, whole.data(), state.shape.options.channels);
  state.count({state.device, {&view, 1}}, view.count);
}

// Splits `elements` elements at the pixels that they cut: those of cut pixels are read, the others counted by
// pixels(first, number).
template <class Read, class Pixels>
void split(CountState& state, std::uint64_t elements, const Read& read, const Pixels& pixels) {
  const CountShape& shape = state.shape;
  const std::uint64_t left = shape.empty.rows * shape.row_elements - state.position;
  if (elements > left) {
    call::refuse(rows_name, fmt::format("{} rows of {} elements have {} left, got {}", shape.empty.rows,
                                        shape.row_elements, left, elements));
  }
  const std::uint64_t head = std::min(missing(state), elements);
  const std::uint64_t middle = (elements - head) / shape.options.channels * shape.options.channels;
  if (head != 0) take(state, read(0, head));
  if (middle != 0) pixels(head, middle);
  if (head + middle != elements) take(state, read(head + middle, elements - head - middle));
  state.position += elements;
}

}  // namespace

RowHistogramAccumulator::RowHistogramAccumulator(const Device& device, Dtype dtype, const Bins& bins,
                                                 std::uint64_t rows, std::uint64_t row_elements,
                                                 const HistogramOptions& options)
    : CountAccumulator(
          (FloatingPointScope(),
           detail::make_hidden<CountState>(device, CountShape::of_rows(dtype, bins, rows, row_elements, options)))) {}

void RowHistogramAccumulator::add(const ArrayView& data) {
  const FloatingPointScope usual;
  CountState& s = *state_;
  call::check_dtype(rows_name, s.shape.empty.dtype, data.dtype);
  const std::size_t size = size_of(data.dtype);
  const auto part = [&](std::uint64_t first, std::uint64_t count) {
    return std::span(static_cast<const std::byte*>(data.data) + first * size, count * size);
  };
  split(s, data.count, part, [&](std::uint64_t first, std::uint64_t count) {
    const ArrayView pixels(data.dtype, part(first, count).data(), count);
    s.count({s.device, {&pixels, 1}}, count);
  });
}

void RowHistogramAccumulator::add_buffer(const BufferBase& data, Dtype dtype) {
  const FloatingPointScope usual;
  CountState& s = *state_;
  call::check_device(rows_name, s.device, data);
  if (call::on_cpu(s.device)) return add(call::host_view(data, dtype));
  call::check_dtype(rows_name, s.shape.empty.dtype, dtype);
  const std::size_t size = size_of(dtype);
  const auto part = [&](std::uint64_t first, std::uint64_t count) {
    return Buffer<const std::byte>(data.device(), data.memory(), data.byte_offset() + first * size, count * size);
  };
  split(
      s, data.size_bytes() / size, [&](std::uint64_t first, std::uint64_t count) { return part(first, count).read(); },
      [&](std::uint64_t first, std::uint64_t count) {
        const Buffer<const std::byte> pixels = part(first, count);
        const BufferBase* const column = &pixels;
        s.count({s.device, dtype, {&column, 1}}, count);
      });
}

RowHistograms RowHistogramAccumulator::result() const {
  const FloatingPointScope usual;
  const CountState& s = *state_;
  detail::Counts result = s.counts();
  if (!s.pixel.empty()) {
    // The elements of a cut pixel belong to the first channels of their row.
    const std::uint64_t known = s.pixel.size() / size_of(s.shape.empty.dtype);
    const std::uint64_t table = (s.position - known) / s.shape.row_elements * s.shape.options.channels;
    CountShape of_pixel = s.shape;
    of_pixel.empty.rows = 1;
    of_pixel.empty.channels = of_pixel.options.channels = static_cast<unsigned>(known);
    of_pixel.row_elements = known;
    of_pixel.options.strategy = Strategy::global;
    CountState rest(Device::open("cpu"), of_pixel);
    const ArrayView elements(s.shape.empty.dtype, s.pixel.data(), known);
    rest.count({rest.device, {&elements, 1}}, known);
    const detail::Counts more = rest.counts();
    const auto add = [&](const std::vector<std::uint64_t>& from, std::vector<std::uint64_t>& to, std::uint64_t each) {
      auto* const first = to.data() + table * each;
      std::transform(from.begin(), from.end(), first, first, std::plus<>());
    };
    add(more.bins, result.bins, result.size);
    add(more.outside, result.outside, extra_slots);
  }
  return CountShape::as<RowHistograms>(std::move(result));
}

namespace {

RowHistograms row_histograms_of(const Columns& data, std::uint64_t rows, const Bins& bins,
                                const HistogramOptions& options) {
  const FloatingPointScope usual;
  check_channels(rows_name, options.channels);
  check_row_count(rows);
  const std::uint64_t elements = data.count();
  if (elements % (rows * options.channels) != 0) {
    call::refuse(rows_name, fmt::format("{} rows of {} channels must divide the elements, got {}", rows,
                                        options.channels, elements));
  }
  CountState state(data.device,
                   CountShape::of_rows(data.dtype, data.definite({&bins, 1}).front(), rows, elements / rows, options));
  state.add(data);
  return CountShape::as<RowHistograms>(state.counts());
}

}  // namespace

RowHistograms row_histograms(const Device& device, const ArrayView& data, std::uint64_t rows, const Bins& bins,
                             const HistogramOptions& options) {
  return row_histograms_of({device, {&data, 1}}, rows, bins, options);
}

RowHistograms row_histograms(const BufferBase& data, Dtype dtype, std::uint64_t rows, const Bins& bins,
                             const HistogramOptions& options) {
  const BufferBase* const column = &data;
  return row_histograms_of({data.device(), dtype, {&column, 1}}, rows, bins, options);
}

}  // namespace masu
