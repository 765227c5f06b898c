// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_job.h"

#include "cli/groups/grouped_table.h"
#include "cli/histogram/counters.h"
#include "program.h"
#include "ranks.h"

#include <fmt/format.h>

#include <algorithm>

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
        pieces_(input_.sources, input_.channels, chunk_bytes(device_, input_.sources.size(), job.memory), progress,
                weighted()),
        finders_(requests_of(job, input_.info), input_.columns, input_.info, device_) {
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
    if (!finders_.wants_data() && (!job_.rows || values_)) counter = counter_of_job();
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
    result.column_edge_dtypes = finders_.edge_dtypes(job_.joint);
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
    const bool apart = !job_.rows && std::ranges::all_of(input_.ways, [](Way way) { return way == Way::elements; });
    if (!apart) std::ranges::fill(input_.ways, Way::first);
    const std::size_t columns = input_.sources.size() - 1;
    const std::span sources(input_.sources);
    const std::span<const Way> ways(input_.ways);
    (void)cut_shared(sources.first(columns), ways.first(columns), {.multiple = input_.channels});
    (void)cut_shared(sources.last(1), ways.last(1));
  }
  [[nodiscard]] std::optional<Pieces::Weighted> weighted() const {
    if (!input_.weighted) return std::nullopt;
    return Pieces::Weighted{input_.sources.size() == 2 ? input_.columns : 1, input_.info.name};
  }
  // The passes before the one that counts: for bins that depend on the data, and for the length where rows need it.
  void look_at_the_data() {
    bool count_values = job_.rows && !values_;
    if (!count_values && !finders_.wants_data()) return;
    for (const auto& source : input_.sources) source->keep_for_rewind();
    while (count_values || finders_.wants_data()) {
      progress_.start("range", input_.bytes());
      std::uint64_t count = 0;
      for (auto piece = pieces_.next(); piece.front().count > 0; piece = pieces_.next()) {
        count += piece.front().count;
        const auto began = Clock::now();
        finders_.add(input_.columns_in(piece));
        finding_ += since(began);
      }
      const auto began = Clock::now();
      finders_.end_pass();
      finding_ += since(began);
      if (count_values) values_ = ranks().sum("values", count);
      count_values = false;
      pieces_.rewind();
    }
  }
  [[nodiscard]] std::unique_ptr<Counter> counter_of_job() const {
    CounterRequest request{device_, input_, options_, finders_.bins(), dtype_bounds(input_.info.dtype), job_.summaries};
    if (const auto& range = finders_.front().range(); range && !is_float(input_.info.dtype)) {
      request.bounds = {range->lo, range->hi};
    }
    return make_counter(request, job_, {rows_of_rank_, values_.value_or(0)});
  }

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

}  // namespace

HistogramResult run_histogram(const HistogramJob& job, std::span<const std::string> inputs, Progress& progress) {
  return Run(job, inputs, progress)();
}

}  // namespace masu::cli
