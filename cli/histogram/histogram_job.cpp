// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_job.h"

#include "cli/chunks.h"
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

class Run {
 public:
  Run(const HistogramJob& job, std::span<const std::string> inputs, Progress& progress)
      : job_(job),
        progress_(progress),
        input_(open_histogram_input(job, inputs)),
        opening_(since(began_)),
        values_(share_input()),
        device_(device_of_rank(job.device, Work::reading, input_.bytes().value_or(0))),
        pieces_(input_.sources, input_.channels, chunk_bytes(device_, input_.sources.size(), job.memory), progress),
        finders_(job.bins, columns(), input_.info, device_) {
    options_ = job.options;
    options_.channels = job.joint ? 1 : input_.channels;
    options_.memory = job.memory.value_or(0);
    if (job.plot && columns() > 2) {
      usage_error(
          fmt::format("--plot draws joint histograms of 1 or 2 columns, {} has {}", input_.info.name, columns()));
    }
  }

  HistogramResult operator()();

 private:
  // Gives each rank its part. Returns the number of all values, where it is known or must be.
  std::optional<std::uint64_t> share_input();
  [[nodiscard]] std::size_t columns() const {
    return job_.joint ? std::max<std::size_t>(input_.sources.size(), input_.channels) : 1;
  }
  // The passes before the one that counts: for bins that depend on the data, and for the length where rows need it.
  void look_at_the_data();
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
  BinsFinders finders_;
  double finding_ = 0;  // seconds
};

std::optional<std::uint64_t> Run::share_input() {
  std::optional<std::uint64_t> values = input_.count();
  if (ranks().several() && job_.rows && !values) values = measure_shared(*input_.sources.front(), input_.ways.front());
  rows_of_rank_ = cut_shared(input_.sources, input_.ways, {.multiple = input_.channels, .rows = job_.rows.value_or(0)});
  return values;
}

void Run::look_at_the_data() {
  bool count_values = job_.rows && !values_;
  if (!count_values && !finders_.wants_data()) return;
  input_.keep_for_rewind();
  while (count_values || finders_.wants_data()) {
    progress_.start("range", input_.bytes());
    std::uint64_t count = 0;
    while (true) {
      const std::span<const ArrayView> piece = pieces_.next();
      if (piece.front().count == 0) break;
      count += piece.front().count;
      const auto began = Clock::now();
      finders_.add(piece);
      finding_ += since(began);
    }
    const auto began = Clock::now();
    finders_.end_pass();
    finding_ += since(began);
    if (count_values) values_ = count;
    count_values = false;
    pieces_.rewind();
  }
}

std::unique_ptr<Counter> Run::make_counter() const {
  CounterRequest request{device_, input_, options_, finders_.bins(), dtype_bounds(input_.info.dtype), job_.summaries};
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
  if (!finders_.wants_data() && (!job_.rows || values_)) counter = make_counter();
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
  result.column_edge_dtypes = finders_.edge_dtypes(job_.joint);
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
