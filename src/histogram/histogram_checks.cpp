// SPDX-License-Identifier: Apache-2.0
#include "histogram/histogram_checks.h"

#include "call/operands.h"
#include "call/state_bytes.h"
#include "histogram/bins/bin_estimator_state.h"
#include "runtime/environment.h"

#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>

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

std::vector<std::uint64_t> zeros_for(std::uint64_t size, std::string_view function, std::uint64_t counters,
                                     std::uint64_t bytes) try {
  return std::vector<std::uint64_t>(size);
} catch (const std::bad_alloc&) {
  no_memory(function, counters, bytes);
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

std::uint64_t checked_length(std::string_view function, const Device& device, const Stream* stream,
                             std::span<const BufferBase* const> columns, Dtype dtype) {
  const std::uint64_t count = columns.front()->size_bytes() / size_of(dtype);
  for (const BufferBase* column : columns) {
    call::check_device(function, device, *column);
    if (stream != nullptr) call::check_stream(function, *stream, *column);
    check_lengths(function, count, column->size_bytes() / size_of(dtype));
  }
  return count;
}

namespace {

// What is read back from a device at a time.
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

Bins definite_bins(const Device& device, const ArrayView& data, const Bins& bins) {
  if (!bins.needs_data()) return bins;
  if (bins.kind() == Bins::Kind::even) return with_range(bins.size(), finite_range(device, data));
  return estimated(data.dtype, bins, [&](BinEstimator& estimator) { estimator.add(data); });
}

Bins definite_bins(const BufferBase& data, Dtype dtype, const Bins& bins) {
  if (!bins.needs_data()) return bins;
  if (bins.kind() == Bins::Kind::even) return with_range(bins.size(), finite_range(data, dtype));
  const Buffer<const std::byte> bytes(data.device(), data.memory(), data.byte_offset(), data.size_bytes());
  std::vector<std::byte> piece(std::min(piece_bytes, bytes.size_bytes()));
  return estimated(dtype, bins, [&](BinEstimator& estimator) {
    for (std::uint64_t first = 0; first < bytes.size(); first += piece_bytes) {
      const std::span part(piece.data(), std::min<std::uint64_t>(piece.size(), bytes.size() - first));
      bytes.read(part, first);
      estimator.add(ArrayView(dtype, part.data(), part.size() / size_of(dtype)));
    }
  });
}

void each_columns(const ArrayView& points, std::size_t columns,
                  const std::function<void(std::span<const ArrayView>, std::uint64_t)>& take) {
  constexpr std::uint64_t bytes_at_a_time = std::uint64_t{4} << 20;
  const std::size_t size = size_of(points.dtype);
  const std::uint64_t count = points.count / columns;
  const std::uint64_t piece = std::min(bytes_at_a_time / size, count);
  std::vector<std::vector<std::byte>> memory(columns, std::vector<std::byte>(piece * size));
  std::vector<ArrayView> views(columns);
  for (std::uint64_t first = 0; first < count; first += piece) {
    const std::uint64_t length = std::min(piece, count - first);
    const auto* from = static_cast<const std::byte*>(points.data) + first * columns * size;
    for (std::size_t d = 0; d < columns; ++d) {
      for (std::uint64_t i = 0; i < length; ++i) {
        std::copy_n(from + (i * columns + d) * size, size, memory[d].data() + i * size);
      }
      views[d] = ArrayView(points.dtype, memory[d].data(), length);
    }
    take(views, first);
  }
}

void divide_by_widths(BinRules rules, bool own_type, std::vector<double>& values) {
  std::uint64_t stride = values.size();
  for (const auto& rule : rules) {
    stride /= rule->n;
    const Dtype type = own_type && (rule->f32_edges || rule->stored_edges) ? rule->dtype : Dtype::f64;
    std::vector<double> widths(rule->n);
    for (std::uint64_t i = 0; i < rule->n; ++i) widths[i] = rounded_to(type, rule->edge(i + 1) - rule->edge(i));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] /= widths[i / stride % rule->n];
  }
}

// Results as plain values: merging, and their bytes.

detail::Counts counts_of_table(std::vector<std::uint64_t> numbers, std::vector<std::shared_ptr<const BinRule>> rules,
                               std::uint64_t extra, Strategy strategy) {
  detail::Counts result{{}, {}, rules.front()->dtype, strategy, std::move(rules)};
  result.outside.assign(numbers.end() - static_cast<std::ptrdiff_t>(extra), numbers.end());
  numbers.resize(numbers.size() - extra);
  result.bins = std::move(numbers);
  return result;
}

namespace {

constexpr call::StateName histogram_state{"Histogram", "MHIS"};
constexpr call::StateName rows_state{"RowHistograms", "MROW"};
constexpr call::StateName joint_state{"JointHistogram", "MJNT"};

std::uint64_t sum_of(const detail::Counts& counts) noexcept {
  return std::accumulate(counts.bins.begin(), counts.bins.end(),
                         std::accumulate(counts.outside.begin(), counts.outside.end(), std::uint64_t{0}));
}

std::uint64_t checked_sum(const detail::Counts& counts) noexcept {
  return call::total_of_counts({counts.bins, counts.outside});
}

bool same(const detail::Counts& a, const detail::Counts& b) {
  return a.bins == b.bins && a.outside == b.outside && same_edges(a.rules, b.rules);
}

// Of as many tables of the same edges.
void add_counts(std::string_view function, detail::Counts& to, const detail::Counts& other) {
  (void)call::elements_of_both(function, checked_sum(to), checked_sum(other));
  std::ranges::transform(to.bins, other.bins, to.bins.begin(), std::plus<>());
  std::ranges::transform(to.outside, other.outside, to.outside.begin(), std::plus<>());
}

void check_edges(std::string_view function, const detail::Counts& a, const detail::Counts& b) {
  if (same_edges(a.rules, b.rules)) return;
  call::refuse(function, fmt::format("both must have the same edges, got {} and {}", texts_of(a.rules, b.rules),
                                     texts_of(b.rules, a.rules)));
}

std::vector<std::byte> finish(call::StateWriter& to, const detail::Counts& counts) {
  to.numbers(counts.outside);
  to.numbers(counts.bins);
  return to.finish();
}

detail::Counts finish(call::StateReader& from, detail::Counts counts, std::uint64_t outside, std::uint64_t bins) {
  counts.outside = from.numbers(outside);
  counts.bins = from.numbers(bins);
  from.end();
  from.require(checked_sum(counts) <= call::most_in_state);
  return counts;
}

std::vector<std::int64_t> integers_of(const detail::Counts& counts) {
  std::vector<std::int64_t> result(counts.bins.begin(), counts.bins.end());
  result.insert(result.end(), counts.outside.begin(), counts.outside.end());
  return result;
}

// The same bins with other numbers: as many, none negative, below 2^63 together.
detail::Counts with_numbers(std::string_view type, detail::Counts counts, std::span<const std::int64_t> integers) {
  const std::size_t bins = counts.bins.size();
  const std::size_t expected = bins + counts.outside.size();
  if (integers.size() != expected || !call::are_counts(integers)) {
    const auto negative = std::ranges::find_if(integers, [](std::int64_t x) { return x < 0; });
    const std::string got = integers.size() != expected  ? std::to_string(integers.size())
                            : negative != integers.end() ? std::to_string(*negative)
                                                         : "more";
    call::refuse(fmt::format("{}::with_integers", type),
                 fmt::format("there must be {} numbers, none negative, below 2^63 together, got {}", expected, got));
  }
  std::ranges::copy(integers.first(bins), counts.bins.begin());
  std::ranges::copy(integers.subspan(bins), counts.outside.begin());
  return counts;
}

}  // namespace

std::vector<double> Histogram::edges() const {
  const FloatingPointScope usual;
  return all_.rules.front()->all_edges();
}

double Histogram::edge(std::uint64_t i) const {
  const FloatingPointScope usual;
  if (i > size()) {
    call::refuse("Histogram::edge", fmt::format("i must be <= {}, got {}", size(), i));
  }
  return all_.rules.front()->edge(i);
}

std::uint64_t Histogram::n() const noexcept {
  return sum_of(all_);
}

void Histogram::merge(const Histogram& other) {
  const FloatingPointScope usual;
  check_edges("Histogram::merge", all_, other.all_);
  add_counts("Histogram::merge", all_, other.all_);
}

bool operator==(const Histogram& a, const Histogram& b) {
  const FloatingPointScope usual;
  return same(a.all_, b.all_);
}

std::vector<std::byte> Histogram::bytes() const {
  call::StateWriter to(histogram_state);
  to.dtype(all_.dtype);
  all_.rules.front()->write(to);
  return finish(to, all_);
}

Histogram Histogram::from_bytes(std::span<const std::byte> bytes) {
  const FloatingPointScope usual;
  call::StateReader from(histogram_state, bytes);
  Histogram h;
  h.all_.dtype = from.dtype();
  h.all_.rules = {BinRule::read(from, h.dtype(), false)};
  const std::uint64_t size = h.all_.rules.front()->n;
  h.all_ = finish(from, std::move(h.all_), extra_slots, size);
  return h;
}

std::vector<std::int64_t> Histogram::integers() const {
  return integers_of(all_);
}

Histogram Histogram::with_integers(std::span<const std::int64_t> integers) const {
  const FloatingPointScope usual;
  return Histogram(with_numbers("Histogram", all_, integers));
}

RowHistograms::RowHistograms(detail::Counts counts, std::uint64_t rows, unsigned channels) noexcept
    : all_(std::move(counts)), rows_(rows), channels_(channels), size_(all_.rules.front()->n) {}

std::uint64_t RowHistograms::index(std::uint64_t row, unsigned channel) const {
  if (row >= rows_ || channel >= channels_) {
    call::refuse("RowHistograms",
                 fmt::format("row must be < {} and channel < {}, got {} and {}", rows_, channels_, row, channel));
  }
  return row * channels_ + channel;
}

std::span<const std::uint64_t> RowHistograms::counts(std::uint64_t row, unsigned channel) const {
  return counts().subspan(index(row, channel) * size_, size_);
}

std::uint64_t RowHistograms::below(std::uint64_t row, unsigned channel) const {
  return all_.outside[index(row, channel) * extra_slots + slot_below];
}

std::uint64_t RowHistograms::above(std::uint64_t row, unsigned channel) const {
  return all_.outside[index(row, channel) * extra_slots + slot_above];
}

std::uint64_t RowHistograms::nan(std::uint64_t row, unsigned channel) const {
  return all_.outside[index(row, channel) * extra_slots + slot_nan];
}

Histogram RowHistograms::histogram(std::uint64_t row, unsigned channel) const {
  const FloatingPointScope usual;
  const std::span<const std::uint64_t> bins = counts(row, channel);
  const auto outside = std::span(all_.outside).subspan(index(row, channel) * extra_slots, extra_slots);
  return Histogram(
      {{bins.begin(), bins.end()}, {outside.begin(), outside.end()}, all_.dtype, all_.strategy, all_.rules});
}

std::vector<double> RowHistograms::edges() const {
  const FloatingPointScope usual;
  return all_.rules.front()->all_edges();
}

void RowHistograms::merge(const RowHistograms& other) {
  const FloatingPointScope usual;
  if (rows_ != other.rows_ || channels_ != other.channels_ || !same_edges(all_.rules, other.all_.rules)) {
    const auto text = [](const RowHistograms& h, const RowHistograms& beside) {
      return fmt::format("{} rows of {} channels and {}", h.rows_, h.channels_,
                         texts_of(h.all_.rules, beside.all_.rules));
    };
    call::refuse("RowHistograms::merge",
                 fmt::format("both must have as many rows and channels, and the same edges, got {} and {}",
                             text(*this, other), text(other, *this)));
  }
  add_counts("RowHistograms::merge", all_, other.all_);
}

bool operator==(const RowHistograms& a, const RowHistograms& b) {
  const FloatingPointScope usual;
  return a.rows_ == b.rows_ && a.channels_ == b.channels_ && same(a.all_, b.all_);
}

std::vector<std::byte> RowHistograms::bytes() const {
  call::StateWriter to(rows_state);
  to.dtype(all_.dtype);
  all_.rules.front()->write(to);
  to.number(rows_);
  to.number(channels_, 1);
  return finish(to, all_);
}

RowHistograms RowHistograms::from_bytes(std::span<const std::byte> bytes) {
  const FloatingPointScope usual;
  call::StateReader from(rows_state, bytes);
  detail::Counts all;
  all.dtype = from.dtype();
  all.rules = {BinRule::read(from, all.dtype, false)};
  const std::uint64_t size = all.rules.front()->n;
  const std::uint64_t rows = from.below(most_rows + 1);
  const auto channels = static_cast<unsigned>(from.below(most_channels + 1, 1));
  from.require(rows >= 1 && channels >= 1 && size <= most_row_counters / (rows * channels));
  return {finish(from, std::move(all), rows * channels * extra_slots, rows * channels * size), rows, channels};
}

std::vector<std::int64_t> RowHistograms::integers() const {
  return integers_of(all_);
}

RowHistograms RowHistograms::with_integers(std::span<const std::int64_t> integers) const {
  const FloatingPointScope usual;
  return {with_numbers("RowHistograms", all_, integers), rows_, channels_};
}

namespace {

const BinRule& column_rule(const detail::Counts& counts, unsigned d) {
  if (d >= counts.rules.size()) {
    call::refuse("JointHistogram", fmt::format("column must be < {}, got {}", counts.rules.size(), d));
  }
  return *counts.rules[d];
}

}  // namespace

std::uint64_t JointHistogram::size(unsigned d) const {
  return column_rule(all_, d).n;
}

std::vector<double> JointHistogram::edges(unsigned d) const {
  const FloatingPointScope usual;
  return column_rule(all_, d).all_edges();
}

std::uint64_t JointHistogram::n() const noexcept {
  return sum_of(all_);
}

std::vector<double> JointHistogram::density() const {
  const FloatingPointScope usual;
  // As numpy.histogramdd: divided by the widths, column by column, then by the sum.
  const double sum = static_cast<double>(std::accumulate(all_.bins.begin(), all_.bins.end(), std::uint64_t{0}));
  std::vector<double> result(all_.bins.begin(), all_.bins.end());
  divide_by_widths(all_.rules, false, result);
  for (double& value : result) value /= sum;
  return result;
}

void JointHistogram::merge(const JointHistogram& other) {
  const FloatingPointScope usual;
  check_edges("JointHistogram::merge", all_, other.all_);
  add_counts("JointHistogram::merge", all_, other.all_);
}

bool operator==(const JointHistogram& a, const JointHistogram& b) {
  const FloatingPointScope usual;
  return same(a.all_, b.all_);
}

std::vector<std::byte> JointHistogram::bytes() const {
  call::StateWriter to(joint_state);
  to.dtype(all_.dtype);
  to.number(all_.rules.size(), 1);
  for (const auto& rule : all_.rules) rule->write(to);
  return finish(to, all_);
}

JointHistogram JointHistogram::from_bytes(std::span<const std::byte> bytes) {
  const FloatingPointScope usual;
  call::StateReader from(joint_state, bytes);
  detail::Counts all;
  all.dtype = from.dtype();
  const std::uint64_t columns = from.below(most_columns + 1, 1);
  from.require(columns >= 1);
  for (std::uint64_t d = 0; d < columns; ++d) {
    const std::uint64_t joint_bins = joint_bin_count(all.rules);
    all.rules.push_back(BinRule::read(from, all.dtype, true));
    from.require(all.rules.back()->n <= most_joint_bins / joint_bins);
  }
  const std::uint64_t joint_bins = joint_bin_count(all.rules);
  return JointHistogram(finish(from, std::move(all), joint_extra_bins, joint_bins));
}

std::vector<std::int64_t> JointHistogram::integers() const {
  return integers_of(all_);
}

JointHistogram JointHistogram::with_integers(std::span<const std::int64_t> integers) const {
  const FloatingPointScope usual;
  return JointHistogram(with_numbers("JointHistogram", all_, integers));
}

}  // namespace masu
