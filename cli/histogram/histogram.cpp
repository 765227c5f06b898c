// SPDX-License-Identifier: Apache-2.0
// masu histogram: where its result goes.
#include "cli/arrays/array_input.h"
#include "cli/arrays/array_output.h"
#include "cli/histogram/histogram_options.h"
#include "cli/histogram/histogram_plot.h"
#include "command.h"
#include "terminal.h"

#include <fmt/format.h>
#include <masu/plot.h>
#include <unistd.h>
#include <algorithm>
#include <memory>
#include <span>

namespace masu::cli {
namespace {

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

Exit run_weighted_command(const HistogramCommandOptions& asked, const WeightedJob& weighted, Progress& progress) {
  const CommonOptions& common = asked.common;
  HistogramJob work = asked.job();
  // A value that cannot be read would part the weights from their values.
  work.source.strict = true;
  const std::string_view form = asked.chosen_format().name;
  const bool to_stdout = common.output.empty() || common.output == "-";
  if (form == "npy" && to_stdout && is_terminal(STDOUT_FILENO)) {
    usage_error("--format npy does not go to a terminal; use -o FILE");
  }
  io::OutputFile output(to_stdout ? "-" : common.output);
  WeightedResult result = run_weighted(work, weighted, asked.input.inputs, progress);
  if (form == "table") {
    result.source.name = visible(result.source.name);
    result.weights = visible(result.weights);
  }
  write_weighted(result, form, asked.density, [&](std::string_view text) { output.write(text); });
  output.commit();
  if (!common.quiet && common.verify) note(fmt::format("verified: the totals of {} values", result.histogram.n()));
  if (common.time) note_times(result.seconds, result.bytes);
  return Exit::done;
}

Exit run_command(HistogramCommandOptions& asked) {
  const CommonOptions& common = asked.common;
  apply(asked.common);
  Progress progress(common.quiet && common.progress == "auto" ? "never" : common.progress);
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
  if (!to_stdout) file.emplace(common.output);
  WriteOptions options{several, true, asked.density, asked.cumulative, asked.log_counts};
  for (std::size_t i = 0; i < (several ? inputs.size() : 1); ++i) {
    HistogramResult result = run_histogram(work, several ? inputs.subspan(i, 1) : inputs, progress);
    // JSON has escapes of its own, and a CSV file is no terminal.
    if (form.name == "table" || (form.name == "csv" && to_stdout && is_terminal(STDOUT_FILENO))) {
      result.source.name = visible(result.source.name);
      for (std::string& name : result.names) name = visible(name);
    }
    // On standard output each result stands on its own; a file appears when all are done.
    std::optional<io::OutputFile> stream;
    if (to_stdout) stream.emplace("-");
    io::OutputFile& output = to_stdout ? *stream : *file;
    form.write(result, options, [&](std::string_view text) { output.write(text); });
    if (to_stdout) stream->commit();
    if (!asked.plot.empty()) write_plot(result, options, asked.plot);
    options.first = false;
    const bool outsiders_unseen = form.name == "csv" || form.name == "npy";
    if (!common.quiet) print_notes(result, outsiders_unseen, common.verify);
    if (common.time) note_times(result.seconds, result.bytes);
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
