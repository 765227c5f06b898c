// SPDX-License-Identifier: Apache-2.0
// Weighted histograms: the public functions.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/state_bytes.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/counts.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/device/slot_kernels.h"
#include "histogram/weighted_state.h"

#include <masu/sum.h>
#include <masu/weighted_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>
#include <string>
#include <utility>

namespace masu {

namespace {
// Slots have narrow sums (add_narrow()) where there are at most narrow_elements elements for each, or where wide ones
// would need more than cached_bytes.
constexpr std::uint64_t narrow_elements = 256;
constexpr std::uint64_t cached_bytes = std::uint64_t{1} << 20U;
}  // namespace

WeightedHistogramAccumulator::WeightedHistogramAccumulator(const Device& device, Dtype dtype, Dtype weights,
                                                           std::span<const Bins> bins, const WeightedOptions& options,
                                                           std::uint64_t row_elements)
    : state_((FloatingPointScope(),
              detail::make_hidden<WeightedState>(WeightedShape(dtype, weights, bins, options, row_elements), device))) {
}

void WeightedHistogramAccumulator::add(std::span<const ArrayView> columns, const ArrayView& weights) {
  const FloatingPointScope usual;
  WeightedState& s = *state_;
  (void)s.check({s.device, columns}, weights.dtype, weights.count, nullptr);
  std::vector<ArrayView> all(columns.begin(), columns.end());
  all.push_back(weights);
  s.add({s.device, all}, weights.count);
}

void WeightedHistogramAccumulator::add_interleaved(const ArrayView& points, const ArrayView& weights) {
  const FloatingPointScope usual;
  WeightedState& s = *state_;
  const std::size_t columns = s.rules.size();
  call::check_dtype(weighted_name, s.dtype(), points.dtype);
  check_weights(s.weights_dtype, weights.dtype);
  if (points.count % columns != 0) {
    call::refuse(weighted_name, fmt::format("{} columns must divide the elements, got {}", columns, points.count));
  }
  check_weighted_lengths(points.count / columns, weights.count);
  if (columns == 1) return add(points, weights);
  if (weights.count == 0) return;
  s.make_sums();
  s.count_points(points, columns, &weights);
  s.advance(weights.count);
}

void WeightedHistogramAccumulator::add_buffers(std::span<const BufferBase* const> columns, Dtype dtype,
                                               const BufferBase& weights, Dtype weights_dtype, Stream* stream) {
  const FloatingPointScope usual;
  WeightedState& s = *state_;
  call::check_device(weighted_name, s.device, weights);
  if (stream != nullptr) call::check_stream(weighted_name, *stream, weights);
  const std::uint64_t count =
      s.check({s.device, dtype, columns}, weights_dtype, weights.size_bytes() / size_of(weights_dtype), stream);
  std::vector<const BufferBase*> all(columns.begin(), columns.end());
  all.push_back(&weights);
  Columns data(s.device, dtype, all);
  data.weights = weights_dtype;
  s.add(data, count, stream);
}

void WeightedHistogramAccumulator::merge(const WeightedHistogramAccumulator& other) {
  const FloatingPointScope usual;
  WeightedState& s = *state_;
  const WeightedState& from = *other.state_;
  if (s.dtype() != from.dtype() || s.weights_dtype != from.weights_dtype || s.options.rows != from.options.rows ||
      s.row_elements != from.row_elements || s.options.variances != from.options.variances ||
      s.options.outside != from.options.outside || !same_edges(s.rules, from.rules)) {
    const auto text = [](const WeightedState& of, const WeightedState& beside) {
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
  const WeightedState& s = *state_;
  call::StateWriter to(weighted_state);
  to.dtype(s.dtype());
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
  WeightedState& s = *result.state_;
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
  WeightedState& s = *state_;
  const bool narrow = !s.counter && s.options.rows == 1 && !s.whole() && s.sums.empty() &&
                      (weights.count / narrow_elements <= s.slots || s.sums_bytes() > cached_bytes);
  if (!narrow) {
    add(columns, weights);
    return result();
  }
  (void)s.check({s.device, columns}, weights.dtype, weights.count, nullptr);
  const double start = call::now();
  s.advance(weights.count);
  const std::uint64_t kinds = s.options.variances ? 2 : 1;
  std::vector<double> sums[2];  // totals, variances
  try {
    check_memory(weighted_name, s.slots, kinds * s.slots * sizeof(double));
    for (std::uint64_t k = 0; k < kinds; ++k) sums[k].resize(s.slots);
  } catch (const std::bad_alloc&) {
    no_memory(weighted_name, s.slots, kinds * s.slots * sizeof(double));
  }
  cpu::SlotFinder finder(s.rules, s.rules.size() > 1);
  finder.prepare(weights.count);
  const std::vector<cpu::Column> found = cpu::columns_of(columns);
  for (std::uint64_t k = 0; k < kinds; ++k) cpu::add_narrow(cpu::ColumnSource(finder, found), weights, sums[k], k == 1);
  s.times.compute += call::now() - start;
  return s.of(s.n, std::move(sums[0]), std::move(sums[1]), {});
}

WeightedHistogram WeightedHistogramAccumulator::result() const try {
  const FloatingPointScope usual;
  const WeightedState& s = *state_;
  const std::vector<WeightSums> sums = s.collect();
  std::vector<double> found[2];  // totals, variances
  for (const WeightSums& each : sums) {
    std::vector<double>& to = found[each.format().squared ? 1 : 0];
    to.resize(s.numbers());
    for (std::uint64_t i = 0; i < to.size(); ++i) to[i] = each.total(i);
  }
  std::vector<std::uint64_t> integers(s.whole() ? s.numbers() : 0);
  for (std::uint64_t i = 0; i < integers.size(); ++i) {
    if (!sums.front().integer_total(i, integers[i]) && !s.options.wrap) s.refuse_total(i);
  }
  return s.of(s.n, std::move(found[0]), std::move(found[1]), integers);
} catch (const std::bad_alloc&) {
  no_memory(weighted_name, state_->numbers(), state_->sums_bytes());
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
  WeightedHistogramAccumulator accumulator(device, columns.front().dtype, weights.dtype,
                                           Columns(device, columns).definite(bins), options,
                                           weighted_row_elements(weights.count, options));
  return accumulator.result_of(columns, weights);
}

WeightedHistogram weighted_joint_histogram(std::span<const BufferBase* const> columns, Dtype dtype,
                                           const BufferBase& weights, Dtype weights_dtype, std::span<const Bins> bins,
                                           const WeightedOptions& options) {
  check_column_count(weighted_name, columns.size());
  check_columns(weighted_name, bins.size(), columns.size());
  const Columns data(columns.front()->device(), dtype, columns);
  check_weighted_lengths(data.count(), weights.size_bytes() / size_of(weights_dtype));
  WeightedHistogramAccumulator accumulator(data.device, dtype, weights_dtype, data.definite(bins), options,
                                           weighted_row_elements(data.count(), options));
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
