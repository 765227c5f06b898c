// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_options.h"

#include "cli/arrays/array_output.h"
#include "errors.h"
#include "terminal.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_pixels = std::uint64_t{1} << 40U;  // each way: products stay below 2^64

void write_chart(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  if (options.several && !options.first) sink("\n");
  write_table(result, {output_width(), utf8_locale(), options.density, options.cumulative, options.log_counts}, sink);
}

constexpr std::array<Format, 4> formats{
    {{"table", write_chart}, {"json", write_json}, {"csv", write_csv}, {"npy", write_npy}}};

const Format* find_format(std::string_view name) {
  const auto* const found =
      std::find_if(formats.begin(), formats.end(), [&](const Format& format) { return format.name == name; });
  return found == formats.end() ? nullptr : found;
}

constexpr const char* histogram_examples = R"(Examples:
  masu histogram photo.png
  masu histogram photo.png --region 100,50,640,480 --plot photo.svg
  masu histogram samples.npy --bins auto --density --json
  masu histogram sizes.txt --log --range 1:1e6 --bins 60
  masu histogram table.csv --header --column price --format csv -o prices.csv
  masu histogram table.csv --header --joint --column width --column height --bins '40;20'
  masu histogram random:u8:1Mi --rows 16 --bins 64
  masu histogram energies.npy --weights weights.npy --variances --bins 100
  seq 1000 | masu histogram - --edges 0,10,100,1000
  masu histogram random:u8:1Gi --device opencl --time --verify)";

Region parse_region(const std::string& text) {
  const std::vector<std::string> parts = split(text);
  if (parts.size() != 4) usage_error("--region takes X,Y,W,H, got '" + text + "'");
  std::array<std::uint64_t, 4> numbers{};
  for (std::size_t i = 0; i < 4; ++i) numbers[i] = whole_number("--region", parts[i], i < 2 ? 0 : 1, most_pixels);
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

}  // namespace

void HistogramCommandOptions::add_to(const Subcommand& app) {
  add_input_options(app, input);
  const auto in = [](const char* group, const Option& option) { return option.group(group); };
  const char* const which = "Bins";
  in(which, app.add_option("--bins", bins.bins,
                           "N equal bins over --range, or over the data's range; or as many as NumPy's rule finds:\n" +
                               words_of("RULE")))
      .type_name("N|RULE");
  in(which, app.add_option("--range", bins.range, "The edges of the first and the last bin (-1:1)")).type_name("LO:HI");
  in(which, app.add_option("--edges", bins.edges, "The bins' edges, or a file with them")).type_name("A,B,...|@FILE");
  in(which, app.add_option("--integers", bins.integers, "N bins: the value v goes to bin v")).type_name("N");
  in(which, app.add_flag("--log", bins.log, "The bins have equal ratios instead of equal widths"));
  in(which, app.add_flag("--right-open", right_open, "The last bin does not hold its upper edge"));
  in(which, app.add_option("--outside", outside, "Values outside of the bins: drop (count apart) or clamp"))
      .type_name("drop|clamp");

  const char* const shape = "Shape";
  in(shape, app.add_option("--channels", channels, "Interleaved channels, one histogram each")).type_name("N");
  in(shape, app.add_option("--rows", rows, "One histogram for each of N equal blocks of the input")).type_name("N");
  in(shape, app.add_flag("--joint", joint,
                         "Count points: the inputs, columns or channels are their coordinates. The options of bins\n"
                         "hold for all columns, or have a value for each: --bins '100;50'"));
  in(shape, app.add_option("--region", region, "Only the pixels of a rectangle")).type_name("X,Y,W,H");
  in(shape, app.add_option("--pitch", pitch, "With --region of data that is no image: bytes from row to row"))
      .type_name("BYTES");

  const char* const by = "Weights";
  in(by, app.add_option("--weights", weights,
                        "Sum the weights in FILE, one for each value or point, instead of counting: exactly, rounded\n"
                        "once. Read as the input is, but for the options below"))
      .type_name("FILE");
  in(by, app.add_option("--weights-format", weights_format, "How to read them (auto: by content)"))
      .type_name("auto|raw|text|npy|image");
  in(by, app.add_option("--weights-dtype", weights_dtype, "Element type of raw and text weights")).type_name("DTYPE");
  in(by, app.add_option("--weights-column", weights_column, "Text: the weights' column, its name or number from 1"))
      .type_name("NAME|N");
  in(by, app.add_flag("--variances", variances, "Also the sum of the squared weights of each bin"));

  const char* const result = "Result";
  in(result, app.add_option("--format", format, "The form of the result (table, or by the ending of -o)"))
      .type_name("table|json|csv|npy");
  in(result, app.add_flag("--density", density, "Also counts / sum / width, so that the integral is 1"));
  in(result, app.add_flag("--cumulative", cumulative, "Also the sum of the counts up to each bin"));
  in(result, app.add_flag("--log-counts", log_counts, "Bars by the logarithm of the counts, in table and plot"));
  in(result, app.add_option("--plot", plot, "Draw the result to FILE too, by its ending: .svg, .png or .pdf"))
      .type_name("FILE");
  app.add_option("--strategy", strategy, "How to count, with the same result: " + words_of("STRATEGY"))
      .type_name("STRATEGY");
  add_common_options(app, common);
  add_digits_option(app, common);
  app.footer(histogram_examples);
}

const Format& HistogramCommandOptions::chosen_format() const {
  check_ending("-o", common.output, ".txt .json .csv .npy");
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

HistogramJob HistogramCommandOptions::job() const {
  HistogramJob job;
  job.source = source_options(input, common);
  job.columns = input.columns;
  job.bins = parse_bins(bins, joint);
  job.joint = joint;
  job.options.right_open = right_open;
  job.options.strategy = strategy_from_name(strategy);
  job.options.outside = is_second("--outside", outside, "drop", "clamp") ? Outside::clamp : Outside::drop;
  if (!channels.empty()) job.channels = static_cast<unsigned>(whole_number("--channels", channels, 1, 16));
  if (!rows.empty()) job.rows = whole_number("--rows", rows, 1, std::uint64_t{1} << 20U);
  if (joint && job.rows) usage_error("--joint and --rows exclude each other");
  if (joint && cumulative) usage_error("--joint and --cumulative exclude each other");
  if (!region.empty()) job.region = parse_region(region);
  if (!pitch.empty()) {
    if (!job.region) usage_error("--pitch needs --region, which says how many pixels a row has");
    job.pitch = whole_number("--pitch", pitch, 1, most_pixels);
  }
  job.memory = memory_limit(common);
  job.device = common.device;
  job.plot = !plot.empty();
  job.verify = common.verify;
  return job;
}

std::optional<WeightedJob> HistogramCommandOptions::weighted_job() const {
  if (weights.empty()) {
    if (variances || weights_format != "auto" || !weights_dtype.empty() || !weights_column.empty()) {
      usage_error("--variances, --weights-format, --weights-dtype and --weights-column need --weights");
    }
    return std::nullopt;
  }
  const auto refuse = [](bool given, std::string_view option) {
    if (given) usage_error(fmt::format("--weights and {} exclude each other", option));
  };
  refuse(cumulative, "--cumulative");
  refuse(log_counts, "--log-counts");
  refuse(!plot.empty(), "--plot");
  refuse(strategy != "auto", "--strategy");
  refuse(!common.digits.empty(), "--digits");
  if (!joint && input.inputs.size() > 1) usage_error("--weights takes one input, or columns with --joint");
  if (weights == "-" && std::count(input.inputs.begin(), input.inputs.end(), "-") > 0) {
    usage_error("values and weights can't both come from standard input");
  }
  WeightedJob job;
  job.weights = weights;
  job.variances = variances;
  job.from = source_options(input, common);
  job.from.format = io::input_format_from_name(weights_format);
  job.from.dtype.reset();
  job.from.offset = 0;
  job.from.count.reset();
  if (!weights_dtype.empty()) job.from.dtype = dtype_from_name(weights_dtype);
  job.from.column = weights_column;
  job.from.header = input.header || is_column_name(weights_column);
  // An entry left out would part the weights from their values.
  job.from.strict = true;
  return job;
}

}  // namespace masu::cli
