// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_job.h"

#include "cli/groups/grouped_table.h"
#include "cli/verify/references.h"
#include "program.h"
#include "ranks.h"
#include "runtime/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace masu::cli {
namespace {

struct CounterRequest {
  const Device& device;
  const HistogramInput& input;
  HistogramOptions options;  // the channels too
  std::vector<Bins> bins;    // one a column
  Bounds bounds;             // what is known of the values
  bool summaries = false;
};

// Counts pieces of the data, and counts them again by the plain reference where that is asked: one shape each for
// channels, groups, rows, columns together, and weights.
class Counter {
 public:
  explicit Counter(CounterRequest request) : request_(std::move(request)) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  virtual ~Counter() = default;
  virtual void add(std::span<const ArrayView> piece) = 0;
  // Makes the reference, which gets the same pieces.
  virtual void start_reference() {}
  virtual void add_reference(std::span<const ArrayView> /*piece*/) {}
  // Puts the counts into the result: this rank's.
  virtual void finish(HistogramResult& result) = 0;
  // Makes them those of all ranks; the table's range and mean too.
  virtual void share(HistogramResult& /*result*/) {}
  // Throws Differs where the reference counted otherwise.
  virtual void compare(const HistogramResult& result) const = 0;
  [[nodiscard]] virtual Times times() const = 0;

 protected:
  [[nodiscard]] const std::string& name() const { return request_.input.info.name; }
  [[nodiscard]] Dtype dtype() const { return request_.input.info.dtype; }
  [[nodiscard]] ReferenceSlots slots(bool joint) const {
    return {dtype(), request_.bins, request_.options.right_open, request_.options.outside, joint};
  }
  // The values of one of the rows.
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
  // Whether every bin holds one integer value.
  [[nodiscard]] bool one_value(const Histogram& first) const {
    return one_value_per_bin(first, request_.bins.front().kind(), half_open(), request_.bounds);
  }
  // Whether the last bin does not hold its upper edge.
  [[nodiscard]] bool half_open() const {
    return request_.options.right_open || request_.bins.front().kind() == Bins::Kind::integers;
  }
  void compare_block(const std::string& where, const HistogramResult::Block& got,
                     std::span<const std::uint64_t> expected, bool joint) const {
    const std::span<const std::uint64_t> beside = expected.last(3);
    for (std::size_t i = 0; i < got.counts.size(); ++i) {
      if (got.counts[i] != expected[i]) check_count(where, fmt::format("bin {}", i), got.counts[i], expected[i]);
    }
    check_count(where, joint ? "outside" : "below", got.below, beside[0] + (joint ? beside[1] : 0));
    if (!joint) check_count(where, "above", got.above, beside[1]);
    check_count(where, "nan", got.nan, beside[2]);
  }
  CounterRequest request_;
};

// Without weights.
template <class Accumulator>
class CountCounter : public Counter {
 public:
  // As SlotReference has them.
  CountCounter(const CounterRequest& request, Accumulator accumulator, bool joint = false, std::uint64_t rows = 1,
               std::uint64_t row_values = 0)
      : Counter(request),
        accumulator_(std::move(accumulator)),
        joint_(joint),
        rows_of_reference_(rows),
        row_values_(row_values) {}
  void start_reference() final {
    reference_.emplace(slots(joint_), rows_of_reference_, row_values_, request_.options.channels);
  }
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
  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 protected:
  Accumulator accumulator_;

 private:
  bool joint_;
  std::uint64_t rows_of_reference_;
  std::uint64_t row_values_;
  std::optional<SlotReference<std::uint64_t>> reference_;
};

class ChannelCounter final : public CountCounter<HistogramAccumulator> {
 public:
  explicit ChannelCounter(const CounterRequest& request)
      : CountCounter(request, {request.device, request.input.info.dtype, request.bins.front(), request.options}) {
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

 private:
  bool from_counts_ = false;  // whether range and mean follow from the counts: every value has its own bin
  std::vector<Summary> summaries_;
};

// --group: a histogram for each group.
class GroupCounter final : public Counter {
 public:
  GroupCounter(const CounterRequest& request, const GroupedTable& table) : Counter(request), table_(table) {}

  void add(std::span<const ArrayView> /*piece*/) override {}  // the table has them all
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
class RowCounter final : public CountCounter<RowHistogramAccumulator> {
 public:
  // `mine` of all `rows` are this rank's; `values` is the number of all values.
  RowCounter(const CounterRequest& request, std::uint64_t rows, std::uint64_t mine, std::uint64_t values)
      : CountCounter(request, make(request, std::max<std::uint64_t>(mine, 1), checked_row(request, rows, values)),
                     false, std::max<std::uint64_t>(mine, 1), values / rows),
        rows_(rows),
        mine_(mine),
        row_elements_(values / rows) {}

  void add(std::span<const ArrayView> piece) override { accumulator_.add(piece.front()); }
  void finish(HistogramResult& result) override { result.rows = accumulator_.result(); }
  void share(HistogramResult& result) override {
    if (ranks().several()) join(*result.rows);
    result.first_row = result.rows->histogram(0);
  }

 private:
  static RowHistogramAccumulator make(const CounterRequest& request, std::uint64_t rows, std::uint64_t row_elements) {
    return {request.device, request.input.info.dtype, request.bins.front(), rows, row_elements, request.options};
  }
  // All rows, of which this rank's are some.
  void join(RowHistograms& result) const {
    const unsigned channels = request_.options.channels;
    const RowHistograms none = make(request_, rows_, row_elements_).result();
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
};

// --joint: how many points fall into each joint bin.
class JointCounter final : public CountCounter<JointHistogramAccumulator> {
 public:
  explicit JointCounter(const CounterRequest& request)
      : CountCounter(request, {request.device, request.input.info.dtype, request.bins, request.options}, true) {}

  void add(std::span<const ArrayView> piece) override {
    if (piece.size() == request_.bins.size()) accumulator_.add(piece);
    else accumulator_.add_interleaved(piece.front());
  }
  void finish(HistogramResult& result) override { result.joint = accumulator_.result(); }
  void share(HistogramResult& result) override {
    result.joint = result.joint->with_integers(sum_of_ranks(result.joint->integers()));
  }
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
        row_elements_(checked_row(request, options_.rows, values / request.bins.size())),
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

class Run {
 public:
  Run(const HistogramJob& job, std::span<const std::string> inputs, Progress& progress)
      : job_(job),
        progress_(progress),
        input_(open_histogram_input(job, inputs)),
        opening_(since(began_)),
        share_(input_.share(job)),
        device_(device_of_rank(job.device, Work::reading, input_.bytes().value_or(0))),
        pieces_(input_.sources, input_.channels, chunk_bytes(device_, input_.sources.size(), job.memory), progress,
                weighted()),
        finders_(bins_finders(requests_of(job, input_.info), input_.columns, input_.info, device_)) {
    options_ = job.options;
    options_.channels = job.joint ? 1 : input_.channels;
    options_.memory = job.memory.value_or(0);
    if (job.plot && input_.columns > 2) {
      usage_error("--plot draws joint histograms of 1 or 2 columns, {} has {}", input_.info.name, input_.columns);
    }
  }

  HistogramResult operator()() {
    std::unique_ptr<Counter> counter;
    // Where it can be made now, it refuses what cannot work before any reading.
    if (!want_data(finders_) && (!job_.rows || share_.values)) counter = counter_of_job();
    look_at_the_data();
    if (!counter) counter = counter_of_job();
    if (job_.verify) counter->start_reference();
    if (job_.picture != MappedPicture::none) input_.sources.front()->keep_for_rewind();

    HistogramResult result;
    double verifying = 0;
    progress_.start("histogram", input_.bytes());
    for (auto piece = pieces_.next(); piece.front().count > 0; piece = pieces_.next()) {
      counter->add(piece);
      for (const ArrayView& each : piece) result.bytes += each.count * size_of(each.dtype);
      if (!job_.verify) continue;
      const auto start = Clock::now();
      counter->add_reference(piece);
      verifying += since(start);
    }
    counter->finish(result);
    if (job_.picture != MappedPicture::none) {
      pieces_.rewind();
      progress_.start("picture", input_.bytes());
      result.picture = mapped_picture(job_, input_, result.channels, [&] { return pieces_.next().front(); });
    }
    progress_.finish();
    const Times times = counter->times();
    if (job_.verify) counter->compare(result);
    counter->share(result);
    result.bytes = ranks().sum("histogram", result.bytes);
    if (result.bytes == 0 && input_.info.format == "text" && !job_.weights) {
      data_error("{}: has no number", input_.info.name);
    }
    result.source = input_.info;
    result.source.notes = input_.notes();
    if (job_.picture != MappedPicture::none)  // and no option reads it
      std::ranges::replace(result.source.notes, "alpha is left out (--alpha reads it)", "alpha is left out");
    result.device = device_.id();
    result.names = input_.names;
    if (job_.weights) result.weights = input_.sources.back()->info().name;
    result.by_rows = job_.rows.has_value();
    for (const BinsFinder& finder : finders_) result.column_edge_dtypes.push_back(finder.edge_dtype(job_.joint));
    result.edge_dtype = result.column_edge_dtypes.front();
    result.seconds = {opening_ + pieces_.seconds(), times.transfer, finding_ + times.compute,
                      since(began_) - verifying};
    result.texts = input_.texts();
    if (job_.table == nullptr) return result;
    for (std::uint64_t group = 0; group < job_.table->groups(); ++group)
      result.names.push_back(job_.table->title(group));
    result.texts.front().second = job_.table->report();
    const Seconds before = job_.table->seconds({});
    result.seconds.read += before.read;
    result.seconds.total += before.read;
    return result;
  }

 private:
  [[nodiscard]] std::optional<Pieces::Weighted> weighted() const {
    if (!input_.weighted) return std::nullopt;
    return Pieces::Weighted{input_.sources.size() == 2 ? input_.columns : 1, input_.info.name};
  }
  // The passes before the one that counts: for bins that depend on the data, and for the length where rows need it.
  void look_at_the_data() {
    bool count_values = job_.rows && !share_.values;
    if (!count_values && !want_data(finders_)) return;
    for (const auto& source : input_.sources) source->keep_for_rewind();
    while (count_values || want_data(finders_)) {
      progress_.start("range", input_.bytes());
      std::uint64_t count = 0;
      for (auto piece = pieces_.next(); piece.front().count > 0; piece = pieces_.next()) {
        count += piece.front().count;
        const auto began = Clock::now();
        look_at(finders_, input_.columns_in(piece));
        finding_ += since(began);
      }
      const auto began = Clock::now();
      for (BinsFinder& finder : finders_)
        if (finder.wants_data()) finder.end_pass();
      finding_ += since(began);
      if (count_values) share_.values = ranks().sum("values", count);
      count_values = false;
      pieces_.rewind();
    }
  }
  [[nodiscard]] std::unique_ptr<Counter> counter_of_job() const {
    CounterRequest request{device_, input_, options_, {}, dtype_bounds(input_.info.dtype), job_.summaries};
    for (const BinsFinder& finder : finders_) request.bins.push_back(finder.bins());
    if (const auto& range = finders_.front().range(); range && !is_float(input_.info.dtype)) {
      request.bounds = {range->lo, range->hi};
    }
    const std::uint64_t values = share_.values.value_or(0);
    if (job_.weights) return std::make_unique<WeightedCounter>(request, job_.weights->variances, job_.rows, values);
    if (job_.joint) return std::make_unique<JointCounter>(request);
    if (job_.table != nullptr) return std::make_unique<GroupCounter>(request, *job_.table);
    if (job_.rows) return std::make_unique<RowCounter>(request, *job_.rows, share_.rows, values);
    return std::make_unique<ChannelCounter>(request);
  }

  Clock::time_point began_ = Clock::now();
  const HistogramJob& job_;
  Progress& progress_;
  HistogramInput input_;
  double opening_;  // seconds: a text is parsed then
  HistogramInput::Share share_;
  Device device_;
  Pieces pieces_;
  HistogramOptions options_;
  std::vector<BinsFinder> finders_;  // of the columns
  double finding_ = 0;               // seconds
};

}  // namespace

HistogramResult run_histogram(const HistogramJob& job, std::span<const std::string> inputs, Progress& progress) {
  return Run(job, inputs, progress)();
}

}  // namespace masu::cli
