// SPDX-License-Identifier: Apache-2.0
// masu histogram: where its result goes.
#include "cli/arrays/array_output.h"
#include "cli/arrays/array_stream.h"
#include "cli/histogram/histogram_options.h"
#include "cli/histogram/histogram_result.h"
#include "program.h"
#include "ranks.h"
#include "terminal.h"

#include <fmt/format.h>
#include <masu/plot.h>
#include <unistd.h>
#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::cli {
namespace {

plot::Quantity quantity(const WriteOptions& options) {
  if (options.density) return plot::Quantity::density;
  return options.cumulative ? plot::Quantity::cumulative : plot::Quantity::counts;
}

plot::HistogramChart channels(const HistogramResult& result, const WriteOptions& options) {
  plot::HistogramChart chart;
  for (std::size_t c = 0; c < result.channels.size(); ++c) {
    chart.series.push_back(plot::series(result.channels[c], result.names.empty() ? "" : result.names[c]));
  }
  chart.quantity = quantity(options);
  chart.log_counts = options.log_counts;
  return chart;
}

// A joint histogram of one column.
plot::HistogramChart one_column(const HistogramResult& result, const WriteOptions& options) {
  plot::HistogramChart chart;
  plot::Series series;
  series.bins = plot::axis(result.joint->edges(0));
  series.counts = result.joint->counts();
  series.nan = result.joint->nan();
  chart.series.push_back(std::move(series));
  if (result.joint->outside() > 0) chart.notes.push_back(fmt::format("outside: {}", result.joint->outside()));
  chart.quantity = quantity(options);
  chart.log_counts = options.log_counts;
  return chart;
}

plot::HeatMap two_columns(const HistogramResult& result) {
  plot::HeatMap map = plot::heat_map(*result.joint);
  map.x_label = result.column_name(0);
  map.y_label = result.column_name(1);
  if (result.joint->outside() > 0) map.notes.push_back(fmt::format("outside: {}", result.joint->outside()));
  if (result.joint->nan() > 0) map.notes.push_back(fmt::format("NaN: {}", result.joint->nan()));
  return map;
}

plot::HeatMap rows(const HistogramResult& result) {
  plot::HeatMap map = plot::heat_map(*result.rows);
  if (result.rows->channels() > 1) map.y_label = "row and channel";
  return map;
}

template <class Chart>
void save(Chart chart, const HistogramResult& result, const std::string& path) {
  chart.title = result.source.name;
  plot::save(chart, path);
}

// Draws a result: channels over one axis, rows and two columns as a map. A joint histogram has 1 or 2 columns here. The
// path's ending says the format.
void write_plot(const HistogramResult& result, const WriteOptions& options, const std::string& path) {
  if (result.joint && result.joint->dimensions() == 1) {
    save(one_column(result, options), result, path);
  } else if (result.joint || result.rows) {
    plot::HeatMap map = result.joint ? two_columns(result) : rows(result);
    map.log_counts = options.log_counts;
    save(std::move(map), result, path);
  } else {
    save(channels(result, options), result, path);
  }
}

void print_notes(const HistogramResult& result, bool outsiders, bool verified) {
  const std::string& name = result.source.name;
  const char* const what = result.joint ? "points" : "values";
  note_images(result.source);
  if (result.bad_lines > 0) note(fmt::format("masu: {}: {} entries could not be read", name, result.bad_lines));
  if (outsiders && result.outsiders() > 0) {
    note(fmt::format("masu: {}: {} {} lie in no bin", name, result.outsiders(), what));
  }
  if (verified) note(fmt::format("verified: {} {}", result.n(), what));
}

void make_visible(HistogramResult& result, const Format& form, bool to_stdout) {
  // JSON has escapes of its own, and a CSV file is no terminal.
  if (form.name != "table" && !(form.name == "csv" && to_stdout && is_terminal(STDOUT_FILENO))) return;
  result.source.name = visible(result.source.name);
  for (std::string& name : result.names) name = visible(name);
}

void tell(const HistogramResult& result, const Format& form, const CommonOptions& common) {
  const bool outsiders_unseen = form.name == "csv" || form.name == "npy";
  if (!common.quiet) print_notes(result, outsiders_unseen, common.verify);
  if (common.time) note_times(result.seconds, result.bytes);
}

// Several inputs, each of which one rank reads alone. The first one writes what comes out, in the order of the inputs.
Exit run_dealt(const HistogramCommandOptions& asked, const HistogramJob& work, const Format& form, WriteOptions options,
               std::optional<io::OutputFile>& file, Progress& progress) {
  const std::span<const std::string> inputs = asked.input.inputs;
  const auto count = static_cast<std::size_t>(ranks().size());
  const auto mine = static_cast<std::size_t>(ranks().rank());
  const bool first = ranks().first();
  std::optional<io::OutputFile> stream;
  if (first && !file) stream.emplace("-");
  io::OutputFile* const output = !first ? nullptr : file ? &*file : &*stream;
  // A round of as many inputs as there are ranks. Standard input is the first rank's.
  std::vector<std::size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t begin = 0; begin < inputs.size(); begin += count) {
    const std::span<std::size_t> round = std::span(order).subspan(begin, std::min(count, inputs.size() - begin));
    const auto pipe = std::find_if(round.begin(), round.end(), [&](std::size_t i) { return inputs[i] == "-"; });
    if (pipe != round.end()) std::swap(*pipe, round.front());
    std::string text;
    if (mine < round.size()) {
      const RanksScope alone;
      const std::size_t input = round[mine];
      HistogramResult result = run_histogram(work, inputs.subspan(input, 1), progress);
      make_visible(result, form, !file && first);
      options.first = input == 0;
      form.write(result, options, [&](std::string_view piece) { text += piece; });
      tell(result, form, asked.common);
    }
    const std::vector<Ranks::Bytes> texts = ranks().from_each("results", bytes_of(text));
    if (output == nullptr) continue;
    for (std::size_t input = begin; input < begin + round.size(); ++input) {
      const auto rank = static_cast<std::size_t>(std::find(round.begin(), round.end(), input) - round.begin());
      output->write(texts[rank].data(), texts[rank].size());
    }
  }
  if (output != nullptr) output->commit();
  return Exit::done;
}

Exit run_weighted_command(const HistogramCommandOptions& asked, const WeightedJob& weighted, Progress& progress) {
  const CommonOptions& common = asked.common;
  HistogramJob work = asked.job();
  // A value that cannot be read would part the weights from their values.
  work.source.strict = true;
  work.paired = true;
  const std::string_view form = asked.chosen_format().name;
  const bool to_stdout = common.output.empty() || common.output == "-";
  if (form == "npy" && to_stdout && is_terminal(STDOUT_FILENO)) {
    usage_error("--format npy does not go to a terminal; use -o FILE");
  }
  std::optional<io::OutputFile> output;
  if (ranks().first()) output.emplace(to_stdout ? "-" : common.output);
  WeightedResult result = run_weighted(work, weighted, asked.input.inputs, progress);
  if (!output) return Exit::done;
  if (form == "table") {
    result.source.name = visible(result.source.name);
    result.weights = visible(result.weights);
  }
  write_weighted(result, form, asked.density, [&](std::string_view text) { output->write(text); });
  output->commit();
  if (!common.quiet && common.verify) note(fmt::format("verified: the totals of {} values", result.histogram.n()));
  if (common.time) note_times(result.seconds, result.bytes);
  return Exit::done;
}

Exit run_command(HistogramCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  Progress progress(progress_mode(common));
  if (const auto weighted = asked.weighted_job()) return run_weighted_command(asked, *weighted, progress);
  HistogramJob work = asked.job();
  const Format& form = asked.chosen_format();
  work.summaries = form.name == "table";
  const bool to_stdout = common.output.empty() || common.output == "-";
  const std::span<const std::string> inputs = asked.input.inputs;
  const bool several = inputs.size() > 1 && !work.joint;
  if (several && std::count(inputs.begin(), inputs.end(), "-") > 1) usage_error("standard input can be one INPUT only");
  if (form.name == "npy") {
    if (several) usage_error("--format npy takes one input");
    if (asked.density && asked.cumulative) usage_error("--format npy holds --density or --cumulative, not both");
    if (to_stdout && is_terminal(STDOUT_FILENO)) usage_error("--format npy does not go to a terminal; use -o FILE");
  }

  if (!asked.plot.empty()) {
    plot::format_from_path(asked.plot);
    if (several) usage_error("--plot takes one input");
    if (is_same_output(asked.plot, common.output)) usage_error("-o and --plot must be two files");
    if (asked.density && asked.cumulative) usage_error("--plot draws --density or --cumulative, not both");
  }

  std::optional<io::OutputFile> file;
  if (!to_stdout && ranks().first()) file.emplace(common.output);
  WriteOptions options{several, true, asked.density, asked.cumulative, asked.log_counts};
  if (several && ranks().several()) return run_dealt(asked, work, form, options, file, progress);
  for (std::size_t i = 0; i < (several ? inputs.size() : 1); ++i) {
    HistogramResult result = run_histogram(work, several ? inputs.subspan(i, 1) : inputs, progress);
    if (!ranks().first()) return Exit::done;
    make_visible(result, form, to_stdout);
    // On standard output each result stands on its own; a file appears when all are done.
    std::optional<io::OutputFile> stream;
    if (to_stdout) stream.emplace("-");
    io::OutputFile& output = to_stdout ? *stream : *file;
    form.write(result, options, [&](std::string_view text) { output.write(text); });
    if (to_stdout) stream->commit();
    if (!asked.plot.empty()) {
      if (file) file->finish();
      write_plot(result, options, asked.plot);
    }
    options.first = false;
    tell(result, form, common);
  }
  if (file) file->commit();
  return Exit::done;
}

}  // namespace

Command add_histogram(CommandLine& line) {
  const Subcommand app = line.add("histogram", "Count how many values fall into each bin", "hist");
  auto options = std::make_shared<HistogramCommandOptions>();
  options->add_to(app);
  return {app, [options] { return run_command(*options); }};
}

}  // namespace masu::cli
