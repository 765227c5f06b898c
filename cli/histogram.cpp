// SPDX-License-Identifier: Apache-2.0
// masu histogram: its options, and where its result goes.
#include "command.h"
#include "histogram_job.h"
#include "options.h"
#include "terminal.h"

#include <fmt/format.h>
#include <unistd.h>
#include <array>
#include <memory>

namespace masu::cli {
namespace {

struct Format {
  std::string_view name;
  void (*write)(const HistogramResult&, const WriteOptions&, const Sink&);
};

void write_chart(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  if (options.several && !options.first) sink("\n");
  write_table(result, {output_width(), utf8_locale()}, sink);
}

constexpr std::array<Format, 4> formats{
    {{"table", write_chart}, {"json", write_json}, {"csv", write_csv}, {"npy", write_npy}}};

const Format* find_format(std::string_view name) {
  for (const Format& format : formats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

struct HistogramCommand {
  CommonOptions common;
  InputOptions input;
  std::string bins;
  std::string range;
  std::string edges;
  std::string integers;
  std::string channels;
  std::string outside = "drop";
  std::string strategy = "auto";
  std::string format;
  bool right_open = false;

  void add_options(CLI::App& app);
  Exit run();

 private:
  [[nodiscard]] const Format& chosen_format() const;
  [[nodiscard]] std::vector<double> edge_values() const;
  [[nodiscard]] BinsRequest bins_request() const;
  [[nodiscard]] HistogramJob job() const;
};

constexpr const char* examples = R"(Examples:
  masu histogram photo.png
  masu histogram samples.npy --bins 50 --range -1:1 --json
  masu histogram table.csv --header --column price --format csv -o prices.csv
  seq 1000 | masu histogram - --edges 0,10,100,1000
  masu histogram random:u8:1Gi --device opencl --time --verify)";

void HistogramCommand::add_options(CLI::App& app) {
  add_input_options(app, input);
  app.add_option("--bins", bins, "N equal bins over --range, or over the data's range")->type_name("N");
  app.add_option("--range", range, "The edges of the first and the last bin (-1:1)")->type_name("LO:HI");
  app.add_option("--edges", edges, "The bins' edges, or @FILE with them")->type_name("A,B,…|@FILE");
  app.add_option("--integers", integers, "N bins: the value v goes to bin v")->type_name("N");
  app.add_flag("--right-open", right_open, "The last bin does not hold its upper edge");
  app.add_option("--channels", channels, "Interleaved channels, one histogram each")->type_name("N");
  app.add_option("--outside", outside, "Values outside of the bins: drop (count apart) or clamp")->type_name("WHAT");
  app.add_option("--strategy", strategy, "auto, sequential, global, private, local or lanes")->type_name("NAME");
  app.add_option("--format", format, "table, json, csv or npy; table, or by the ending of -o")->type_name("NAME");
  add_common_options(app, common);
  app.footer(examples);
}

const Format& HistogramCommand::chosen_format() const {
  if (common.json) {
    if (!format.empty() && format != "json") usage_error("--json and --format " + format + " exclude each other");
    return *find_format("json");
  }
  if (!format.empty()) {
    if (const Format* found = find_format(format)) return *found;
    usage_error("--format takes table, json, csv or npy, got '" + format + "'");
  }
  const std::size_t dot = common.output.rfind('.');
  const Format* found = dot == std::string::npos ? nullptr : find_format(common.output.substr(dot + 1));
  return found != nullptr ? *found : formats.front();
}

std::vector<double> HistogramCommand::edge_values() const {
  std::vector<double> values;
  if (!edges.starts_with('@')) {
    for (std::size_t begin = 0; begin <= edges.size();) {
      const std::size_t end = std::min(edges.find(',', begin), edges.size());
      values.push_back(real_number("--edges", std::string_view(edges).substr(begin, end - begin)));
      begin = end + 1;
    }
    return values;
  }
  io::SourceOptions options;
  options.strict = true;
  const std::unique_ptr<io::Source> source = io::open(edges.substr(1), options);
  const Dtype dtype = source->info().dtype;
  const std::vector<std::byte> bytes = io::read_all(*source);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T>) {
      const T* data = reinterpret_cast<const T*>(bytes.data());
      for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) values.push_back(static_cast<double>(data[i]));
    } else {
      usage_error("--edges: f16 numbers are not supported in this version");
    }
  });
  return values;
}

BinsRequest HistogramCommand::bins_request() const {
  constexpr std::uint64_t most = std::uint64_t{1} << 31U;
  const int ways = (!bins.empty() || !range.empty() ? 1 : 0) + (edges.empty() ? 0 : 1) + (integers.empty() ? 0 : 1);
  if (ways > 1) usage_error("--bins and --range, --edges, and --integers exclude each other");
  BinsRequest request;
  if (!bins.empty()) request.bins = whole_number("--bins", bins, 1, most);
  if (!integers.empty()) request.integers = whole_number("--integers", integers, 1, most);
  if (!edges.empty()) {
    request.edges = edge_values();
    Bins::edges(request.edges);  // refuses bad ones before any input is opened
  }
  if (!range.empty()) {
    const std::size_t colon = range.find(':');
    if (colon == std::string::npos) usage_error("--range takes LO:HI, got '" + range + "'");
    const std::string_view text = range;
    request.range = {real_number("--range", text.substr(0, colon)), real_number("--range", text.substr(colon + 1))};
    Bins::even(1, request.range->first, request.range->second);
  }
  return request;
}

HistogramJob HistogramCommand::job() const {
  HistogramJob job;
  job.source = source_options(input, common);
  job.bins = bins_request();
  job.options.right_open = right_open;
  job.options.strategy = strategy_from_name(strategy);
  if (outside != "drop" && outside != "clamp") usage_error("--outside takes drop or clamp, got '" + outside + "'");
  job.options.outside = outside == "clamp" ? Outside::clamp : Outside::drop;
  if (!channels.empty()) job.channels = static_cast<unsigned>(whole_number("--channels", channels, 1, 16));
  if (!common.memory.empty()) job.memory = whole_number("--memory", common.memory, 1, std::uint64_t{1} << 40U);
  job.device = common.device;
  job.verify = common.verify;
  return job;
}

std::string speed(double bytes, double seconds) {
  return seconds > 0 ? fmt::format("{:9.3f} GB/s", bytes / seconds / 1e9) : "        - GB/s";
}

void print_times(const HistogramResult& result) {
  const auto bytes = static_cast<double>(result.bytes);
  const std::pair<const char*, double> rows[] = {{"reading", result.seconds.read},
                                                 {"transfer", result.seconds.transfer},
                                                 {"computing", result.seconds.compute},
                                                 {"total", result.seconds.total}};
  for (const auto& [what, seconds] : rows) {
    note(fmt::format("{:<10} {:10.6f} s {}", what, seconds, speed(bytes, seconds)));
  }
}

void print_notes(const HistogramResult& result, bool outsiders, bool verified) {
  const std::string& name = result.source.name;
  if (result.bad_lines > 0) note(fmt::format("masu: {}: {} entries could not be read", name, result.bad_lines));
  std::uint64_t n = 0;
  std::uint64_t outside = 0;
  for (const Histogram& histogram : result.channels) {
    n += histogram.n();
    outside += histogram.below() + histogram.above() + histogram.nan();
  }
  if (outsiders && outside > 0) note(fmt::format("masu: {}: {} values lie in no bin", name, outside));
  if (verified) note(fmt::format("verified: {} values", n));
}

Exit HistogramCommand::run() {
  apply(common);
  Progress progress(common.quiet && common.progress == "auto" ? "never" : common.progress);
  HistogramJob work = job();
  const Format& form = chosen_format();
  work.summaries = form.name == "table";
  const bool to_stdout = common.output.empty() || common.output == "-";
  const bool several = input.inputs.size() > 1;
  if (form.name == "npy") {
    if (several) usage_error("--format npy takes one input");
    if (to_stdout && is_terminal(STDOUT_FILENO)) usage_error("--format npy does not go to a terminal; use -o FILE");
  }

  std::optional<io::OutputFile> file;
  if (!to_stdout) file.emplace(common.output);
  bool first = true;
  for (const std::string& name : input.inputs) {
    const HistogramResult result = run_histogram(work, name, progress);
    // On standard output each result stands on its own; a file appears when all are done.
    std::optional<io::OutputFile> stream;
    if (to_stdout) stream.emplace("-");
    io::OutputFile& output = to_stdout ? *stream : *file;
    form.write(result, {several, first}, [&](std::string_view text) { output.write(text); });
    if (to_stdout) stream->commit();
    first = false;
    const bool outsiders_unseen = form.name == "csv" || form.name == "npy";
    if (!common.quiet) print_notes(result, outsiders_unseen, common.verify);
    if (common.time) print_times(result);
  }
  if (file) file->commit();
  return Exit::done;
}

}  // namespace

Command add_histogram(CLI::App& root) {
  CLI::App* app = root.add_subcommand("histogram", "Count how many values fall into each bin")->alias("hist");
  auto command = std::make_shared<HistogramCommand>();
  command->add_options(*app);
  return {app, [command] { return command->run(); }};
}

}  // namespace masu::cli
