// SPDX-License-Identifier: Apache-2.0
// Joint histograms: the public functions.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/state_bytes.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/device/histogram_device.h"
#include "histogram/histogram_checks.h"

#include <masu/joint_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <string>

namespace masu {

namespace {

constexpr std::uint64_t most_joint_bins = std::uint64_t{1} << 31;
constexpr std::size_t most_columns = 8;
constexpr std::string_view name = "joint_histogram";

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", name, message));
}

void check_dimensions(std::size_t columns) {
  if (columns < 1 || columns > most_columns) {
    invalid(fmt::format("columns must be 1 to {}, got {}", most_columns, columns));
  }
}

const BinRule& column_rule(std::span<const std::shared_ptr<const BinRule>> rules, unsigned d) {
  if (d >= rules.size()) {
    call::refuse("JointHistogram", fmt::format("column must be < {}, got {}", rules.size(), d));
  }
  return *rules[d];
}

}  // namespace

std::vector<std::shared_ptr<const BinRule>> checked_joint_rules(Dtype dtype, std::span<const Bins> bins,
                                                                const HistogramOptions& options) {
  check_dimensions(bins.size());
  if (options.channels != 1) invalid(fmt::format("channels must be 1, got {}", options.channels));
  std::vector<std::shared_ptr<const BinRule>> rules;
  for (const Bins& column : bins) {
    const std::uint64_t joint_bins = joint_bin_count(rules);
    rules.push_back(std::make_shared<const BinRule>(column, dtype, options.right_open, true));
    if (rules.back()->n > most_joint_bins / joint_bins) {
      invalid(fmt::format("there must be at most 2^31 joint bins, got {} * {} and more", joint_bins, rules.back()->n));
    }
  }
  return rules;
}

std::uint64_t joint_bin_count(std::span<const std::shared_ptr<const BinRule>> rules) noexcept {
  std::uint64_t joint_bins = 1;
  for (const auto& rule : rules) joint_bins *= rule->n;
  return joint_bins;
}

std::uint64_t JointHistogram::size(unsigned d) const {
  return column_rule(rules_, d).n;
}

std::vector<double> JointHistogram::edges(unsigned d) const {
  return column_rule(rules_, d).all_edges();
}

std::uint64_t JointHistogram::n() const noexcept {
  return std::accumulate(counts_.begin(), counts_.end(), outside_ + nan_);
}

std::vector<double> JointHistogram::density() const {
  // As numpy.histogramdd: divided by the widths, column by column, then by the sum.
  const double sum = static_cast<double>(std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}));
  std::vector<double> result(counts_.begin(), counts_.end());
  divide_by_widths(rules_, false, result);
  for (double& value : result) value /= sum;
  return result;
}

void JointHistogram::merge(const JointHistogram& other) {
  if (!same_edges(rules_, other.rules_)) {
    call::refuse("JointHistogram::merge", fmt::format("both must have the same edges, got {} and {}",
                                                      texts_of(rules_, other.rules_), texts_of(other.rules_, rules_)));
  }
  (void)call::elements_of_both("JointHistogram::merge", n(), other.n());
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  outside_ += other.outside_;
  nan_ += other.nan_;
}

bool operator==(const JointHistogram& a, const JointHistogram& b) {
  return a.counts_ == b.counts_ && a.outside_ == b.outside_ && a.nan_ == b.nan_ && same_edges(a.rules_, b.rules_);
}

namespace {
constexpr call::StateName joint_state{"JointHistogram", "MJNT"};
}  // namespace

std::vector<std::byte> JointHistogram::bytes() const {
  call::StateWriter to(joint_state);
  to.dtype(dtype_);
  to.number(rules_.size(), 1);
  for (const auto& rule : rules_) rule->write(to);
  to.number(outside_);
  to.number(nan_);
  to.numbers(counts_);
  return to.finish();
}

JointHistogram JointHistogram::from_bytes(std::span<const std::byte> bytes) {
  call::StateReader from(joint_state, bytes);
  JointHistogram h;
  h.dtype_ = from.dtype();
  const std::uint64_t columns = from.below(most_columns + 1, 1);
  from.require(columns >= 1);
  std::uint64_t joint_bins = 1;
  for (std::uint64_t d = 0; d < columns; ++d) {
    h.rules_.push_back(BinRule::read(from, h.dtype_, true));
    from.require(h.rules_.back()->n <= most_joint_bins / joint_bins);
    joint_bins *= h.rules_.back()->n;
  }
  h.outside_ = from.number();
  h.nan_ = from.number();
  h.counts_ = from.numbers(joint_bins);
  from.end();
  from.require(call::total_of_counts({h.counts_, {&h.outside_, 1}, {&h.nan_, 1}}) <= call::most_in_state);
  return h;
}

std::vector<std::int64_t> JointHistogram::integers() const {
  std::vector<std::int64_t> result(counts_.begin(), counts_.end());
  result.push_back(static_cast<std::int64_t>(outside_));
  result.push_back(static_cast<std::int64_t>(nan_));
  return result;
}

JointHistogram JointHistogram::with_integers(std::span<const std::int64_t> integers) const {
  const std::size_t joint_bins = counts_.size();
  check_integers("JointHistogram", joint_bins + joint_extra_bins, integers);
  JointHistogram h = *this;
  std::copy_n(integers.begin(), joint_bins, h.counts_.begin());
  h.outside_ = static_cast<std::uint64_t>(integers[joint_bins]);
  h.nan_ = static_cast<std::uint64_t>(integers[joint_bins + 1]);
  return h;
}

struct JointHistogramAccumulator::State {
  Device device;
  Dtype dtype;
  std::vector<std::shared_ptr<const BinRule>> rules;
  HistogramOptions options;
  std::uint64_t joint_bins = 1;
  std::vector<std::uint64_t> totals;  // the joint bins, outside, nan
  std::unique_ptr<cpu::JointCounter> here;
  std::unique_ptr<DeviceCounter> counter;
  Times times;

  template <class Count>
  void count_here(const Count& count) {
    const double start = call::now();
    count();
    times.compute += call::now() - start;
  }
};

JointHistogramAccumulator::JointHistogramAccumulator(const Device& device, Dtype dtype, std::span<const Bins> bins,
                                                     const HistogramOptions& options) {
  state_ = std::make_unique<State>(
      State{device, dtype, checked_joint_rules(dtype, bins, options), options, 1, {}, nullptr, nullptr, {}});
  State& s = *state_;
  s.joint_bins = joint_bin_count(s.rules);
  const std::uint64_t bytes = (2 * s.joint_bins + joint_extra_bins) * sizeof(std::uint64_t);
  check_memory(name, s.joint_bins, bytes);
  if (!call::on_cpu(device)) {
    const auto kernels = [&](const TableUpload& upload) {
      return std::make_unique<JointKernels>(device, s.rules, options, upload);
    };
    s.counter = std::make_unique<DeviceCounter>(device, kernels, options.memory / 2, options.workspace);
    return;
  }
  try {
    s.totals.resize(s.joint_bins + joint_extra_bins);
  } catch (const std::bad_alloc&) {
    no_memory(name, s.joint_bins, bytes);
  }
  s.here = std::make_unique<cpu::JointCounter>(s.rules, options.outside == Outside::clamp, options.strategy, s.totals);
}

JointHistogramAccumulator::JointHistogramAccumulator(JointHistogramAccumulator&&) noexcept = default;
JointHistogramAccumulator& JointHistogramAccumulator::operator=(JointHistogramAccumulator&&) noexcept = default;
JointHistogramAccumulator::~JointHistogramAccumulator() = default;

void JointHistogramAccumulator::add(std::span<const ArrayView> columns) {
  State& s = *state_;
  check_columns(name, s.rules.size(), columns.size());
  for (const ArrayView& column : columns) {
    call::check_dtype(name, s.dtype, column.dtype);
    check_lengths(name, columns.front().count, column.count);
  }
  if (columns.front().count == 0) return;
  if (s.counter) return s.counter->add(columns);
  s.count_here([&] { s.here->add(columns); });
}

void JointHistogramAccumulator::add_interleaved(const ArrayView& points) {
  State& s = *state_;
  call::check_dtype(name, s.dtype, points.dtype);
  const std::size_t columns = s.rules.size();
  if (points.count % columns != 0) {
    invalid(fmt::format("{} columns must divide the elements, got {}", columns, points.count));
  }
  if (points.count == 0) return;
  if (!s.counter) return s.count_here([&] { s.here->add_interleaved(points); });
  each_columns(points, columns,
               [&](std::span<const ArrayView> views, std::uint64_t /*first*/) { s.counter->add(views); });
}

void JointHistogramAccumulator::add_buffers(std::span<const BufferBase* const> columns, Dtype dtype, Stream* stream) {
  State& s = *state_;
  check_columns(name, s.rules.size(), columns.size());
  call::check_dtype(name, s.dtype, dtype);
  const std::uint64_t count = checked_length(name, s.device, stream, columns, dtype);
  if (count == 0) return;
  if (s.counter) return s.counter->add(columns, count, stream);
  std::vector<ArrayView> views;
  for (const BufferBase* column : columns) views.push_back(call::host_view(*column, dtype));
  s.count_here([&] { s.here->add(views); });
}

JointHistogram JointHistogramAccumulator::result() const try {
  const State& s = *state_;
  JointHistogram result;
  result.counts_ = s.counter ? s.counter->totals() : s.totals;
  result.nan_ = result.counts_.back();
  result.outside_ = result.counts_[s.joint_bins];
  result.counts_.resize(s.joint_bins);
  result.dtype_ = s.dtype;
  result.strategy_ = s.counter ? s.counter->strategy() : s.here->strategy();
  result.rules_ = s.rules;
  return result;
} catch (const std::bad_alloc&) {
  no_memory(name, state_->joint_bins, state_->joint_bins * sizeof(std::uint64_t));
}

Times JointHistogramAccumulator::times() const {
  return state_->counter ? state_->counter->times() : state_->times;
}

JointHistogram joint_histogram(const Device& device, std::span<const ArrayView> columns, std::span<const Bins> bins,
                               const HistogramOptions& options) {
  check_dimensions(columns.size());
  check_columns(name, bins.size(), columns.size());
  std::vector<Bins> definite;
  for (std::size_t d = 0; d < bins.size(); ++d) definite.push_back(definite_bins(device, columns[d], bins[d]));
  JointHistogramAccumulator accumulator(device, columns.front().dtype, definite, options);
  accumulator.add(columns);
  return accumulator.result();
}

JointHistogram joint_histogram(std::span<const BufferBase* const> columns, Dtype dtype, std::span<const Bins> bins,
                               const HistogramOptions& options) {
  check_dimensions(columns.size());
  check_columns(name, bins.size(), columns.size());
  std::vector<Bins> definite;
  for (std::size_t d = 0; d < bins.size(); ++d) definite.push_back(definite_bins(*columns[d], dtype, bins[d]));
  JointHistogramAccumulator accumulator(columns.front()->device(), dtype, definite, options);
  accumulator.add_buffers(columns, dtype);
  return accumulator.result();
}

}  // namespace masu
