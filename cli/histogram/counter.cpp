// SPDX-License-Identifier: Apache-2.0
// The three shapes of a histogram: channels, rows, and columns together.
#include "cli/histogram/counter.h"

#include "cli/selftest/references.h"
#include "element_text.h"
#include "ranks.h"

#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>
#include <algorithm>
#include <utility>

namespace masu::cli {
namespace {

class ChannelCounter final : public Counter {
 public:
  explicit ChannelCounter(const CounterRequest& request)
      : accumulator_(request.device, request.input.info.dtype, request.bins.front(), request.options),
        options_(request.options),
        half_open_(options_.right_open || request.bins.front().kind() == Bins::Kind::integers),
        half_(reference::half_even(BinRule(request.bins.front(), request.input.info.dtype, options_.right_open))),
        name_(request.input.info.name) {
    if (!request.summaries) return;
    summaries_.resize(options_.channels);
    const Histogram first = std::move(accumulator_.result().front());
    one_value_ = one_value_per_bin(first, request.bins.front().kind(), half_open_, request.bounds);
    from_counts_ =
        one_value_ && first.edge(0) <= request.bounds.least && first.edge(first.size()) > request.bounds.greatest;
  }

  void add(std::span<const ArrayView> piece) override {
    accumulator_.add(piece.front());
    for (unsigned c = 0; !from_counts_ && c < summaries_.size(); ++c) {
      summaries_[c].add(piece.front(), c, options_.channels);
    }
  }

  void start_reference() override {
    const std::vector<Histogram> empty = accumulator_.result();
    edges_ = empty.front().edges();
    expected_.resize(empty.size());
    for (reference::Counts& counts : expected_) counts.counts.resize(empty.front().size());
  }

  void add_reference(std::span<const ArrayView> piece) override {
    reference::histogram(piece.front(), edges_, half_open_, options_.outside, expected_, half_);
  }

  void finish(HistogramResult& result) override { result.channels = accumulator_.result(); }

  void share(HistogramResult& result) override {
    for (Histogram& channel : result.channels) channel = channel.with_integers(sum_of_ranks(channel.integers()));
    result.one_value = one_value_;
    for (unsigned c = 0; c < summaries_.size(); ++c) {
      if (from_counts_) summaries_[c].add(result.channels[c]);
      else summaries_[c].merge_ranks();
    }
    result.summaries = std::move(summaries_);
  }

  void compare(const HistogramResult& result) const override {
    for (std::size_t c = 0; c < expected_.size(); ++c) {
      const std::string where = fmt::format("{}: channel {}", name_, c);
      check_counts(where, result.channels[c].counts(), expected_[c].counts);
      check_count(where, "below", result.channels[c].below(), expected_[c].below);
      check_count(where, "above", result.channels[c].above(), expected_[c].above);
      check_count(where, "nan", result.channels[c].nan(), expected_[c].nan);
    }
  }

  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 private:
  HistogramAccumulator accumulator_;
  HistogramOptions options_;
  bool half_open_;
  std::optional<reference::HalfEven> half_;
  std::string name_;
  bool one_value_ = false;
  bool from_counts_ = false;  // whether range and mean can be told from the counts: every value has its own bin
  std::vector<Summary> summaries_;
  std::vector<double> edges_;
  std::vector<reference::Counts> expected_;
};

}  // namespace

std::unique_ptr<Counter> count_channels(const CounterRequest& request) {
  return std::make_unique<ChannelCounter>(request);
}

// --rows: a histogram for each of many equal blocks of an input.

namespace {

class RowCounter final : public Counter {
 public:
  RowCounter(const CounterRequest& request, std::uint64_t rows, std::uint64_t mine, std::uint64_t row_elements)
      : device_(request.device),
        bins_(request.bins.front()),
        rows_(rows),
        mine_(mine),
        accumulator_(make(std::max<std::uint64_t>(mine, 1), row_elements, request.input.info.dtype, request.options)),
        options_(request.options),
        half_open_(options_.right_open || request.bins.front().kind() == Bins::Kind::integers),
        half_(reference::half_even(BinRule(request.bins.front(), request.input.info.dtype, options_.right_open))),
        name_(request.input.info.name),
        row_elements_(row_elements) {}

  void add(std::span<const ArrayView> piece) override { accumulator_.add(piece.front()); }

  void start_reference() override {
    const RowHistograms empty = accumulator_.result();
    edges_ = empty.edges();
    expected_.resize(empty.rows() * empty.channels());
    for (reference::Counts& counts : expected_) counts.counts.resize(empty.size());
  }

  void add_reference(std::span<const ArrayView> piece) override {
    ArrayView rest = piece.front();
    while (rest.count > 0) {
      const std::uint64_t row = position_ / row_elements_;
      const std::uint64_t count = std::min(rest.count, row_elements_ - position_ % row_elements_);
      reference::histogram({rest.dtype, rest.data, count}, edges_, half_open_, options_.outside,
                           std::span(expected_).subspan(row * options_.channels, options_.channels), half_);
      rest.data = static_cast<const std::byte*>(rest.data) + count * size_of(rest.dtype);
      rest.count -= count;
      position_ += count;
    }
  }

  void finish(HistogramResult& result) override { result.rows = accumulator_.result(); }

  void share(HistogramResult& result) override {
    if (ranks().several()) join(*result.rows);
    result.first_row = result.rows->histogram(0);
  }

  void compare(const HistogramResult& result) const override {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const std::uint64_t row = i / options_.channels;
      const auto channel = static_cast<unsigned>(i % options_.channels);
      const std::string where = fmt::format("{}: row {}, channel {}", name_, row, channel);
      check_counts(where, result.rows->counts(row, channel), expected_[i].counts);
      check_count(where, "below", result.rows->below(row, channel), expected_[i].below);
      check_count(where, "above", result.rows->above(row, channel), expected_[i].above);
      check_count(where, "nan", result.rows->nan(row, channel), expected_[i].nan);
    }
  }

  [[nodiscard]] Times times() const override { return accumulator_.times(); }

 private:
  RowHistogramAccumulator make(std::uint64_t rows, std::uint64_t row_elements, Dtype dtype,
                               const HistogramOptions& options) const {
    return {device_, dtype, bins_, rows, row_elements, options};
  }
  // All rows, of which this rank's are some.
  void join(RowHistograms& result) const {
    const RowHistograms none = make(rows_, row_elements_, result.dtype(), options_).result();
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
  RowHistogramAccumulator accumulator_;
  HistogramOptions options_;
  bool half_open_;
  std::optional<reference::HalfEven> half_;
  std::string name_;
  std::uint64_t row_elements_;
  std::uint64_t position_ = 0;  // of the reference in the data
  std::vector<double> edges_;
  std::vector<reference::Counts> expected_;
};

}  // namespace

std::unique_ptr<Counter> count_rows(const CounterRequest& request, std::uint64_t rows, std::uint64_t mine,
                                    std::uint64_t values) {
  const std::string& name = request.input.info.name;
  const unsigned channels = request.options.channels;
  if (values / channels % rows != 0 || values % channels != 0) {
    usage_error(channels == 1 ? fmt::format("--rows {} must divide the {} values of {}", rows, values, name)
                              : fmt::format("--rows {} must divide the {} values of each of the {} channels of {}",
                                            rows, values / channels, channels, name));
  }
  return std::make_unique<RowCounter>(request, rows, mine, values / rows);
}

// --joint: how many points fall into each cell of a grid.

namespace {

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
  std::vector<std::uint64_t> expected_;  // of the cells, and of what lies in none
};

}  // namespace

std::unique_ptr<Counter> count_joint(const CounterRequest& request) {
  return std::make_unique<JointCounter>(request);
}

}  // namespace masu::cli
