// SPDX-License-Identifier: Apache-2.0
// One histogram for each channel of an input.
#include "cli/histogram/counter.h"
#include "cli/selftest/reference_counts.h"

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

}  // namespace masu::cli
