// SPDX-License-Identifier: Apache-2.0
#include "histogram/counting_bench.h"

#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>

#include <array>
#include <optional>

namespace masu::bench {
namespace {

void append(Tally& tally, std::span<const std::uint64_t> counts) {
  tally.insert(tally.end(), counts.begin(), counts.end());
}

class PlainCounting final : public Counting {
 public:
  PlainCounting(const Device& device, const HistogramCase& what, const Source& source, const HistogramOptions& options)
      : source_(source), accumulator_(device, what.dtype, what.definite_bins(), options) {}

  void count(Stream* stream) override {
    if (source_.buffer != nullptr) accumulator_.add_buffer(*source_.buffer, source_.view.dtype, stream);
    else accumulator_.add(source_.view);
    ++times_;
  }
  void finish() override { result_ = accumulator_.result(); }
  [[nodiscard]] Tally tally() const override {
    Tally tally;
    for (const Histogram& one : result_) {
      append(tally, one.counts());
      append(tally, std::array{one.below(), one.above(), one.nan()});
    }
    return tally;
  }
  [[nodiscard]] Strategy strategy() const override { return result_.front().strategy(); }
  [[nodiscard]] double seconds() const override { return accumulator_.times().compute; }
  [[nodiscard]] std::uint64_t times() const override { return times_; }

 private:
  Source source_;
  HistogramAccumulator accumulator_;
  std::uint64_t times_ = 0;
  std::vector<Histogram> result_;
};

class JointCounting final : public Counting {
 public:
  JointCounting(const Device& device, const HistogramCase& what, const Source& source, const HistogramOptions& options)
      : dtype_(what.dtype),
        accumulator_(device, what.dtype, std::vector<Bins>(what.columns, what.definite_bins()), options) {
    const std::uint64_t points = source.view.count / what.columns;
    const std::uint64_t bytes = points * size_of(dtype_);
    for (unsigned column = 0; column < what.columns; ++column) {
      if (source.buffer != nullptr) buffers_.push_back(source.buffer->slice(column * bytes, bytes));
      else views_.emplace_back(dtype_, static_cast<const std::byte*>(source.view.data) + column * bytes, points);
    }
    for (const Buffer<std::byte>& buffer : buffers_) pointers_.push_back(&buffer);
  }

  void count(Stream* stream) override {
    if (!pointers_.empty()) accumulator_.add_buffers(pointers_, dtype_, stream);
    else accumulator_.add(views_);
    ++times_;
  }
  void finish() override { result_ = accumulator_.result(); }
  [[nodiscard]] Tally tally() const override {
    Tally tally;
    append(tally, result_.counts());
    append(tally, std::array{result_.outside(), result_.nan()});
    return tally;
  }
  [[nodiscard]] Strategy strategy() const override { return result_.strategy(); }
  [[nodiscard]] double seconds() const override { return accumulator_.times().compute; }
  [[nodiscard]] std::uint64_t times() const override { return times_; }

 private:
  Dtype dtype_;
  std::vector<Buffer<std::byte>> buffers_;
  std::vector<const BufferBase*> pointers_;
  std::vector<ArrayView> views_;
  JointHistogramAccumulator accumulator_;
  std::uint64_t times_ = 0;
  JointHistogram result_;
};

// An accumulator of rows takes each row once, so every count has its own.
class RowCounting final : public Counting {
 public:
  RowCounting(const Device& device, const HistogramCase& what, const Source& source, const HistogramOptions& options)
      : device_(device), what_(what), source_(source), options_(options) {
    options_.channels = what.channels;
  }

  void count(Stream* stream) override {
    if (stream != nullptr) stream->finish();  // the rows are counted beside it
    const Times before = accumulator_ ? accumulator_->times() : Times{};
    earlier_ += before.compute;
    accumulator_.emplace(device_, what_.dtype, what_.definite_bins(), source_.view.count / what_.row, what_.row,
                         options_);
    if (source_.buffer != nullptr) accumulator_->add_buffer(*source_.buffer, what_.dtype);
    else accumulator_->add(source_.view);
  }
  void finish() override { result_ = accumulator_->result(); }
  [[nodiscard]] Tally tally() const override {
    Tally tally;
    tally.reserve(result_.rows() * result_.channels() * (result_.size() + 3));
    for (std::uint64_t row = 0; row < result_.rows(); ++row) {
      for (unsigned channel = 0; channel < result_.channels(); ++channel) {
        append(tally, result_.counts(row, channel));
        append(tally, std::array{result_.below(row, channel), result_.above(row, channel), result_.nan(row, channel)});
      }
    }
    return tally;
  }
  [[nodiscard]] Strategy strategy() const override { return result_.strategy(); }
  [[nodiscard]] double seconds() const override {
    return earlier_ + (accumulator_ ? accumulator_->times().compute : 0);
  }
  [[nodiscard]] std::uint64_t times() const override { return 1; }

 private:
  Device device_;
  HistogramCase what_;
  Source source_;
  HistogramOptions options_;
  std::optional<RowHistogramAccumulator> accumulator_;
  double earlier_ = 0;
  RowHistograms result_;
};

}  // namespace

std::unique_ptr<Counting> make_counting(const Device& device, const HistogramCase& what, const Source& source,
                                        const HistogramOptions& options) {
  if (what.row != 0) return std::make_unique<RowCounting>(device, what, source, options);
  if (what.columns > 1) return std::make_unique<JointCounting>(device, what, source, options);
  HistogramOptions all = options;
  all.channels = what.channels;
  return std::make_unique<PlainCounting>(device, what, source, all);
}

}  // namespace masu::bench
