// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_job.h"

#include "cli/verify/references.h"
#include "program.h"
#include "ranks.h"
#include "runtime/parallel.h"

#include <fmt/format.h>

#include <algorithm>

namespace masu::cli {
namespace {

// The four shapes of a histogram, with one interface: channels, rows, columns together, and with weights.

// Counts pieces of the data, and counts them again by the plain reference where that is asked.
class Counter {
 public:
  Counter() = default;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  virtual ~Counter() = default;
  virtual void add(std::span<const ArrayView> piece) = 0;
  // The same for the reference, which `start_reference` makes; the table's range and mean too.
  virtual void start_reference() = 0;
  virtual void add_reference(std::span<const ArrayView> piece) = 0;
  // Puts the counts into the result: this rank's.
  virtual void finish(HistogramResult& result) = 0;
  // Makes them those of all ranks.
  virtual void share(HistogramResult& result) = 0;
  // Throws Differs where the reference counted otherwise.
  virtual void compare(const HistogramResult& result) const = 0;
  [[nodiscard]] virtual Times times() const = 0;
};

struct CounterRequest {
  const Device& device;
  const HistogramInput& input;
  HistogramOptions options;  // the channels too
  std::vector<Bins> bins;    // one a column
  Bounds bounds;             // what is known of the values
  bool summaries = false;
};

// What the plain reference counts of channels, in blocks: one of each channel, or of each row and channel.
class BlockReference {
 public:
  explicit BlockReference(const CounterRequest& request)
      : half_open_(request.options.right_open || request.bins.front().kind() == Bins::Kind::integers),
        outside_(request.options.outside),
        half_(
            reference::half_even(BinRule(request.bins.front(), request.input.info.dtype, request.options.right_open))) {
  }

  [[nodiscard]] bool half_open() const noexcept { return half_open_; }
  void start(std::vector<double> edges, std::uint64_t bins, std::uint64_t blocks) {
    edges_ = std::move(edges);
    expected_.resize(blocks);
    for (reference::Counts& counts : expected_) counts.counts.resize(bins);
  }
  // To the `blocks` from number `first` on.
  void add(const ArrayView& data, std::uint64_t first, std::uint64_t blocks) {
    reference::histogram(data, edges_, half_open_, outside_, std::span(expected_).subspan(first, blocks), half_);
  }
  template <class Name>
  void compare(const HistogramResult& result, unsigned channels, const Name& name) const {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const HistogramResult::Block got = result.block(i / channels, static_cast<unsigned>(i % channels));
      const std::string where = name(i);
      check_counts(where, got.counts, expected_[i].counts);
      check_count(where, "below", got.below, expected_[i].below);
      check_count(where, "above", got.above, expected_[i].above);
      check_count(where, "nan", got.nan, expected_[i].nan);
    }
  }

 private:
  bool half_open_;
  Outside outside_;
  std::optional<reference::HalfEven> half_;
  std::vector<double> edges_;
  std::vector<reference::Counts> expected_;
};

class ChannelCounter final : public Counter {
 public:
  explicit ChannelCounter(const CounterRequest& request)
      : accumulator_(request.device, request.input.info.dtype, request.bins.front(), request.options),
        channels_(request.options.channels),
        name_(request.input.info.name),
        reference_(request) {
    if (!request.summaries) return;
    for (unsigned c = 0; c < channels_; ++c) summaries_.emplace_back(request.input.info.dtype);
    const Histogram first = std::move(accumulator_.result().front());
    one_value_ = one_value_per_bin(first, request.bins.front().kind(), reference_.half_open(), request.bounds);
    from_counts_ =
        one_value_ && first.edge(0) <= request.bounds.least && first.edge(first.size()) > request.bounds.greatest;
  }

  void add(std::span<const ArrayView> piece) override {
    accumulator_.add(piece.front());
    runtime::parallel_tasks(from_counts_ ? 0 : summaries_.size(), [&](std::uint64_t c) {
      summaries_[c].add(piece.front(), static_cast<unsigned>(c), channels_);
    });
  }

  void start_reference() override {
    const Histogram empty = std::move(accumulator_.result().front());
    reference_.start(empty.edges(), empty.size(), channels_);
  }
  void add_reference(std::span<const ArrayView> piece) override { reference_.add(piece.front(), 0, channels_); }

  void finish(HistogramResult& result) override { result.channels = accumulator_.result(); }

  void share(HistogramResult& result) override {
    for (Histogram& channel : result.channels) channel = channel.with_integers(sum_of_ranks(channel.integers()));
    result.one_value = one_value_;
    for (unsigned c = 0; c < summaries_.size(); ++c) {
      if (from_counts_) summaries_[c].finish(result.channels[c]);
      else summaries_[c].finish();
    }
    result.summaries = std::move(summaries_);
  }

  void compare(const HistogramResult& result) const override {
    reference_.compare(result, channels_, [&](std::size_t c) { return fmt::format("{}: channel {}", name_, c); });
  }

  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 private:
  HistogramAccumulator accumulator_;
  unsigned channels_;
  std::string name_;
  BlockReference reference_;
  bool one_value_ = false;
  bool from_counts_ = false;  // whether range and mean follow from the counts: every value has its own bin
  std::vector<Summary> summaries_;
};

// --rows: a histogram for each of many equal blocks of an input.
class RowCounter final : public Counter {
 public:
  // `mine` of all `rows` are this rank's; `values` is the number of all values.
  RowCounter(const CounterRequest& request, std::uint64_t rows, std::uint64_t mine, std::uint64_t values)
      : device_(request.device),
        bins_(request.bins.front()),
        rows_(rows),
        mine_(mine),
        row_elements_(checked_row(request, rows, values)),
        accumulator_(make(std::max<std::uint64_t>(mine, 1), request.input.info.dtype, request.options)),
        options_(request.options),
        name_(request.input.info.name),
        reference_(request) {}

  void add(std::span<const ArrayView> piece) override { accumulator_.add(piece.front()); }

  void start_reference() override {
    const RowHistograms empty = accumulator_.result();
    reference_.start(empty.edges(), empty.size(), empty.rows() * empty.channels());
  }

  void add_reference(std::span<const ArrayView> piece) override {
    ArrayView rest = piece.front();
    while (rest.count > 0) {
      const std::uint64_t row = position_ / row_elements_;
      const std::uint64_t count = std::min(rest.count, row_elements_ - position_ % row_elements_);
      reference_.add({rest.dtype, rest.data, count}, row * options_.channels, options_.channels);
      rest = part_of(rest, count, rest.count - count);
      position_ += count;
    }
  }

  void finish(HistogramResult& result) override { result.rows = accumulator_.result(); }

  void share(HistogramResult& result) override {
    if (ranks().several()) join(*result.rows);
    result.first_row = result.rows->histogram(0);
  }

  void compare(const HistogramResult& result) const override {
    reference_.compare(result, options_.channels, [&](std::size_t i) {
      return fmt::format("{}: row {}, channel {}", name_, i / options_.channels, i % options_.channels);
    });
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
  RowHistogramAccumulator make(std::uint64_t rows, Dtype dtype, const HistogramOptions& options) const {
    return {device_, dtype, bins_, rows, row_elements_, options};
  }
  // All rows, of which this rank's are some.
  void join(RowHistograms& result) const {
    const RowHistograms none = make(rows_, result.dtype(), options_).result();
    const std::uint64_t before = ranks().before("rows", mine_);
    const std::vector<std::int64_t> part = result.integers();
    std::vector<std::int64_t> all(none.counts().size() + rows_ * options_.channels * 3);
    // The counts of the rows, and then what lies outside of each.
    const auto place = [&](std::uint64_t from, std::uint64_t to, std::uint64_t a_row) {
      std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(from), mine_ * a_row,
                  all.begin() + static_cast<std::ptrdiff_t>(to + before * a_row));
    };
    place(0, 0, options_.channels * none.size());
    place(result.counts().size(), none.counts().size(), options_.channels * 3);
    result = none.with_integers(sum_of_ranks(std::move(all)));
  }

  Device device_;
  Bins bins_;
  std::uint64_t rows_;
  std::uint64_t mine_;
  std::uint64_t row_elements_;
  RowHistogramAccumulator accumulator_;
  HistogramOptions options_;
  std::string name_;
  BlockReference reference_;
  std::uint64_t position_ = 0;  // of the reference in the data
};

// --joint: how many points fall into each joint bin.
class JointCounter final : public Counter {
 public:
  explicit JointCounter(const CounterRequest& request)
      : accumulator_(request.device, request.input.info.dtype, request.bins, request.options),
        name_(request.input.info.name) {
    slots_.outside = request.options.outside;
    for (const Bins& bins : request.bins) {
      slots_.half_open.push_back(request.options.right_open || bins.kind() == Bins::Kind::integers);
    }
  }

  void add(std::span<const ArrayView> piece) override {
    if (piece.size() == 1 && slots_.half_open.size() > 1) accumulator_.add_interleaved(piece.front());
    else accumulator_.add(piece);
  }

  void start_reference() override {
    const JointHistogram empty = accumulator_.result();
    for (unsigned d = 0; d < empty.dimensions(); ++d) slots_.edges.push_back(empty.edges(d));
    expected_.resize(empty.counts().size() + 3);
  }

  void add_reference(std::span<const ArrayView> piece) override {
    slots_.each(piece, [&](std::size_t slot) { ++expected_[slot]; });
  }

  void finish(HistogramResult& result) override { result.joint = accumulator_.result(); }
  void share(HistogramResult& result) override {
    result.joint = result.joint->with_integers(sum_of_ranks(result.joint->integers()));
  }

  void compare(const HistogramResult& result) const override {
    if (expected_.empty()) return;
    const std::span<const std::uint64_t> beside = std::span(expected_).last(3);
    check_counts(name_, result.joint->counts(), expected_);
    check_count(name_, "outside", result.joint->outside(), beside[0] + beside[1]);
    check_count(name_, "nan", result.joint->nan(), beside[2]);
  }

  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 private:
  JointHistogramAccumulator accumulator_;
  std::string name_;
  ReferenceSlots slots_;
  std::vector<std::uint64_t> expected_;  // of the joint bins, and of what lies in none
};

// --weights: the exact sum of the weights in each bin.
class WeightedCounter final : public Counter {
 public:
  // `values`: the number of all values, where it is known. It is where there are rows.
  WeightedCounter(const CounterRequest& request, bool variances, const std::optional<std::uint64_t>& rows,
                  std::uint64_t values)
      : device_(request.device),
        name_(request.input.info.name),
        dtype_(request.input.info.dtype),
        bins_(request.bins),
        options_{.right_open = request.options.right_open,
                 .outside = request.options.outside,
                 .variances = variances,
                 .rows = rows.value_or(1),
                 .memory = request.options.memory},
        by_rows_(rows.has_value()),
        row_elements_(checked_row(values / bins_.size())),
        accumulator_(device_, dtype_, request.input.weights.front()->info().dtype, bins_, options_, row_elements_) {}

  void add(std::span<const ArrayView> piece) override {
    const std::span<const ArrayView> columns = piece.first(piece.size() - 1);
    if (columns.size() == bins_.size()) accumulator_.add(columns, piece.back());
    else accumulator_.add_interleaved(columns.front(), piece.back());
  }

  void start_reference() override { reference_.emplace(dtype_, bins_, options_, by_rows_ ? row_elements_ : 0); }
  void add_reference(std::span<const ArrayView> piece) override {
    reference_->add(piece.first(piece.size() - 1), piece.back());
  }

  // The part of one rank may not fit where the total of several ranks does: only the reference needs it.
  void finish(HistogramResult& result) override {
    if (reference_ || !ranks().several()) take(result);
  }
  void share(HistogramResult& result) override {
    if (!ranks().several()) return;
    merge_states("weighted histogram", accumulator_, device_);
    take(result);
  }
  void compare(const HistogramResult& result) const override { reference_->compare(name_, *result.weighted); }

  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 private:
  [[nodiscard]] std::uint64_t checked_row(std::uint64_t points) const {
    if (by_rows_ && points % options_.rows != 0) {
      usage_error("--rows {} must divide the {} values of {}", options_.rows, points, name_);
    }
    return points / options_.rows;
  }
  // A total that does not fit is no wrong use.
  void take(HistogramResult& result) const {
    result.weighted = with_data(name_, [&] { return accumulator_.result(); });
  }

  Device device_;
  std::string name_;
  Dtype dtype_;
  std::vector<Bins> bins_;
  WeightedOptions options_;
  bool by_rows_;
  std::uint64_t row_elements_;
  WeightedHistogramAccumulator accumulator_;
  std::optional<WeightedReference> reference_;
};

class Run {
 public:
  Run(const HistogramJob& job, std::span<const std::string> inputs, Progress& progress)
      : job_(job),
        progress_(progress),
        input_(open_histogram_input(job, inputs)),
        opening_(since(began_)),
        values_(share_input()),
        device_(device_of_rank(job.device, Work::reading, input_.bytes().value_or(0))),
        points_(input_, bytes_of_pieces(), progress),
        finders_(job.bins, input_.columns, input_.info, device_) {
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
    if (!finders_.wants_data() && (!job_.rows || values_)) counter = make_counter();
    look_at_the_data();
    if (!counter) counter = make_counter();
    if (job_.verify) counter->start_reference();

    HistogramResult result;
    double verifying = 0;
    progress_.start("histogram", input_.bytes());
    for (std::span<const ArrayView> piece = points_.next(); !piece.empty(); piece = points_.next()) {
      counter->add(piece);
      for (const ArrayView& each : piece) result.bytes += each.count * size_of(each.dtype);
      if (!job_.verify) continue;
      const auto start = Clock::now();
      counter->add_reference(piece);
      verifying += since(start);
    }
    counter->finish(result);
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
    result.device = device_.id();
    result.names = input_.names;
    if (job_.weights) result.weights = input_.weights.front()->info().name;
    result.by_rows = job_.rows.has_value();
    result.column_edge_dtypes = finders_.edge_dtypes(job_.joint);
    result.edge_dtype = result.column_edge_dtypes.front();
    result.seconds = {opening_ + points_.seconds(), times.transfer, finding_ + times.compute,
                      since(began_) - verifying};
    result.texts = input_.texts();
    return result;
  }

 private:
  // Gives each rank its part. Returns the number of all values, where it is known or must be.
  std::optional<std::uint64_t> share_input() {
    std::optional<std::uint64_t> values = input_.count();
    if (job_.weights) {
      share_with_weights();
      return values;
    }
    if (ranks().several() && job_.rows && !values)
      values = measure_shared(*input_.sources.front(), input_.ways.front());
    rows_of_rank_ =
        cut_shared(input_.sources, input_.ways, {.multiple = input_.channels, .rows = job_.rows.value_or(0)});
    return values;
  }
  // As many values as weights for each rank; rows are the first rank's.
  void share_with_weights() {
    Way& by = input_.weights_way;
    const bool apart = by == Way::elements && !job_.rows &&
                       std::ranges::all_of(input_.ways, [](Way way) { return way == Way::elements; });
    if (!apart) std::ranges::fill(input_.ways, by = Way::first);
    (void)cut_shared(input_.sources, input_.ways, {.multiple = input_.channels});
    (void)cut_shared(input_.weights, {&by, 1});
  }
  // Weights are read ahead as the values are, so both have a half.
  [[nodiscard]] std::uint64_t bytes_of_pieces() const {
    const std::size_t sources = input_.sources.size() + input_.weights.size();
    return chunk_bytes(device_, sources, job_.memory) / (input_.weights.empty() ? 1 : 2);
  }
  // The passes before the one that counts: for bins that depend on the data, and for the length where rows need it.
  void look_at_the_data() {
    bool count_values = job_.rows && !values_;
    if (!count_values && !finders_.wants_data()) return;
    input_.keep_for_rewind();
    while (count_values || finders_.wants_data()) {
      progress_.start("range", input_.bytes());
      std::uint64_t count = 0;
      for (std::span<const ArrayView> piece = points_.next(); !piece.empty(); piece = points_.next()) {
        count += piece.front().count;
        const auto began = Clock::now();
        finders_.add(piece.first(piece.size() - input_.weights.size()));
        finding_ += since(began);
      }
      const auto began = Clock::now();
      finders_.end_pass();
      finding_ += since(began);
      if (count_values) values_ = ranks().sum("values", count);
      count_values = false;
      points_.rewind();
    }
  }
  [[nodiscard]] std::unique_ptr<Counter> make_counter() const {
    CounterRequest request{device_, input_, options_, finders_.bins(), dtype_bounds(input_.info.dtype), job_.summaries};
    if (const auto& range = finders_.front().range(); range && !is_float(input_.info.dtype)) {
      request.bounds = {range->lo, range->hi};
    }
    if (job_.weights) {
      return std::make_unique<WeightedCounter>(request, job_.weights->variances, job_.rows, values_.value_or(0));
    }
    if (job_.joint) return std::make_unique<JointCounter>(request);
    if (job_.rows) return std::make_unique<RowCounter>(request, *job_.rows, rows_of_rank_, *values_);
    return std::make_unique<ChannelCounter>(request);
  }

  Clock::time_point began_ = Clock::now();
  const HistogramJob& job_;
  Progress& progress_;
  HistogramInput input_;
  double opening_;  // seconds: a text is parsed then
  std::uint64_t rows_of_rank_ = 0;
  std::optional<std::uint64_t> values_;  // their number, where it is known
  Device device_;
  Points points_;
  HistogramOptions options_;
  BinsFinders finders_;
  double finding_ = 0;  // seconds
};

}  // namespace

HistogramResult run_histogram(const HistogramJob& job, std::span<const std::string> inputs, Progress& progress) {
  return Run(job, inputs, progress)();
}

}  // namespace masu::cli
