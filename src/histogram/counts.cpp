// SPDX-License-Identifier: Apache-2.0
#include "histogram/counts.h"

#include "call/operands.h"
#include "histogram/bins/bin_rule.h"
#include "runtime/environment.h"

#include <masu/transpose.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace masu {

void check_channels(std::string_view function, unsigned channels) {
  if (channels >= 1 && channels <= most_channels) return;
  call::refuse(function, fmt::format("channels must be 1 to {}, got {}", most_channels, channels));
}

void check_one_channel(const HistogramOptions& options) {
  if (options.channels == 1) return;
  call::refuse("histogram", fmt::format("channels must be 1 here (see histogram_channels), got {}", options.channels));
}

void no_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes, std::uint64_t free) {
  std::string message = fmt::format("{}: {} bins need {} bytes of memory", function, counters, bytes);
  if (free != 0) message += fmt::format(", {} are free", free);
  throw Error(ErrorCode::out_of_memory, message);
}

void check_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes) {
  constexpr std::uint64_t always_tried = std::uint64_t{1} << 30;
  if (bytes < always_tried) return;
  const std::uint64_t free = runtime::available_memory();
  if (free != 0 && bytes > free) no_memory(function, counters, bytes, free);
}

void check_row_count(std::uint64_t rows) {
  if (rows >= 1 && rows <= most_rows) return;
  call::refuse(rows_name, fmt::format("rows must be 1 to {}, got {}", most_rows, rows));
}

void check_column_count(std::string_view function, std::size_t columns) {
  if (columns >= 1 && columns <= most_columns) return;
  call::refuse(function, fmt::format("columns must be 1 to {}, got {}", most_columns, columns));
}

void check_columns(std::string_view function, std::size_t bins, std::size_t columns) {
  if (bins == columns) return;
  call::refuse(function, fmt::format("there must be {} columns, one for each of the bins, got {}", bins, columns));
}

void check_lengths(std::string_view function, std::uint64_t expected, std::uint64_t got) {
  if (expected == got) return;
  call::refuse(function, fmt::format("columns must have the same length, got {} and {}", expected, got));
}

std::uint64_t Columns::count() const {
  return buffers.empty() ? views.front().count : buffers.front()->size_bytes() / size_of(dtype);
}

std::vector<ArrayView> Columns::on_host() const {
  std::vector<ArrayView> result(views.begin(), views.end());
  for (const BufferBase* column : buffers) {
    result.push_back(call::host_view(*column, column == buffers.back() && weights ? *weights : dtype));
  }
  return result;
}

std::uint64_t checked_length(std::string_view function, BinRules rules, const Columns& columns, const Device& device,
                             const Stream* stream) {
  check_columns(function, rules.size(), columns.size());
  const std::uint64_t count = columns.count();
  for (const ArrayView& column : columns.views) {
    call::check_dtype(function, rules.front()->dtype, column.dtype);
    check_lengths(function, count, column.count);
  }
  for (const BufferBase* column : columns.buffers) {
    call::check_device(function, device, *column);
    if (stream != nullptr) call::check_stream(function, *stream, *column);
    check_lengths(function, count, column->size_bytes() / size_of(columns.dtype));
  }
  call::check_dtype(function, rules.front()->dtype, columns.dtype);
  return count;
}

namespace {

// Bytes that one read from a device takes.
constexpr std::uint64_t piece_bytes = std::uint64_t{64} << 20;

Bins with_range(std::uint64_t n, const std::optional<ValueRange>& range) {
  return range ? Bins::even(n, *range) : Bins::even(n, 0, 1);
}

// `give(estimator)` adds all the data, once a pass.
template <class Give>
Bins estimated(Dtype dtype, const Bins& bins, const Give& give) {
  BinEstimator estimator(dtype, bins);
  do give(estimator);
  while (estimator.next_pass());
  return estimator.bins();
}

}  // namespace

std::vector<Bins> Columns::definite(std::span<const Bins> bins) const {
  std::vector<Bins> result(bins.begin(), bins.end());
  for (std::size_t d = 0; d < result.size(); ++d) {
    Bins& column = result[d];
    if (!column.needs_data()) continue;
    if (column.kind() == Bins::Kind::even) {
      column = with_range(column.size(),
                          buffers.empty() ? finite_range(device, views[d]) : finite_range(*buffers[d], dtype));
    } else if (buffers.empty()) {
      column = estimated(dtype, column, [&](BinEstimator& estimator) { estimator.add(views[d]); });
    } else {
      const BufferBase& data = *buffers[d];
      const Buffer<const std::byte> bytes(data.device(), data.memory(), data.byte_offset(), data.size_bytes());
      std::vector<std::byte> piece(std::min(piece_bytes, bytes.size_bytes()));
      column = estimated(dtype, column, [&](BinEstimator& estimator) {
        for (std::uint64_t first = 0; first < bytes.size(); first += piece_bytes) {
          const std::span part(piece.data(), std::min<std::uint64_t>(piece.size(), bytes.size() - first));
          bytes.read(part, first);
          estimator.add(ArrayView(dtype, part.data(), part.size() / size_of(dtype)));
        }
      });
    }
  }
  return result;
}

void AccumulatorState::count(const Columns& data, std::uint64_t elements, Stream* stream) {
  if (elements == 0) return;
  if (!counter) return count_on_cpu(cpu::columns_of(data.on_host()), elements);
  if (data.buffers.empty()) counter->add(data.views);
  else counter->add(data.buffers, elements, stream);
}

void AccumulatorState::count_on_cpu(std::span<const cpu::Column> columns, std::uint64_t elements) {
  const double start = call::now();
  on_cpu->add(columns, elements);
  times.compute += call::now() - start;
}

void AccumulatorState::count_points(const ArrayView& points, std::size_t columns, const ArrayView* weights) {
  const std::size_t size = size_of(points.dtype);
  const std::uint64_t count = points.count / columns;
  if (count == 0) return;
  if (!counter) {
    std::vector<cpu::Column> found = cpu::columns_of_points(points, columns);
    if (weights != nullptr) found.push_back(cpu::columns_of({weights, 1}).front());
    return count_on_cpu(found, count);
  }
  // The coordinates of some thousand points at a time become columns.
  constexpr std::uint64_t bytes_at_a_time = std::uint64_t{4} << 20;
  const Device cpu = Device::open("cpu");
  const std::uint64_t piece = std::min(bytes_at_a_time / size, count);
  std::vector<std::byte> memory(columns * piece * size);
  for (std::uint64_t first = 0; first < count; first += piece) {
    const std::uint64_t length = std::min(piece, count - first);
    const auto* from = static_cast<const std::byte*>(points.data) + first * columns * size;
    transpose(cpu, ConstRecordsView(from, size, length * columns), length, columns,
              RecordsView(memory.data(), size, length * columns));
    std::vector<ArrayView> views;
    for (std::size_t d = 0; d < columns; ++d)
      views.emplace_back(points.dtype, memory.data() + d * length * size, length);
    if (weights != nullptr) {
      const auto* by = static_cast<const std::byte*>(weights->data) + first * size_of(weights->dtype);
      views.emplace_back(weights->dtype, by, length);
    }
    counter->add(views);
  }
}

using detail::CountKind;

namespace {

void check_rows(std::uint64_t rows, std::uint64_t row_elements, unsigned channels) {
  check_row_count(rows);
  if (row_elements % channels != 0) {
    call::refuse(rows_name,
                 fmt::format("{} channels must divide the elements of a row, got {}", channels, row_elements));
  }
  std::uint64_t elements = 0;
  if (__builtin_mul_overflow(rows, row_elements, &elements)) {
    call::refuse(rows_name, fmt::format("rows and their elements must be fewer than 2^64 elements, got {} x {}", rows,
                                        row_elements));
  }
}

}  // namespace

CountShape CountShape::of_one(Dtype dtype, const Bins& bins, const HistogramOptions& options) {
  check_channels("histogram", options.channels);
  CountShape shape{"histogram", options, {.dtype = dtype, .channels = options.channels}};
  shape.empty.rules.push_back(std::make_shared<const BinRule>(bins, dtype, options.right_open, false, options.outside));
  shape.empty.size = shape.rule().n;
  return shape;
}

CountShape CountShape::of_rows(Dtype dtype, const Bins& bins, std::uint64_t rows, std::uint64_t row_elements,
                               const HistogramOptions& options) {
  check_channels(rows_name, options.channels);
  check_rows(rows, row_elements, options.channels);
  CountShape shape = of_one(dtype, bins, options);
  if (shape.empty.size > most_row_counters / (rows * options.channels)) {
    call::refuse(rows_name, fmt::format("rows * channels * bins must be at most 2^33, got {} * {} * {}", rows,
                                        options.channels, shape.empty.size));
  }
  shape.name = rows_name;
  shape.empty.kind = CountKind::rows;
  shape.empty.rows = rows;
  shape.row_elements = row_elements;
  return shape;
}

CountShape CountShape::of_joint(Dtype dtype, std::span<const Bins> bins, const HistogramOptions& options) {
  check_column_count(joint_name, bins.size());
  if (options.channels != 1) call::refuse(joint_name, fmt::format("channels must be 1, got {}", options.channels));
  CountShape shape{joint_name, options, {.kind = CountKind::joint, .dtype = dtype, .size = 1}};
  for (const Bins& column : bins) {
    const auto& rule = shape.empty.rules.emplace_back(
        std::make_shared<const BinRule>(column, dtype, options.right_open, true, options.outside));
    if (rule->n > most_joint_bins / shape.empty.size) {
      call::refuse(joint_name, fmt::format("there must be at most 2^31 joint bins, got {} * {} and more",
                                           shape.empty.size, rule->n));
    }
    shape.empty.size *= rule->n;
  }
  return shape;
}

std::unique_ptr<SlotKernels> CountShape::kernels(const Device& device, const TableUpload& upload) const {
  return std::make_unique<TableKernels>(device,
                                        empty.kind == CountKind::one ? CountedTables::one(device, rule(), options)
                                        : empty.kind == CountKind::joint
                                            ? CountedTables::joint_one(device, empty.rules, options)
                                            : CountedTables::of_rows(device, rule(), empty.rows, row_elements, options),
                                        upload, options);
}

std::unique_ptr<cpu::TableCounter> CountShape::counter(std::span<std::uint64_t> totals) const {
  return std::make_unique<cpu::Counter>(empty.rules, empty.kind == CountKind::joint, options.channels, options.strategy,
                                        totals, empty.kind == CountKind::rows ? row_elements : no_row_end);
}

detail::Counts CountShape::counts(std::vector<std::uint64_t> totals, Strategy used, bool by_value) const {
  detail::Counts result = empty;
  result.strategy = used;
  const std::uint64_t bins = empty.size;
  const std::uint64_t counted = totals.size() / tables();
  std::vector<std::uint32_t> slot_of;
  if (by_value && empty.kind != CountKind::joint) slot_of = slots_by_value(rule(), counted);
  if (slot_of.empty() && tables() == 1) {  // the pages of many bins are touched once only
    result.outside.assign(totals.end() - static_cast<std::ptrdiff_t>(extras()), totals.end());
    totals.resize(bins);
    result.bins = std::move(totals);
  } else {
    result.bins.resize(tables() * bins);
    result.outside.resize(tables() * extras());
    for (std::uint64_t table = 0; table < tables(); ++table) {
      const std::uint64_t* const from = totals.data() + table * counted;
      std::uint64_t* const inside = result.bins.data() + table * bins;
      std::uint64_t* const outside = result.outside.data() + table * extras();
      if (slot_of.empty()) {
        std::copy_n(from, bins, inside);
        std::copy_n(from + bins, extras(), outside);
      }
      for (std::size_t value = 0; value < slot_of.size(); ++value) {
        const std::uint32_t slot = slot_of[value];
        (slot < bins ? inside[slot] : outside[slot - bins]) += from[value];
      }
    }
  }
  return result;
}

detail::Counts CountShape::table(const detail::Counts& all, std::uint64_t number) {
  const std::span bins = std::span(all.bins).subspan(number * all.size, all.size);
  const std::span outside = std::span(all.outside).subspan(number * extra_slots, extra_slots);
  return {.bins = {bins.begin(), bins.end()},
          .outside = {outside.begin(), outside.end()},
          .rules = all.rules,
          .dtype = all.dtype,
          .strategy = all.strategy,
          .size = all.size};
}

std::vector<Histogram> CountShape::histograms(detail::Counts counts) {
  std::vector<Histogram> result;
  if (counts.channels == 1) result.push_back(Histogram(std::move(counts)));
  else
    for (unsigned c = 0; c < counts.channels; ++c) result.push_back(Histogram(table(counts, c)));
  return result;
}

CountState::CountState(const Device& on, CountShape made) : AccumulatorState{on}, shape(std::move(made)) {
  const bool on_device = !call::on_cpu(device);
  // The totals and the result. A device's totals are read into memory of their own.
  const std::uint64_t counted =
      on_device && shape.empty.kind != CountKind::joint ? shape.tables() * slots_of(shape.rule()) : shape.numbers();
  const std::uint64_t bytes = (counted + shape.numbers()) * sizeof(std::uint64_t);
  check_memory(shape.name, shape.counters(), bytes);
  if (on_device) {
    counter = std::make_unique<DeviceCounter>(
        device, [&](const TableUpload& upload) { return shape.kernels(device, upload); }, shape.options.memory / 2,
        shape.options.workspace);
    return;
  }
  try {
    totals.resize(counted);
  } catch (const std::bad_alloc&) {
    no_memory(shape.name, shape.counters(), bytes);
  }
  on_cpu = shape.counter(totals);
}

void CountState::add(const Columns& data, Stream* stream) {
  const std::uint64_t elements = checked_length(shape.name, shape.empty.rules, data, device, stream);
  if (elements % shape.options.channels != 0) {
    call::refuse(shape.name,
                 fmt::format("{} channels must divide the elements, got {}", shape.options.channels, elements));
  }
  count(data, elements, stream);
}

detail::Counts CountState::counts() const try {
  if (!counter) return shape.counts(totals, on_cpu->strategy(), false);
  return shape.counts(counter->totals(), counter->strategy(), true);
} catch (const std::bad_alloc&) {
  no_memory(shape.name, shape.counters(), shape.tables() * shape.empty.size * sizeof(std::uint64_t));
}

Times detail::CountAccumulator::times() const {
  return state_->all_times();
}

}  // namespace masu
