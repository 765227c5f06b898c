// SPDX-License-Identifier: Apache-2.0
// Weighted histograms: the public functions.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/state_bytes.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/device/slot_kernels.h"
#include "histogram/histogram_checks.h"
#include "histogram/weighted_sums.h"

#include <masu/sum.h>
#include <masu/weighted_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>
#include <string>

namespace masu {

namespace {

void check_weights(Dtype expected, Dtype got) {
  if (expected != got) {
    call::refuse(weighted_name,
                 fmt::format("weights must be {} as before, got {}", to_string(expected), to_string(got)));
  }
}

// Slots have narrow sums (add_narrow()) where there are at most narrow_elements elements for each.
constexpr std::uint64_t narrow_elements = 256;

}  // namespace

struct WeightedHistogramAccumulator::State : WeightedShape, AccumulatorState {
  Dtype dtype;
  WeightedOptions options;
  std::vector<WeightSums> sums{};  // on the CPU; for a device, what was merged
  std::unique_ptr<cpu::WeightedCounter> here{};
  const WeightedKernels* kernels = nullptr;  // of the counter
  std::uint64_t n = 0;                       // elements, with those that were merged
  std::uint64_t position = 0;                // elements that were added here

  State(WeightedShape shape, const Device& on, Dtype type, const WeightedOptions& asked)
      : WeightedShape(std::move(shape)), AccumulatorState{on}, dtype(type), options(asked) {}

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
    count_here([&] {
      if (!here) {
        if (sums.empty()) sums = zeros();
        here = std::make_unique<cpu::WeightedCounter>(rules, options.outside == Outside::clamp, options.rows,
                                                      row_elements, sums);
      }
      here->add(columns, static_cast<const std::byte*>(weights), count);
    });
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
  void check_arrays(std::span<const ArrayView> columns, const ArrayView& weights) const {
    check_columns(weighted_name, rules.size(), columns.size());
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
      call::refuse(weighted_name, fmt::format("{} rows hold {} elements, got {}", options.rows, all, position + count));
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
  const FloatingPointScope usual;
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
  const FloatingPointScope usual;
  State& s = *state_;
  s.check_arrays(columns, weights);
  if (weights.count == 0) return;
  if (s.counter) {
    std::vector<ArrayView> all(columns.begin(), columns.end());
    all.push_back(weights);
    s.counter->add(all);
  } else {
    s.add_here(cpu::columns_of(columns), weights.data, weights.count);
  }
  s.advance(weights.count);
}

void WeightedHistogramAccumulator::add_interleaved(const ArrayView& points, const ArrayView& weights) {
  const FloatingPointScope usual;
  State& s = *state_;
  const std::size_t columns = s.rules.size();
  call::check_dtype(weighted_name, s.dtype, points.dtype);
  check_weights(s.weights_dtype, weights.dtype);
  if (points.count % columns != 0) {
    call::refuse(weighted_name, fmt::format("{} columns must divide the elements, got {}", columns, points.count));
  }
  check_weighted_lengths(points.count / columns, weights.count);
  if (columns == 1) return add(points, weights);
  if (weights.count == 0) return;
  if (!s.counter) {
    s.add_here(cpu::columns_of_points(points, columns), weights.data, weights.count);
    return s.advance(weights.count);
  }
  each_columns(points, columns, [&](std::span<const ArrayView> views, std::uint64_t first) {
    const auto* by = static_cast<const std::byte*>(weights.data) + first * size_of(weights.dtype);
    add(views, ArrayView(weights.dtype, by, views.front().count));
  });
}

void WeightedHistogramAccumulator::add_buffers(std::span<const BufferBase* const> columns, Dtype dtype,
                                               const BufferBase& weights, Dtype weights_dtype, Stream* stream) {
  const FloatingPointScope usual;
  State& s = *state_;
  check_columns(weighted_name, s.rules.size(), columns.size());
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
  const FloatingPointScope usual;
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
  const FloatingPointScope usual;
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
  for (std::uint64_t left = from.below(most_columns + 1, 1); left > 0; --left) {
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
  const FloatingPointScope usual;
  State& s = *state_;
  const bool narrow = !s.counter && s.options.rows == 1 && !s.options.variances && is_float(s.weights_dtype) &&
                      s.sums.empty() && weights.count / narrow_elements <= s.slots;
  if (!narrow) {
    add(columns, weights);
    return result();
  }
  s.check_arrays(columns, weights);
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
    const std::vector<cpu::Column> found = cpu::columns_of(columns);
    const cpu::JointPoints source(s.rules, writers, clamp, found);
    cpu::add_narrow(source, {s.slots, s.joint_bins, false}, weights, result.totals_);
  }
  s.times.compute += call::now() - start;
  return result;
}

WeightedHistogram WeightedHistogramAccumulator::result() const try {
  const FloatingPointScope usual;
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
  return state_->all_times();
}

WeightedHistogram weighted_histogram(const Device& device, const ArrayView& data, const ArrayView& weights,
                                     const Bins& bins, const WeightedOptions& options) {
  return weighted_joint_histogram(device, {&data, 1}, weights, {&bins, 1}, options);
}

WeightedHistogram weighted_histogram(const BufferBase& data, Dtype dtype, const BufferBase& weights,
                                     Dtype weights_dtype, const Bins& bins, const WeightedOptions& options) {
  const BufferBase* const column = &data;
  return weighted_joint_histogram({&column, 1}, dtype, weights, weights_dtype, {&bins, 1}, options);
}

WeightedHistogram weighted_joint_histogram(const Device& device, std::span<const ArrayView> columns,
                                           const ArrayView& weights, std::span<const Bins> bins,
                                           const WeightedOptions& options) {
  check_column_count(weighted_name, columns.size());
  check_columns(weighted_name, bins.size(), columns.size());
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
  check_column_count(weighted_name, columns.size());
  check_columns(weighted_name, bins.size(), columns.size());
  const std::uint64_t count = columns.front()->size_bytes() / size_of(dtype);
  check_weighted_lengths(count, weights.size_bytes() / size_of(weights_dtype));
  std::vector<Bins> definite;
  for (std::size_t d = 0; d < bins.size(); ++d) definite.push_back(definite_bins(*columns[d], dtype, bins[d]));
  WeightedHistogramAccumulator accumulator(columns.front()->device(), dtype, weights_dtype, definite, options,
                                           weighted_row_elements(count, options));
  accumulator.add_buffers(columns, dtype, weights, weights_dtype);
  return accumulator.result();
}

// What a result tells.

namespace {

[[noreturn]] void result_invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, fmt::format("WeightedHistogram::{}", message));
}

const BinRule& weighted_column_rule(std::span<const std::shared_ptr<const BinRule>> rules, unsigned d) {
  if (d >= rules.size()) result_invalid(fmt::format("size: the column must be < {}, got {}", rules.size(), d));
  return *rules[d];
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

}  // namespace

std::uint64_t WeightedHistogram::size(unsigned d) const {
  return weighted_column_rule(rules_, d).n;
}

std::vector<double> WeightedHistogram::edges(unsigned d) const {
  const FloatingPointScope usual;
  return weighted_column_rule(rules_, d).all_edges();
}

void WeightedHistogram::check_row(std::uint64_t row) const {
  if (row >= rows_) result_invalid(fmt::format("totals: the row must be < {}, got {}", rows_, row));
}

double WeightedHistogram::extra(std::uint64_t row, bool joint, std::size_t place, const char* name) const {
  const FloatingPointScope usual;
  if (joint != (rules_.size() > 1)) {
    result_invalid(fmt::format("{}: is of {}, got {}", name, joint ? "several columns" : "one column", rules_.size()));
  }
  return extra_totals(row)[place];
}

double WeightedHistogram::below(std::uint64_t row) const {
  return extra(row, false, slot_below, "below");
}
double WeightedHistogram::above(std::uint64_t row) const {
  return extra(row, false, slot_above, "above");
}
double WeightedHistogram::nan(std::uint64_t row) const {
  return extra_totals(row).back();
}
double WeightedHistogram::outside(std::uint64_t row) const {
  return extra(row, true, 0, "outside");
}

std::vector<double> WeightedHistogram::density(std::uint64_t row) const {
  const FloatingPointScope usual;
  // As NumPy: divided by the widths, column by column, then by the sum. Of one column, numpy.histogram subtracts the
  // edges in their own type.
  const std::span<const double> from = totals(row);
  std::vector<double> result(from.begin(), from.end());
  ExactSum sum;
  sum.add(ArrayView(from));
  divide_by_widths(rules_, rules_.size() == 1, result);
  for (double& value : result) value /= sum.sum();
  return result;
}

bool operator==(const WeightedHistogram& a, const WeightedHistogram& b) {
  const FloatingPointScope usual;
  return a.rows_ == b.rows_ && same_bits(a.totals_, b.totals_) && same_bits(a.variances_, b.variances_) &&
         a.signed_ == b.signed_ && a.unsigned_ == b.unsigned_ && same_edges(a.rules_, b.rules_);
}

}  // namespace masu
