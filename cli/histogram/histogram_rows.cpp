// SPDX-License-Identifier: Apache-2.0
// --rows: a histogram for each of many equal blocks of an input.
#include "cli/histogram/counter.h"
#include "cli/selftest/reference_counts.h"

#include "ranks.h"

#include <masu/row_histogram.h>
#include <algorithm>
#include <vector>

namespace masu::cli {
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

}  // namespace masu::cli
