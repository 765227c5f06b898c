// SPDX-License-Identifier: Apache-2.0
#include "histogram/histogram_checks.h"

#include "call/operands.h"
#include "call/state_bytes.h"
#include "histogram/bins/bin_estimator_state.h"
#include "runtime/environment.h"

#include <masu/histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

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

void check_integers(std::string_view type, std::size_t expected, std::span<const std::int64_t> integers) {
  if (integers.size() == expected && call::are_counts(integers)) return;
  const auto negative = std::ranges::find_if(integers, [](std::int64_t x) { return x < 0; });
  const std::string got = integers.size() != expected  ? std::to_string(integers.size())
                          : negative != integers.end() ? std::to_string(*negative)
                                                       : "more";
  call::refuse(fmt::format("{}::with_integers", type),
               fmt::format("there must be {} numbers, none negative, below 2^63 together, got {}", expected, got));
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
    const Dtype type = own_type && rule->f32_edges ? Dtype::f32 : own_type && rule->f16_edges ? Dtype::f16 : Dtype::f64;
    std::vector<double> widths(rule->n);
    for (std::uint64_t i = 0; i < rule->n; ++i) widths[i] = rounded_to(type, rule->edge(i + 1) - rule->edge(i));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] /= widths[i / stride % rule->n];
  }
}

// The result as a plain value: merging, and its bytes.

namespace {
constexpr call::StateName histogram_state{"Histogram", "MHIS"};
}  // namespace

std::vector<double> Histogram::edges() const {
  return rule_->all_edges();
}

double Histogram::edge(std::uint64_t i) const {
  if (i > size()) {
    call::refuse("Histogram::edge", fmt::format("i must be <= {}, got {}", size(), i));
  }
  return rule_->edge(i);
}

std::uint64_t Histogram::n() const noexcept {
  return std::accumulate(counts_.begin(), counts_.end(), below_ + above_ + nan_);
}

void Histogram::merge(const Histogram& other) {
  if (!rule_->same_edges(*other.rule_)) {
    call::refuse("Histogram::merge", fmt::format("both must have the same edges, got {} and {}",
                                                 rule_->text(*other.rule_), other.rule_->text(*rule_)));
  }
  (void)call::elements_of_both("Histogram::merge", n(), other.n());
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  below_ += other.below_;
  above_ += other.above_;
  nan_ += other.nan_;
}

bool operator==(const Histogram& a, const Histogram& b) {
  return a.counts_ == b.counts_ && a.below_ == b.below_ && a.above_ == b.above_ && a.nan_ == b.nan_ &&
         a.rule_->same_edges(*b.rule_);
}

std::vector<std::byte> Histogram::bytes() const {
  call::StateWriter to(histogram_state);
  to.dtype(dtype_);
  rule_->write(to);
  for (const std::uint64_t outside : {below_, above_, nan_}) to.number(outside);
  to.numbers(counts_);
  return to.finish();
}

Histogram Histogram::from_bytes(std::span<const std::byte> bytes) {
  call::StateReader from(histogram_state, bytes);
  Histogram h;
  h.dtype_ = from.dtype();
  h.rule_ = BinRule::read(from, h.dtype_, false);
  for (std::uint64_t* outside : {&h.below_, &h.above_, &h.nan_}) *outside = from.number();
  h.counts_ = from.numbers(h.rule_->n);
  from.end();
  from.require(call::total_of_counts({h.counts_, {&h.below_, 1}, {&h.above_, 1}, {&h.nan_, 1}}) <= call::most_in_state);
  return h;
}

std::vector<std::int64_t> Histogram::integers() const {
  std::vector<std::int64_t> result(counts_.begin(), counts_.end());
  for (const std::uint64_t outside : {below_, above_, nan_}) result.push_back(static_cast<std::int64_t>(outside));
  return result;
}

Histogram Histogram::with_integers(std::span<const std::int64_t> integers) const {
  check_integers("Histogram", size() + extra_slots, integers);
  Histogram h = *this;
  std::copy_n(integers.begin(), size(), h.counts_.begin());
  h.below_ = static_cast<std::uint64_t>(integers[size() + slot_below]);
  h.above_ = static_cast<std::uint64_t>(integers[size() + slot_above]);
  h.nan_ = static_cast<std::uint64_t>(integers[size() + slot_nan]);
  return h;
}

}  // namespace masu
