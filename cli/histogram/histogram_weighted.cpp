// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_weighted.h"

#include "cli/arrays/pieces.h"
#include "cli/histogram/bins_finder.h"
#include "cli/histogram/histogram_input.h"
#include "cli/selftest/weighted_reference.h"
#include "errors.h"
#include "ranks.h"

#include <fmt/format.h>
#include <algorithm>
#include <optional>

namespace masu::cli {
namespace {

// The elements from `first` on.
ArrayView part(const ArrayView& view, std::uint64_t first, std::uint64_t count) {
  return {view.dtype, static_cast<const std::byte*>(view.data) + first * size_of(view.dtype), count};
}

// Values and their weights, read side by side.
class Points {
 public:
  Points(const HistogramInput& input, std::span<const std::unique_ptr<io::Source>> weights, std::size_t columns,
         std::uint64_t bytes, Progress& progress)
      : input_(input),
        interleaved_(input.sources.size() == 1 ? columns : 1),
        values_(input.sources, input.channels, bytes, progress),
        weights_(weights, 1, bytes, progress),
        weights_name_(weights.front()->info().name) {}

  // The next piece: the columns, or all of them interleaved in one, and as many weights as points; false at the end.
  bool next(std::vector<ArrayView>& columns, ArrayView& weights) {
    if (rest_.empty() || rest_.front().count == 0) {
      const std::span<const ArrayView> found = values_.next();
      rest_.assign(found.begin(), found.end());
    }
    if (by_.count == 0) by_ = weights_.next().front();
    const std::uint64_t points = rest_.front().count / interleaved_;
    const std::uint64_t count = std::min(points, by_.count);
    if (count == 0 && points != by_.count) {
      throw Error(ErrorCode::io, fmt::format("there must be a weight for each value: {} ends before {}",
                                             points == 0 ? input_.info.name : weights_name_,
                                             points == 0 ? weights_name_ : input_.info.name));
    }
    columns.clear();
    for (ArrayView& each : rest_) {
      columns.push_back({each.dtype, each.data, count * interleaved_});
      each = part(each, count * interleaved_, each.count - count * interleaved_);
    }
    weights = {by_.dtype, by_.data, count};
    by_ = part(by_, count, by_.count - count);
    return count > 0;
  }
  void rewind() {
    values_.rewind();
    weights_.rewind();
    rest_.clear();
    by_ = {};
  }
  [[nodiscard]] double seconds() const { return values_.seconds() + weights_.seconds(); }

 private:
  const HistogramInput& input_;
  std::size_t interleaved_;
  Pieces values_;
  Pieces weights_;
  std::string weights_name_;
  std::vector<ArrayView> rest_;
  ArrayView by_;
};

class WeightedRun {
 public:
  WeightedRun(const HistogramJob& job, const WeightedJob& weighted, std::span<const std::string> inputs,
              Progress& progress)
      : job_(job), progress_(progress), input_(open_histogram_input(job, inputs)) {
    SharedSource shared = open_shared(weighted.weights, weighted.from, false);
    weights_.push_back(std::move(shared.source));
    by_way_ = shared.way;
    const io::SourceInfo by = weights_.front()->info();
    const std::optional<std::uint64_t> by_count = shared_count(*weights_.front(), by_way_);
    columns_ = job.joint ? std::max<std::size_t>(input_.sources.size(), input_.channels) : 1;
    if (!job.joint && input_.channels != 1) {
      usage_error(fmt::format("--weights takes one channel (--channels 1 takes all values alike), {} has {}",
                              input_.info.name, input_.channels));
    }
    const std::optional<std::uint64_t> values = input_.count();
    if (values && by_count && *values != *by_count * columns_) {
      throw Error(ErrorCode::io,
                  fmt::format("there must be a weight for each {}: {} has {}, {} has {}", job.joint ? "point" : "value",
                              input_.info.name, *values / columns_, by.name, *by_count));
    }
    points_ = values ? std::optional(*values / columns_) : by_count;
    options_ = {.right_open = job.options.right_open,
                .outside = job.options.outside,
                .variances = weighted.variances,
                .rows = job.rows.value_or(1),
                .memory = job.memory.value_or(0)};
    if (job.bins.size() != 1 && job.bins.size() != columns_) {
      usage_error(fmt::format("bins are given for {} columns, {} has {}", job.bins.size(), input_.info.name, columns_));
    }
    share_input();
    bytes_ = input_.bytes().value_or(0) + weights_.front()->info().count.value_or(0) * size_of(by.dtype);
  }

  WeightedResult operator()();

 private:
  // Gives each rank as many values as weights; rows are the first rank's.
  void share_input() {
    const bool apart =
        by_way_ == Way::elements && !job_.rows &&
        std::all_of(input_.ways.begin(), input_.ways.end(), [](Way way) { return way == Way::elements; });
    if (!apart) std::fill(input_.ways.begin(), input_.ways.end(), by_way_ = Way::first);
    const std::uint64_t together = input_.sources.size() == 1 ? columns_ : 1;
    (void)cut_shared(input_.sources, input_.ways, {.multiple = together});
    (void)cut_shared(weights_, {&by_way_, 1});
  }
  [[nodiscard]] bool look_again() const {
    return std::any_of(finders_.begin(), finders_.end(), [](const BinsFinder& finder) { return finder.wants_data(); });
  }
  // The passes before the one that sums: for bins that depend on the data, and for the length where rows need it.
  void look_at_the_data(Points& points);

  const HistogramJob& job_;
  Progress& progress_;
  HistogramInput input_;
  std::vector<std::unique_ptr<io::Source>> weights_;
  Way by_way_ = Way::first;
  std::size_t columns_ = 1;
  WeightedOptions options_;
  std::uint64_t bytes_ = 0;
  std::vector<BinsFinder> finders_;
  std::optional<std::uint64_t> points_;
};

void WeightedRun::look_at_the_data(Points& points) {
  bool count_them = job_.rows && !points_;
  std::vector<ArrayView> piece;
  ArrayView by;
  while (count_them || look_again()) {
    input_.keep_for_rewind();
    weights_.front()->keep_for_rewind();
    progress_.start("range", bytes_);
    std::uint64_t count = 0;
    while (points.next(piece, by)) {
      count += by.count;
      for (std::size_t d = 0; d < columns_; ++d) {
        if (!finders_[d].wants_data()) continue;
        if (piece.size() == columns_) {
          finders_[d].add(piece[d]);
        } else {
          const std::vector<std::byte> column = every(piece.front(), d, columns_);
          finders_[d].add({piece.front().dtype, column.data(), by.count});
        }
      }
    }
    for (BinsFinder& finder : finders_) {
      if (finder.wants_data()) finder.end_pass();
    }
    if (count_them) points_ = ranks().sum("points", count);
    count_them = false;
    points.rewind();
  }
}

WeightedResult WeightedRun::operator()() {
  const auto began = Clock::now();
  const Device device =
      device_of_rank(job_.device, job_.device.empty() ? device_for(Work::reading, bytes_) : Device::open(job_.device));
  for (std::size_t d = 0; d < columns_; ++d) {
    finders_.emplace_back(job_.bins[job_.bins.size() == 1 ? 0 : d], input_.info, device);
  }
  Points points(input_, weights_, columns_, chunk_bytes(device, input_.sources.size() + 1, job_.memory) / 2, progress_);
  look_at_the_data(points);
  const std::uint64_t rows = options_.rows;
  if (job_.rows && *points_ % rows != 0) {
    usage_error(fmt::format("--rows {} must divide the {} values of {}", rows, *points_, input_.info.name));
  }
  std::vector<Bins> bins;
  for (const BinsFinder& finder : finders_) bins.push_back(finder.bins());
  const Dtype dtype = input_.info.dtype;
  const Dtype by_dtype = weights_.front()->info().dtype;
  const std::uint64_t row_elements = points_.value_or(0) / rows;
  WeightedHistogramAccumulator accumulator(device, dtype, by_dtype, bins, options_, row_elements);
  std::optional<WeightedReference> reference;
  if (job_.verify) reference.emplace(dtype, bins, options_, job_.rows ? row_elements : 0);

  WeightedResult result;
  double verifying = 0;
  progress_.start("histogram", bytes_);
  std::vector<ArrayView> piece;
  ArrayView by;
  while (points.next(piece, by)) {
    if (piece.size() == columns_) accumulator.add(piece, by);
    else accumulator.add_interleaved(piece.front(), by);
    for (const ArrayView& each : piece) result.bytes += each.count * size_of(each.dtype);
    result.bytes += by.count * size_of(by.dtype);
    if (!reference) continue;
    const auto start = Clock::now();
    reference->add(piece, by);
    verifying += since(start);
  }
  const Times times = accumulator.times();
  if (reference && ranks().several()) reference->compare(input_.info.name, accumulator.result());
  merge_states("weighted histogram", device, accumulator);
  result.bytes = ranks().sum("bytes", result.bytes);
  try {
    result.histogram = accumulator.result();
  } catch (const Error& error) {  // a total that does not fit is no wrong use
    if (error.code() != ErrorCode::invalid_argument) throw;
    throw Error(ErrorCode::io, fmt::format("{}: {}", input_.info.name, error.what()));
  }
  progress_.finish();
  result.source = input_.info;
  result.weights = weights_.front()->info().name;
  result.by_rows = job_.rows.has_value();
  result.device = device.id();
  for (const BinsFinder& finder : finders_) result.column_edge_dtypes.push_back(finder.edge_dtype(job_.joint));
  result.seconds = {points.seconds(), times.transfer, times.compute, since(began) - verifying};
  if (reference && !ranks().several()) reference->compare(input_.info.name, result.histogram);
  return result;
}

}  // namespace

WeightedResult run_weighted(const HistogramJob& job, const WeightedJob& weighted, std::span<const std::string> inputs,
                            Progress& progress) {
  return WeightedRun(job, weighted, inputs, progress)();
}

}  // namespace masu::cli
