// SPDX-License-Identifier: Apache-2.0
// Weighted histograms: the public functions.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/state_bytes.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/device/histogram_device.h"
#include "histogram/device/slot_kernels.h"
#include "histogram/histogram_checks.h"
#include "histogram/weighted_sums.h"

#include <masu/weighted_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

namespace masu {

namespace {

void check_weights(Dtype expected, Dtype got) {
  if (expected != got) {
    weighted_invalid(fmt::format("weights must be {} as before, got {}", to_string(expected), to_string(got)));
  }
}

// Slots have narrow sums (add_narrow()) where there are at most narrow_elements elements for each.
constexpr std::uint64_t narrow_elements = 256;

std::vector<cpu::Column> columns_of(std::span<const ArrayView> columns) {
  std::vector<cpu::Column> found;
  for (const ArrayView& column : columns) {
    found.push_back({static_cast<const std::byte*>(column.data), size_of(column.dtype)});
  }
  return found;
}

}  // namespace

struct WeightedHistogramAccumulator::State : WeightedShape {
  Device device;
  Dtype dtype;
  WeightedOptions options;
  std::vector<WeightSums> sums{};  // on the CPU; for a device, what was merged
  std::unique_ptr<cpu::WeightedCounter> here{};
  const WeightedKernels* kernels = nullptr;  // of the counter
  std::unique_ptr<DeviceCounter> counter{};
  Times times{};
  std::uint64_t n = 0;         // elements, with those that were merged
  std::uint64_t position = 0;  // elements that were added here

  State(WeightedShape shape, const Device& on, Dtype type, const WeightedOptions& asked)
      : WeightedShape(std::move(shape)), device(on), dtype(type), options(asked) {}

  [[nodiscard]] std::uint64_t sums_bytes() const {
    std::uint64_t bytes = 0;
    for (const WeightFormat& format : formats) bytes += WeightSums::bytes_for(format, slots * options.rows);
    return bytes;
  }
  [[nodiscard]] std::vector<WeightSums> zeros() const try {
    check_memory(weighted_name, slots * options.rows, sums_bytes());
    std::vector<WeightSums> result;
    for (const WeightFormat& format : formats) result.emplace_back(format, slots * options.rows);
    return result;
  } catch (const std::bad_alloc&) {
    no_memory(weighted_name, slots * options.rows, sums_bytes());
  }

  void add_here(std::span<const cpu::Column> columns, const void* weights, std::uint64_t count) {
    const double start = call::now();
    if (!here) {
      if (sums.empty()) sums = zeros();
      here = std::make_unique<cpu::WeightedCounter>(rules, options.outside == Outside::clamp, options.rows,
                                                    row_elements, sums);
    }
    here->add(columns, static_cast<const std::byte*>(weights), count);
    times.compute += call::now() - start;
  }
  // All of it, with carries moved on.
  [[nodiscard]] std::vector<WeightSums> collect() const {
    std::vector<WeightSums> result = sums.empty() ? zeros() : sums;
    if (counter) kernels->collect(counter->totals(), result);
    for (WeightSums& each : result) {
      each.propagate(0, each.slots());
      if (options.outside != Outside::clamp || rules.size() != 1) continue;
      for (std::uint64_t row = 0; row < options.rows; ++row) {
        const std::uint64_t first = row * slots;
        each.move(first + joint_bins + slot_below, first);
        each.move(first + joint_bins + slot_above, first + joint_bins - 1);
      }
    }
    return result;
  }
  void check_columns(std::span<const ArrayView> columns, const ArrayView& weights) const {
    check_weighted_columns(rules.size(), columns.size());
    for (const ArrayView& column : columns) {
      call::check_dtype(weighted_name, dtype, column.dtype);
      check_lengths(weighted_name, columns.front().count, column.count);
    }
    check_weights(weights_dtype, weights.dtype);
    check_weighted_lengths(columns.front().count, weights.count);
    check_room(weights.count);
  }
  void check_room(std::uint64_t count) const {
    const std::uint64_t all = row_elements * options.rows;
    if (count > all - position) {
      weighted_invalid(fmt::format("{} rows hold {} elements, got {}", options.rows, all, position + count));
    }
  }
  void advance(std::uint64_t count) {
    position += count;
    n += count;
  }
};

WeightedHistogramAccumulator::WeightedHistogramAccumulator(const Device& device, Dtype dtype, Dtype weights,
                                                           std::span<const Bins> bins, const WeightedOptions& options,
                                                           std::uint64_t row_elements) {
  state_ = std::make_unique<State>(WeightedShape(dtype, weights, bins, options, row_elements), device, dtype, options);
  State& s = *state_;
  if (call::on_cpu(device)) return;
  s.counter = std::make_unique<DeviceCounter>(
      device,
      [&](const TableUpload& upload) {
        auto made = std::make_unique<WeightedKernels>(device, s.rules, s.formats, options, s.row_elements, upload);
        s.kernels = made.get();
        return made;
      },
      options.memory);
}

WeightedHistogramAccumulator::WeightedHistogramAccumulator(WeightedHistogramAccumulator&&) noexcept = default;
WeightedHistogramAccumulator& WeightedHistogramAccumulator::operator=(WeightedHistogramAccumulator&&) noexcept =
    default;
WeightedHistogramAccumulator::~WeightedHistogramAccumulator() = default;

void WeightedHistogramAccumulator::add(std::span<const ArrayView> columns, const ArrayView& weights) {
  State& s = *state_;
  s.check_columns(columns, weights);
  if (weights.count == 0) return;
  if (s.counter) {
    std::vector<ArrayView> all(columns.begin(), columns.end());
    all.push_back(weights);
    s.counter->add(all);
  } else {
    s.add_here(columns_of(columns), weights.data, weights.count);
  }
  s.advance(weights.count);
}

void WeightedHistogramAccumulator::add_interleaved(const ArrayView& points, const ArrayView& weights) {
  State& s = *state_;
  const std::size_t columns = s.rules.size();
  call::check_dtype(weighted_name, s.dtype, points.dtype);
  check_weights(s.weights_dtype, weights.dtype);
  if (points.count % columns != 0) {
    weighted_invalid(fmt::format("{} columns must divide the elements, got {}", columns, points.count));
  }
  check_weighted_lengths(points.count / columns, weights.count);
  if (columns == 1) return add(points, weights);
  if (weights.count == 0) return;
  const std::size_t size = size_of(s.dtype);
  const auto* from = static_cast<const std::byte*>(points.data);
  if (!s.counter) {
    std::vector<cpu::Column> found;
    for (std::size_t d = 0; d < columns; ++d) found.push_back({from + d * size, columns * size});
    s.add_here(found, weights.data, weights.count);
    return s.advance(weights.count);
  }
  each_columns(points, columns, [&](std::span<const ArrayView> views, std::uint64_t first) {
    const auto* by = static_cast<const std::byte*>(weights.data) + first * size_of(weights.dtype);
    add(views, ArrayView(weights.dtype, by, views.front().count));
  });
}

void WeightedHistogramAccumulator::add_buffers(std::span<const BufferBase* const> columns, Dtype dtype,
                                               const BufferBase& weights, Dtype weights_dtype, Stream* stream) {
  State& s = *state_;
  check_weighted_columns(s.rules.size(), columns.size());
  call::check_dtype(weighted_name, s.dtype, dtype);
  check_weights(s.weights_dtype, weights_dtype);
  const std::uint64_t count = checked_length(weighted_name, s.device, stream, columns, dtype);
  call::check_device(weighted_name, s.device, weights);
  if (stream != nullptr) call::check_stream(weighted_name, *stream, weights);
  check_weighted_lengths(count, weights.size_bytes() / size_of(weights_dtype));
  s.check_room(count);
  if (count == 0) return;
  if (s.counter) {
    std::vector<const BufferBase*> all(columns.begin(), columns.end());
    all.push_back(&weights);
    s.counter->add(all, count, stream);
    return s.advance(count);
  }
  std::vector<ArrayView> views;
  for (const BufferBase* column : columns) views.push_back(call::host_view(*column, dtype));
  add(views, call::host_view(weights, weights_dtype));
}

void WeightedHistogramAccumulator::merge(const WeightedHistogramAccumulator& other) {
  State& s = *state_;
  const State& from = *other.state_;
  if (s.dtype != from.dtype || s.weights_dtype != from.weights_dtype || s.options.rows != from.options.rows ||
      s.row_elements != from.row_elements || s.options.variances != from.options.variances ||
      s.options.outside != from.options.outside || !same_edges(s.rules, from.rules)) {
    const auto text = [](const State& of, const State& beside) {
      return fmt::format("{}, {} rows, weights {}, with{} variances, {}", texts_of(of.rules, beside.rules),
                         of.options.rows, to_string(of.weights_dtype), of.options.variances ? "" : "out",
                         of.options.outside == Outside::clamp ? "clamp" : "drop");
    };
    call::refuse("WeightedHistogramAccumulator::merge", fmt::format("both must have the same dtypes, edges, rows and "
                                                                    "options, got {} and {}",
                                                                    text(s, from), text(from, s)));
  }
  (void)call::elements_of_both("WeightedHistogramAccumulator::merge", s.n, from.n);
  const std::vector<WeightSums> theirs = from.collect();
  if (s.sums.empty()) s.sums = s.zeros();
  for (std::size_t k = 0; k < s.sums.size(); ++k) {
    s.sums[k].propagate(0, s.sums[k].slots());
    s.sums[k].merge(theirs[k]);
    s.sums[k].propagate(0, s.sums[k].slots());
  }
  s.n += from.n;
}

namespace {
constexpr call::StateName weighted_state{"WeightedHistogramAccumulator", "MWEI"};
}  // namespace

std::vector<std::byte> WeightedHistogramAccumulator::bytes() const {
  const State& s = *state_;
  call::StateWriter to(weighted_state);
  to.dtype(s.dtype);
  to.dtype(s.weights_dtype);
  for (const bool flag :
       {s.options.right_open, s.options.outside == Outside::clamp, s.options.variances, s.options.wrap}) {
    to.number(flag ? 1 : 0, 1);
  }
  to.number(s.options.rows);
  to.number(s.row_elements);
  to.number(s.n);
  to.number(s.rules.size(), 1);
  for (const auto& rule : s.rules) to.block(rule->bins.bytes());
  for (const WeightSums& sums : s.collect()) sums.write(to);
  return to.finish();
}

WeightedHistogramAccumulator WeightedHistogramAccumulator::from_bytes(const Device& device,
                                                                      std::span<const std::byte> bytes) {
  call::StateReader from(weighted_state, bytes);
  const Dtype dtype = from.dtype();
  const Dtype weights = from.dtype();
  WeightedOptions options;
  options.right_open = from.flag();
  options.outside = from.flag() ? Outside::clamp : Outside::drop;
  options.variances = from.flag();
  options.wrap = from.flag();
  options.rows = from.number();
  const std::uint64_t row_elements = from.number();
  const std::uint64_t n = from.elements();
  std::vector<Bins> bins;
  std::uint64_t slots = options.rows;
  for (std::uint64_t left = from.below(most_weighted_columns + 1, 1); left > 0; --left) {
    bins.push_back(Bins::from_bytes(from.block()));
    from.require(slots <= from.left() && bins.back().size() <= from.left() / std::max<std::uint64_t>(slots, 1));
    slots *= bins.back().size();
  }
  WeightedHistogramAccumulator result(device, dtype, weights, bins, options, row_elements);
  State& s = *result.state_;
  from.require(s.row_elements == row_elements && from.left() == s.sums_bytes());  // before memory is taken for them
  s.sums = s.zeros();
  for (WeightSums& sums : s.sums) from.require(sums.read(from, n));
  from.end();
  s.n = n;
  return result;
}

WeightedHistogram WeightedHistogramAccumulator::result_of(std::span<const ArrayView> columns,
                                                          const ArrayView& weights) {
  State& s = *state_;
  const bool narrow = !s.counter && s.options.rows == 1 && !s.options.variances && is_float(s.weights_dtype) &&
                      s.sums.empty() && weights.count / narrow_elements <= s.slots;
  if (!narrow) {
    add(columns, weights);
    return result();
  }
  s.check_columns(columns, weights);
  const double start = call::now();
  const bool clamp = s.options.outside == Outside::clamp;
  s.advance(weights.count);
  WeightedHistogram result = s.empty(s.n);
  try {
    check_memory(weighted_name, s.slots, s.slots * sizeof(double));
    result.totals_.resize(s.slots);
  } catch (const std::bad_alloc&) {
    no_memory(weighted_name, s.slots, s.slots * sizeof(double));
  }
  std::vector<cpu::SlotWriter> writers;
  for (const auto& rule : s.rules) writers.emplace_back(*rule).prepare(weights.count);
  if (s.rules.size() == 1) {
    const cpu::ValueSource source(writers.front(), columns.front());
    cpu::add_narrow(source, {s.slots, s.joint_bins, clamp}, weights, result.totals_);
  } else {
    const std::vector<cpu::Column> found = columns_of(columns);
    const cpu::JointPoints source(s.rules, writers, clamp, found);
    cpu::add_narrow(source, {s.slots, s.joint_bins, false}, weights, result.totals_);
  }
  s.times.compute += call::now() - start;
  return result;
}

WeightedHistogram WeightedHistogramAccumulator::result() const try {
  const State& s = *state_;
  const std::vector<WeightSums> sums = s.collect();
  WeightedHistogram result = s.empty(s.n);
  const std::uint64_t all = s.slots * s.options.rows;
  for (const WeightSums& each : sums) {
    std::vector<double>& to = each.format().squared ? result.variances_ : result.totals_;
    to.resize(all);
    for (std::uint64_t i = 0; i < all; ++i) to[i] = each.total(i);
  }
  if (is_float(s.weights_dtype)) return result;
  const auto exact = [&]<class T>(std::vector<T>& to) {
    to.resize(all);
    for (std::uint64_t i = 0; i < all; ++i) {
      std::uint64_t bits = 0;
      if (!sums.front().integer_total(i, bits) && !s.options.wrap) s.refuse_total(i / s.slots, i % s.slots);
      to[i] = static_cast<T>(bits);
    }
  };
  if (is_signed(s.weights_dtype)) exact(result.signed_);
  else exact(result.unsigned_);
  return result;
} catch (const std::bad_alloc&) {
  no_memory(weighted_name, state_->slots * state_->options.rows, state_->sums_bytes());
}

Times WeightedHistogramAccumulator::times() const {
  return state_->counter ? state_->counter->times() : state_->times;
}

WeightedHistogram weighted_histogram(const Device& device, const ArrayView& data, const ArrayView& weights,
                                     const Bins& bins, const WeightedOptions& options) {
  check_weighted_lengths(data.count, weights.count);
  WeightedHistogramAccumulator accumulator(device, data.dtype, weights.dtype, definite_bins(device, data, bins),
                                           options, weighted_row_elements(data.count, options));
  return accumulator.result_of({&data, 1}, weights);
}

WeightedHistogram weighted_histogram(const BufferBase& data, Dtype dtype, const BufferBase& weights,
                                     Dtype weights_dtype, const Bins& bins, const WeightedOptions& options) {
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  check_weighted_lengths(count, weights.size_bytes() / size_of(weights_dtype));
  WeightedHistogramAccumulator accumulator(data.device(), dtype, weights_dtype, definite_bins(data, dtype, bins),
                                           options, weighted_row_elements(count, options));
  accumulator.add_buffer(data, dtype, weights, weights_dtype);
  return accumulator.result();
}

WeightedHistogram weighted_joint_histogram(const Device& device, std::span<const ArrayView> columns,
                                           const ArrayView& weights, std::span<const Bins> bins,
                                           const WeightedOptions& options) {
  check_count(columns.size());
  check_weighted_columns(bins.size(), columns.size());
  check_weighted_lengths(columns.front().count, weights.count);
  std::vector<Bins> definite;
  for (std::size_t d = 0; d < bins.size(); ++d) definite.push_back(definite_bins(device, columns[d], bins[d]));
  WeightedHistogramAccumulator accumulator(device, columns.front().dtype, weights.dtype, definite, options,
                                           weighted_row_elements(weights.count, options));
  return accumulator.result_of(columns, weights);
}

WeightedHistogram weighted_joint_histogram(std::span<const BufferBase* const> columns, Dtype dtype,
                                           const BufferBase& weights, Dtype weights_dtype, std::span<const Bins> bins,
                                           const WeightedOptions& options) {
  check_count(columns.size());
  check_weighted_columns(bins.size(), columns.size());
  const std::uint64_t count = columns.front()->size_bytes() / size_of(dtype);
  check_weighted_lengths(count, weights.size_bytes() / size_of(weights_dtype));
  std::vector<Bins> definite;
  for (std::size_t d = 0; d < bins.size(); ++d) definite.push_back(definite_bins(*columns[d], dtype, bins[d]));
  WeightedHistogramAccumulator accumulator(columns.front()->device(), dtype, weights_dtype, definite, options,
                                           weighted_row_elements(count, options));
  accumulator.add_buffers(columns, dtype, weights, weights_dtype);
  return accumulator.result();
}

}  // namespace masu
