// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/counters.h"

#include "cli/groups/grouped_table.h"
#include "program.h"
#include "ranks.h"
#include "runtime/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace masu::cli {
namespace {

// Without weights.
class CountCounter : public Counter {
 public:
  // As SlotReference has them.
  explicit CountCounter(CounterRequest request, bool joint = false, std::uint64_t rows = 1,
                        std::uint64_t row_values = 0)
      : Counter(std::move(request)), joint_(joint), rows_(rows), row_values_(row_values) {}
  void start_reference() final { reference_.emplace(slots(joint_), rows_, row_values_, request_.options.channels); }
  void add_reference(std::span<const ArrayView> piece) final {
    reference_->add(piece, [](std::uint64_t& count) { ++count; });
  }
  void compare(const HistogramResult& result) const final {
    const unsigned channels = request_.options.channels;
    for (std::uint64_t i = 0; i < reference_->blocks(); ++i) {
      std::string where = name();
      if (result.rows) where += fmt::format(": row {}, channel {}", i / channels, i % channels);
      else if (!joint_) where += fmt::format(": channel {}", i);
      const HistogramResult::Block got = result.block(i / channels, static_cast<unsigned>(i % channels));
      compare_block(where, got, reference_->block(i), joint_);
    }
  }

 private:
  bool joint_;
  std::uint64_t rows_;
  std::uint64_t row_values_;
  std::optional<SlotReference<std::uint64_t>> reference_;
};

class ChannelCounter final : public CountCounter {
 public:
  explicit ChannelCounter(const CounterRequest& request)
      : CountCounter(request), accumulator_(request.device, dtype(), request.bins.front(), request.options) {
    if (!request.summaries) return;
    for (unsigned c = 0; c < request.options.channels; ++c) summaries_.emplace_back(dtype());
    const Histogram first = std::move(accumulator_.result().front());
    from_counts_ =
        one_value(first) && first.edge(0) <= request.bounds.least && first.edge(first.size()) > request.bounds.greatest;
  }

  void add(std::span<const ArrayView> piece) override {
    accumulator_.add(piece.front());
    runtime::parallel_tasks(from_counts_ ? 0 : summaries_.size(), [&](std::uint64_t c) {
      summaries_[c].add(piece.front(), static_cast<unsigned>(c), request_.options.channels);
    });
  }
  void finish(HistogramResult& result) override { result.channels = accumulator_.result(); }
  void share(HistogramResult& result) override {
    for (Histogram& channel : result.channels) channel = channel.with_integers(sum_of_ranks(channel.integers()));
    result.one_value = one_value(result.channels.front());
    result.half_open = half_open();
    for (unsigned c = 0; c < summaries_.size(); ++c) {
      if (from_counts_) summaries_[c].finish(result.channels[c]);
      else summaries_[c].finish();
    }
    result.summaries = std::move(summaries_);
  }
  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 private:
  HistogramAccumulator accumulator_;
  bool from_counts_ = false;  // whether range and mean follow from the counts: every value has its own bin
  std::vector<Summary> summaries_;
};

// --group: a histogram for each group.
class GroupCounter final : public Counter {
 public:
  GroupCounter(const CounterRequest& request, const GroupedTable& table) : Counter(request), table_(table) {}

  // The table has them all.
  void add(std::span<const ArrayView> /*piece*/) override {}
  void start_reference() override {}
  void add_reference(std::span<const ArrayView> /*piece*/) override {}
  void finish(HistogramResult& result) override {
    const auto began = Clock::now();
    refuse_too_many();
    table_.each(
        [&](std::uint64_t group) {
          return histogram(request_.device, table_.values().view(group), request_.bins.front(), request_.options);
        },
        [&](std::uint64_t group, Histogram found) {
          result.channels.push_back(std::move(found));
          std::vector<std::string>& entries = result.groups.emplace_back();
          for (std::size_t i = 0; i < table_.names().size(); ++i) entries.emplace_back(table_.entry(group, i));
          if (!request_.summaries || group >= most_groups_shown) return;
          Summary& summary = result.summaries.emplace_back(dtype());
          summary.add(table_.values().view(group), 0, 1);
          summary.finish();
        });
    times_.compute = since(began);
    result.group_names = table_.names();
    result.one_value = !result.channels.empty() && one_value(result.channels.front());
    result.half_open = half_open();
  }
  void share(HistogramResult& /*result*/) override {}
  void compare(const HistogramResult& result) const override {
    for (std::uint64_t group = 0; group < table_.groups(); ++group) {
      const ArrayView values = table_.values().view(group);
      SlotReference<std::uint64_t> reference(slots(false), 1, 0, 1);
      reference.add({&values, 1}, [](std::uint64_t& count) { ++count; });
      compare_block(fmt::format("{}: group {}", name(), table_.title(group)),
                    result.block(0, static_cast<unsigned>(group)), reference.block(0), false);
    }
  }
  [[nodiscard]] Times times() const override { return times_; }

 private:
  // All counts are held until they are written.
  void refuse_too_many() const {
    const std::uint64_t bins =
        histogram(request_.device, ArrayView(dtype(), nullptr, 0), request_.bins.front(), request_.options).size();
    if (bins <= table_.memory() / sizeof(std::uint64_t) / table_.groups()) return;
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: {} groups of {} bins need more than the {} KiB that --group may take (--memory)",
                            name(), table_.groups(), bins, table_.memory() >> 10U));
  }

  const GroupedTable& table_;
  Times times_;
};

// --rows: a histogram for each of many equal blocks of an input.
class RowCounter final : public CountCounter {
 public:
  // `mine` of all `rows` are this rank's; `values` is the number of all values.
  RowCounter(const CounterRequest& request, std::uint64_t rows, std::uint64_t mine, std::uint64_t values)
      : CountCounter(request, false, std::max<std::uint64_t>(mine, 1), checked_row(request, rows, values)),
        rows_(rows),
        mine_(mine),
        row_elements_(values / rows),
        accumulator_(make(std::max<std::uint64_t>(mine, 1))) {}

  void add(std::span<const ArrayView> piece) override { accumulator_.add(piece.front()); }
  void finish(HistogramResult& result) override { result.rows = accumulator_.result(); }
  void share(HistogramResult& result) override {
    if (ranks().several()) join(*result.rows);
    result.first_row = result.rows->histogram(0);
  }
  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 private:
  static std::uint64_t checked_row(const CounterRequest& request, std::uint64_t rows, std::uint64_t values) {
    const std::string& name = request.input.info.name;
    const unsigned channels = request.options.channels;
    if (values / channels % rows != 0 || values % channels != 0) {
      usage_error(channels == 1 ? fmt::format("--rows {} must divide the {} values of {}", rows, values, name)
                                : fmt::format("--rows {} must divide the {} values of each of the {} channels of {}",
                                              rows, values / channels, channels, name));
    }
    return values / rows;
  }
  [[nodiscard]] RowHistogramAccumulator make(std::uint64_t rows) const {
    return {request_.device, dtype(), request_.bins.front(), rows, row_elements_, request_.options};
  }
  // All rows, of which this rank's are some.
  void join(RowHistograms& result) const {
    const unsigned channels = request_.options.channels;
    const RowHistograms none = make(rows_).result();
    const std::uint64_t before = ranks().before("rows", mine_);
    const std::vector<std::int64_t> part = result.integers();
    std::vector<std::int64_t> all(none.counts().size() + rows_ * channels * 3);
    // The counts of the rows, and then what lies outside of each.
    const auto place = [&](std::uint64_t from, std::uint64_t to, std::uint64_t a_row) {
      std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(from), mine_ * a_row,
                  all.begin() + static_cast<std::ptrdiff_t>(to + before * a_row));
    };
    place(0, 0, channels * none.size());
    place(result.counts().size(), none.counts().size(), std::uint64_t{channels} * 3);
    result = none.with_integers(sum_of_ranks(std::move(all)));
  }

  std::uint64_t rows_;
  std::uint64_t mine_;
  std::uint64_t row_elements_;
  RowHistogramAccumulator accumulator_;
};

// --joint: how many points fall into each joint bin.
class JointCounter final : public CountCounter {
 public:
  explicit JointCounter(const CounterRequest& request)
      : CountCounter(request, true), accumulator_(request.device, dtype(), request.bins, request.options) {}

  void add(std::span<const ArrayView> piece) override {
    if (piece.size() == request_.bins.size()) accumulator_.add(piece);
    else accumulator_.add_interleaved(piece.front());
  }
  void finish(HistogramResult& result) override { result.joint = accumulator_.result(); }
  void share(HistogramResult& result) override {
    result.joint = result.joint->with_integers(sum_of_ranks(result.joint->integers()));
  }
  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 private:
  JointHistogramAccumulator accumulator_;
};

// --weights: the exact sum of the weights in each bin.
class WeightedCounter final : public Counter {
 public:
  // `values`: the number of all values, where it is known. It is where there are rows.
  WeightedCounter(const CounterRequest& request, bool variances, const std::optional<std::uint64_t>& rows,
                  std::uint64_t values)
      : Counter(request),
        options_{.right_open = request.options.right_open,
                 .outside = request.options.outside,
                 .variances = variances,
                 .rows = rows.value_or(1),
                 .memory = request.options.memory},
        by_rows_(rows.has_value()),
        row_elements_(checked_row(values / request.bins.size())),
        accumulator_(request.device, dtype(), request.input.sources.back()->info().dtype, request.bins, options_,
                     row_elements_) {}

  void add(std::span<const ArrayView> piece) override {
    const std::span<const ArrayView> columns = piece.first(piece.size() - 1);
    if (columns.size() == request_.bins.size()) accumulator_.add(columns, piece.back());
    else accumulator_.add_interleaved(columns.front(), piece.back());
  }

  void start_reference() override {
    reference_.emplace(slots(request_.bins.size() > 1), options_.rows, by_rows_ ? row_elements_ : 0, 1);
  }
  void add_reference(std::span<const ArrayView> piece) override {
    const std::byte* weight = element_at(piece.back(), 0);
    reference_->add(piece.first(piece.size() - 1), [&](ExactSum& sum) {
      sum.add(ArrayView(piece.back().dtype, weight, 1));
      weight += size_of(piece.back().dtype);
    });
  }

  // The part of one rank may not fit where the total of several ranks does: only the reference needs it.
  void finish(HistogramResult& result) override {
    if (reference_ || !ranks().several()) take(result);
  }
  void share(HistogramResult& result) override {
    if (!ranks().several()) return;
    merge_states("weighted histogram", accumulator_, request_.device);
    take(result);
  }
  void compare(const HistogramResult& result) const override {
    const WeightedHistogram& found = *result.weighted;
    const bool joint = request_.bins.size() > 1;
    for (std::uint64_t row = 0; row < found.rows(); ++row) {
      const std::span<const ExactSum> sums = reference_->block(row);
      const std::span<const ExactSum> beside = sums.last(3);
      const auto check = [&](const std::string& what, double got, const ExactSum& expected) {
        if (std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(expected.sum())) return;
        differs("{}, row {}, {}: the total is {}, that of the reference {}", name(), row, what, got, expected.sum());
      };
      const std::span<const double> totals = found.totals(row);
      for (std::size_t bin = 0; bin < totals.size(); ++bin) check(fmt::format("bin {}", bin), totals[bin], sums[bin]);
      check(joint ? "outside" : "below", joint ? found.outside(row) : found.below(row), beside[0]);
      if (!joint) check("above", found.above(row), beside[1]);
      check("nan", found.nan(row), beside[2]);
    }
  }

  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 private:
  [[nodiscard]] std::uint64_t checked_row(std::uint64_t points) const {
    if (by_rows_ && points % options_.rows != 0) {
      usage_error("--rows {} must divide the {} values of {}", options_.rows, points, name());
    }
    return points / options_.rows;
  }
  // A total that does not fit is no wrong use.
  void take(HistogramResult& result) const {
    result.weighted = with_data(name(), [&] { return accumulator_.result(); });
  }

  WeightedOptions options_;
  bool by_rows_;
  std::uint64_t row_elements_;
  WeightedHistogramAccumulator accumulator_;
  std::optional<SlotReference<ExactSum>> reference_;
};

}  // namespace

std::unique_ptr<Counter> make_counter(const CounterRequest& request, const HistogramJob& job, CounterRows rows) {
  if (job.weights) return std::make_unique<WeightedCounter>(request, job.weights->variances, job.rows, rows.values);
  if (job.joint) return std::make_unique<JointCounter>(request);
  if (job.table != nullptr) return std::make_unique<GroupCounter>(request, *job.table);
  if (job.rows) return std::make_unique<RowCounter>(request, *job.rows, rows.before, rows.values);
  return std::make_unique<ChannelCounter>(request);
}

}  // namespace masu::cli
