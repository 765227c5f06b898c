// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_job.h"

#include "cli/chunks.h"
#include "cli/histogram/bins_request.h"
#include "cli/histogram/counter.h"
#include "cli/selftest/references.h"
#include "errors.h"
#include "ranks.h"

#include <fmt/format.h>
#include <masu/device.h>
#include <algorithm>
#include <array>

namespace masu::cli {
namespace {

Device open_device(const HistogramJob& job, const HistogramInput& input) {
  return device_of_rank(
      job.device, job.device.empty() ? device_for(Work::reading, input.bytes().value_or(0)) : Device::open(job.device));
}

class Run {
 public:
  Run(const HistogramJob& job, std::span<const std::string> inputs, Progress& progress)
      : job_(job),
        progress_(progress),
        input_(open_histogram_input(job, inputs)),
        opening_(since(began_)),
        values_(share_input()),
        device_(open_device(job, input_)),
        pieces_(input_.sources, input_.channels, chunk_bytes(device_, input_.sources.size(), job.memory), progress) {
    options_ = job.options;
    options_.channels = job.joint ? 1 : input_.channels;
    options_.memory = job.memory.value_or(0);
    make_finders();
  }

  HistogramResult operator()();

 private:
  // Gives each rank its part. Returns the number of all values, where it is known or must be.
  std::optional<std::uint64_t> share_input();
  void make_finders();
  // The passes before the one that counts: for bins that depend on the data, and for the length where rows need it.
  void look_at_the_data();
  void find(std::span<const ArrayView> piece);
  [[nodiscard]] bool finders_want_data() const {
    return std::any_of(finders_.begin(), finders_.end(), [](const BinsFinder& finder) { return finder.wants_data(); });
  }
  [[nodiscard]] std::unique_ptr<Counter> make_counter() const;

  Clock::time_point began_ = Clock::now();
  const HistogramJob& job_;
  Progress& progress_;
  HistogramInput input_;
  double opening_;  // seconds: a text is parsed then
  std::uint64_t rows_of_rank_ = 0;
  std::optional<std::uint64_t> values_;  // their number, where it is known
  Device device_;
  Pieces pieces_;
  HistogramOptions options_;
  std::vector<BinsFinder> finders_;  // one, or one for each column of a joint histogram
  double finding_ = 0;               // seconds
};

std::optional<std::uint64_t> Run::share_input() {
  std::optional<std::uint64_t> values = input_.count();
  if (ranks().several() && job_.rows && !values) values = measure_shared(*input_.sources.front(), input_.ways.front());
  rows_of_rank_ = cut_shared(input_.sources, input_.ways, {.multiple = input_.channels, .rows = job_.rows.value_or(0)});
  return values;
}

void Run::make_finders() {
  const std::size_t columns = !job_.joint ? 1 : std::max<std::size_t>(input_.sources.size(), input_.channels);
  if (job_.bins.size() != 1 && job_.bins.size() != columns) {
    usage_error(fmt::format("bins are given for {} columns, {} has {}", job_.bins.size(), input_.info.name, columns));
  }
  if (job_.plot && columns > 2) {
    usage_error(fmt::format("--plot draws joint histograms of 1 or 2 columns, {} has {}", input_.info.name, columns));
  }
  for (std::size_t i = 0; i < columns; ++i) {
    finders_.emplace_back(job_.bins[job_.bins.size() == 1 ? 0 : i], input_.info, device_);
  }
}

void Run::find(std::span<const ArrayView> piece) {
  const bool interleaved = piece.size() < finders_.size();
  for (std::size_t i = 0; i < finders_.size(); ++i) {
    if (!finders_[i].wants_data()) continue;
    if (!interleaved) {
      finders_[i].add(piece[i]);
      continue;
    }
    const std::vector<std::byte> column = every(piece.front(), i, finders_.size());
    finders_[i].add({piece.front().dtype, column.data(), piece.front().count / finders_.size()});
  }
}

void Run::look_at_the_data() {
  bool count_values = job_.rows && !values_;
  if (!count_values && !finders_want_data()) return;
  input_.keep_for_rewind();
  while (count_values || finders_want_data()) {
    progress_.start("range", input_.bytes());
    std::uint64_t count = 0;
    while (true) {
      const std::span<const ArrayView> piece = pieces_.next();
      if (piece.front().count == 0) break;
      count += piece.front().count;
      const auto began = Clock::now();
      find(piece);
      finding_ += since(began);
    }
    const auto began = Clock::now();
    for (BinsFinder& finder : finders_) {
      if (finder.wants_data()) finder.end_pass();
    }
    finding_ += since(began);
    if (count_values) values_ = count;
    count_values = false;
    pieces_.rewind();
  }
}

std::unique_ptr<Counter> Run::make_counter() const {
  CounterRequest request{device_, input_, options_, {}, dtype_bounds(input_.info.dtype), job_.summaries};
  for (const BinsFinder& finder : finders_) request.bins.push_back(finder.bins());
  if (const auto& range = finders_.front().range(); range && !is_float(input_.info.dtype)) {
    request.bounds = {range->lo, range->hi};
  }
  if (job_.joint) return count_joint(request);
  if (job_.rows) return count_rows(request, *job_.rows, rows_of_rank_, *values_);
  return count_channels(request);
}

HistogramResult Run::operator()() {
  std::unique_ptr<Counter> counter;
  // Where it can be made now, it refuses what cannot work before any reading.
  if (!finders_want_data() && (!job_.rows || values_)) counter = make_counter();
  look_at_the_data();
  if (!counter) counter = make_counter();
  if (job_.verify) counter->start_reference();

  HistogramResult result;
  double verifying = 0;
  progress_.start("histogram", input_.bytes());
  while (true) {
    const std::span<const ArrayView> piece = pieces_.next();
    if (piece.front().count == 0) break;
    counter->add(piece);
    result.bytes += piece.front().count * piece.size() * size_of(input_.info.dtype);
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
  std::array<std::uint64_t, 2> sums{result.bytes, input_.bad_lines()};
  ranks().add("histogram", sums);
  result.bytes = sums[0];
  if (result.bytes == 0 && input_.info.format == "text") {
    throw Error(ErrorCode::io, fmt::format("{}: has no number", input_.info.name));
  }
  result.source = input_.info;
  result.device = device_.id();
  result.names = input_.names;
  for (const BinsFinder& finder : finders_) result.column_edge_dtypes.push_back(finder.edge_dtype(job_.joint));
  result.edge_dtype = result.column_edge_dtypes.front();
  result.seconds = {opening_ + pieces_.seconds(), times.transfer, finding_ + times.compute, since(began_) - verifying};
  result.bad_lines = sums[1];
  return result;
}

}  // namespace

HistogramResult run_histogram(const HistogramJob& job, std::span<const std::string> inputs, Progress& progress) {
  return Run(job, inputs, progress)();
}

}  // namespace masu::cli
