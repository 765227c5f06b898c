// SPDX-License-Identifier: Apache-2.0
// masu histogram: where its result goes.
#include "cli/arrays/array_stream.h"
#include "cli/groups/grouped_table.h"
#include "cli/histogram/histogram_job.h"
#include "options.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::cli {
namespace {

// The options of masu histogram, and the job that they describe.

// A form of the result.
struct Format {
  std::string_view name;
  void (*write)(const HistogramResult&, const WriteOptions&, const Sink&);
};

constexpr std::uint64_t most_pixels = std::uint64_t{1} << 40U;  // each way: products stay below 2^64

constexpr std::array<Format, 9> formats{{{"table", write_table},
                                         {"csv", write_csv},
                                         {"tsv", write_tsv},
                                         {"json", write_json},
                                         {"npy", write_npy},
                                         {"raw", write_raw},
                                         {"uhi", write_uhi},
                                         {"png", write_png},
                                         {"pnm", write_pnm}}};

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
  masu histogram table.csv --column created --bins month
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

struct HistogramCommandOptions : ArrayOptions {
  BinsTexts bins;
  std::string channels;
  std::string region;
  std::string pitch;
  std::string outside = "drop";
  std::string strategy = "auto";
  PictureOptions picture;
  std::string weights;
  std::string weights_format = "auto";
  std::string weights_dtype;
  std::string weights_column;
  std::string limit;
  bool variances = false;
  bool joint = false;
  bool right_open = false;
  WriteOptions write;

  void add_to(const Subcommand& app) {
    const Subcommand which = app.group("Bins");
    which.add_option("--bins", bins.bins, "N|RULE",
                     "N equal bins over --range, or over the data's range. Or as many as NumPy's rule finds:\n" +
                         words_of("RULE") + ". Of dates: minute, hour, day, month or year");
    which.add_option("--range", bins.range, "LO:HI", "The edges of the first and the last bin (-1:1)");
    which.add_option("--edges", bins.edges, "A,B,...|@FILE", "The bins' edges, or a file with them");
    which.more().add_option("--integers", bins.integers, "N", "N bins: the value v goes to bin v");
    which.add_option("--width", bins.width, "W", "Bins of this width, between whole multiples of it");
    which.add_flag("--nice", bins.nice, "Round edges: at most about 30 bins, or --bins");
    which.add_flag("--log", bins.log, "The bins have equal ratios instead of equal widths");
    which.more().add_flag("--right-open", right_open, "The last bin does not hold its upper edge");
    which.more().add_option("--outside", outside, "drop|clamp",
                            "Values outside of the bins: drop (count apart) or clamp");

    const Subcommand shape = app.group("Shape");
    shape.more().add_option("--channels", channels, "N", "Interleaved channels, one histogram each");
    shape.more().add_option("--rows", rows, "N", "One histogram for each of N equal blocks of the input");
    shape.more().add_flag("--joint", joint,
                          "Count points: the inputs, columns or channels are their coordinates. The options of bins\n"
                          "hold for all columns, or have a value for each: --bins '100;50'");
    shape.more().add_option("--region", region, "X,Y,W,H", "Only the pixels of a rectangle");
    shape.more().add_option("--pitch", pitch, "BYTES", "With --region of data that is no image: bytes from row to row");
    add_group_options(shape, *this);

    const Subcommand by = app.group("Weights").more();
    by.add_option("--weights", weights, "FILE",
                  "Sum the weights in FILE, one for each value or point, instead of counting: exactly, rounded\n"
                  "once. Read as the input is, but for the options below");
    by.add_option("--weights-format", weights_format, "auto|raw|text|npy|image|json",
                  "How to read them (auto: by content)");
    by.add_option("--weights-dtype", weights_dtype, "DTYPE", "Element type of raw and text weights");
    by.add_option("--weights-column", weights_column, "NAME|N", "Text: the weights' column, its name or number from 1");
    by.add_flag("--variances", variances, "Also the sum of the squared weights of each bin");

    add_words_options(app, input, true);
    const Subcommand result = app.group("Result");
    result.more().add_option("--limit", limit, "N",
                             "Of texts: bars of the N most frequent ones, and one of all others (20)");
    result.add_flag("--density", write.density, "Also counts / sum / width, so that the integral is 1");
    result.more().add_flag("--cumulative", write.cumulative, "Also the sum of the counts up to each bin");
    result.add_flag("--percent", write.percent, "Also the share of all values, per cent");
    result.more().add_flag("--equalize", write.equalize,
                           "Also the gray level, 0 to 255, that evens the counts out: a tone curve.\n"
                           "With -o FILE.png, .pgm or .ppm: the image of these levels");
    result.more().add_flag("--otsu", write.otsu,
                           "Also the edge that best parts dark from bright. With -o FILE.png, .pgm or .ppm:\n"
                           "the image in black and white, parted there");
    result.add_flag("--log-counts", write.log_counts, "Bars by the logarithm of the counts, in table and plot");
    result.add_option("--plot", picture.path, "FILE", "Draw it to FILE too: .svg, .png or .pdf; svg:- prints it");
    const Subcommand drawn = app.group("Plot").more();
    drawn.add_option("--title", picture.title, "TEXT", "Instead of the file's name and the column");
    drawn.add_option("--size", picture.size, "WxH", "In pixels (800x500, and twice as many each way in a PNG)");
    drawn.add_flag("--dark", picture.dark, "Bright lines on a dark page");
    which.more().add_option("--strategy", strategy, "STRATEGY",
                            "How to count, with the same result: " + words_of("STRATEGY"));
  }
  // These throw invalid_argument for values that no input can suit.
  [[nodiscard]] HistogramJob job() const {
    HistogramJob job;
    job.weights = weighted_job();
    // Texts and dates are one column, counted.
    InputOptions of_values = input;
    of_values.any_order = true;
    const bool of_names = !joint && rows.empty() && weights.empty() && region.empty() && channels.empty() &&
                          !write.equalize && !write.otsu && group.empty();
    of_values.words = of_names && !write.cumulative;
    of_values.dates = of_names && write.cumulative;
    of_values.every_column = joint || !rows.empty() || !region.empty() || !channels.empty();
    if (!of_values.words && (input.text || input.ignore_case)) usage_error("texts of one column are counted alone");
    job.source = source_options(of_values, common);
    // A value that cannot be read would part the weights from their values. Of empty ones the places are known.
    if (job.weights) {
      job.source.needed_by = "--weights";
      job.source.places = job.weights->from.places = !of_values.every_column;
    }
    job.columns = input.columns;
    job.bins = parse_bins(bins, joint);
    job.joint = joint;
    job.options.right_open = right_open;
    job.options.strategy = strategy_from_name(strategy);
    job.options.outside = is_second("--outside", outside, "drop", "clamp") ? Outside::clamp : Outside::drop;
    if (!channels.empty()) job.channels = static_cast<unsigned>(whole_number("--channels", channels, 1, 16));
    if (!rows.empty()) job.rows = whole_number("--rows", rows, 1, std::uint64_t{1} << 32U);
    if (joint && job.rows) usage_error("--joint and --rows exclude each other");
    if (joint && write.cumulative) usage_error("--joint and --cumulative exclude each other");
    if ((joint || job.weights) && (write.equalize || write.otsu))
      usage_error("--equalize and --otsu need counts of one column");
    if (job.weights && write.percent) usage_error("--weights and --percent exclude each other");
    if (!region.empty()) job.region = parse_region(region);
    if (!pitch.empty()) {
      if (!job.region) usage_error("--pitch needs --region, which says how many pixels a row has");
      job.pitch = whole_number("--pitch", pitch, 1, most_pixels);
    }
    job.memory = memory_limit(common);
    job.device = common.device;
    job.plot = !picture.path.empty();
    job.verify = common.verify;
    return job;
  }
  // What --weights asks for; nothing without it.
  [[nodiscard]] std::optional<WeightedJob> weighted_job() const {
    if (weights.empty()) {
      if (variances || weights_format != "auto" || !weights_dtype.empty() || !weights_column.empty()) {
        usage_error("--variances, --weights-format, --weights-dtype and --weights-column need --weights");
      }
      return std::nullopt;
    }
    const auto refuse = [](bool given, std::string_view option) {
      if (given) usage_error("--weights and {} exclude each other", option);
    };
    refuse(write.cumulative, "--cumulative");
    refuse(write.log_counts, "--log-counts");
    refuse(strategy != "auto", "--strategy");
    refuse(!common.digits.empty(), "--digits");
    if (!joint && input.inputs.size() > 1) usage_error("--weights takes one input, or columns with --joint");
    if (weights == "-" && std::count(input.inputs.begin(), input.inputs.end(), "-") > 0) {
      usage_error("values and weights can't both come from standard input");
    }
    WeightedJob job;
    job.input = weights;
    job.variances = variances;
    job.from = source_options(input, common);
    job.from.entries = io::Entries::numbers;
    job.from.format = io::input_format_from_name(weights_format);
    job.from.dtype.reset();
    job.from.boolean = weights_dtype == "bool";
    job.from.offset = 0;
    job.from.count.reset();
    if (!weights_dtype.empty())
      job.from.dtype = named("--weights-dtype", words_of("DTYPE"), weights_dtype, dtype_from_name);
    job.from.column = weights_column;
    job.from.header = input.header || is_column_name(weights_column);
    // An entry left out would part the weights from their values.
    job.from.needed_by = "--weights";
    return job;
  }
  [[nodiscard]] const Format& chosen_format() const {
    const std::string& format = common.format;
    const std::string_view pictures = common.json ? "" : " .png .pnm .pgm .ppm";
    if (format.empty()) check_ending("-o", common.output, fmt::format(".txt .json .csv .tsv .npy{}", pictures));
    if (common.json) {
      if (!format.empty() && format != "json") usage_error("--json and --format " + format + " exclude each other");
      return *find_format("json");
    }
    if (!format.empty()) {
      if (const Format* found = find_format(format)) return *found;
      usage_error("--format takes table, csv, tsv, json, npy, raw, uhi, png or pnm, got '" + format + "'");
    }
    const std::size_t dot = common.output.rfind('.');
    std::string ending = dot == std::string::npos ? "" : common.output.substr(dot + 1);
    if (ending == "pgm" || ending == "ppm") ending = "pnm";
    const Format* found = find_format(ending);
    return found != nullptr && found->name != "raw" && found->name != "uhi" ? *found : formats.front();
  }
};

void print_notes(const HistogramResult& result, bool outsiders, bool verified) {
  const std::string& name = result.source.name;
  const char* const what = result.joint ? "points" : "values";
  tell_notes(result.source);
  for (const auto& [input, text] : result.texts) note_report(input, text);
  if (outsiders && result.outsiders() > 0) {
    note(fmt::format("masu: {}: {} {} lie in no bin", name, result.outsiders(), what));
  }
  if (verified) note(fmt::format("verified: {}{} {}", result.weighted ? "the totals of " : "", result.n(), what));
}

void make_visible(HistogramResult& result, const Format& form, bool to_stdout) {
  // JSON has escapes of its own, and a CSV file is no terminal.
  const bool lines = form.name == "csv" || form.name == "tsv";
  if (form.name != "table" && !(lines && to_stdout && is_terminal(STDOUT_FILENO))) return;
  result.source.name = visible(result.source.name);
  result.weights = visible(result.weights);
  for (std::string& name : result.names) name = visible(name);
  for (std::string& name : result.group_names) name = visible(name);
  for (std::vector<std::string>& group : result.groups)
    for (std::string& entry : group) entry = visible(entry);
}

void tell(const HistogramResult& result, const Format& form, const CommonOptions& common) {
  const bool outsiders_unseen = !result.weighted && form.name != "table" && form.name != "json" && form.name != "uhi";
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

Exit run_command(HistogramCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  Progress progress(progress_mode(common));
  HistogramJob work = asked.job();
  const Format& form = asked.chosen_format();
  const bool to_stdout = common.output.empty() || common.output == "-";
  const std::span<const std::string> inputs = asked.input.inputs;
  const bool several = inputs.size() > 1 && !work.joint;
  WriteOptions options = asked.write;
  options.several = several;
  if (several && std::count(inputs.begin(), inputs.end(), "-") > 1) usage_error("standard input can be one INPUT only");
  const bool is_picture = form.name == "png" || form.name == "pnm";
  if (is_picture) {
    if (options.equalize == options.otsu)
      usage_error("a {} is made by --equalize or by --otsu; --plot draws the histogram", form.name);
    if (work.joint || work.rows || !asked.group.empty() || ranks().several())
      usage_error("a {} is made of one INPUT, without --joint, --rows, --group and mpirun", form.name);
    if (options.density || options.cumulative || options.percent || !asked.picture.path.empty())
      usage_error("a {} goes without --density, --cumulative, --percent and --plot", form.name);
    work.picture = options.equalize ? MappedPicture::equalized : MappedPicture::parted;
    work.source.alpha = false;
  }
  if (is_picture || form.name == "npy" || form.name == "raw") {
    if (several) usage_error("--format {} takes one input", form.name);
    if (options.density && options.cumulative)
      usage_error("--format {} holds --density or --cumulative, not both", form.name);
    if (to_stdout && is_terminal(STDOUT_FILENO))
      usage_error("--format {} does not go to a terminal; use -o FILE", form.name);
  }
  if (form.name == "uhi") {
    if (several) usage_error("--format uhi takes one input");
    if (options.density || options.cumulative) usage_error("--format uhi has no --density and no --cumulative");
  }

  PictureOptions& picture = asked.picture;
  const bool draws = !picture.path.empty();
  check_picture(picture, work.joint ? 1 : inputs.size(), work.weights && (work.joint || work.rows));
  if (draws) {
    if (several && (work.rows || ranks().several())) usage_error("--plot takes one input with --rows or under mpirun");
    if (is_same_output(picture.to_stdout() ? "-" : picture.path, common.output))
      usage_error("-o and --plot must be two files");
    if (is_column_name(asked.weights_column)) picture.weights = asked.weights_column;
    for (const std::string& column : asked.input.columns)
      picture.column += (picture.column.empty() ? "" : ", ") + (is_column_name(column) ? column : "column " + column);
    if (options.density && options.cumulative) usage_error("--plot draws --density or --cumulative, not both");
  }

  std::optional<GroupedTable> table;
  if (!asked.group.empty()) {
    if (work.joint || work.weights || work.region || work.channels) {
      usage_error("--group excludes --joint, --weights, --region and --channels");
    }
    if (several) usage_error("--group takes one INPUT here, got {}", inputs.size());
    asked.input.words = false;
    asked.input.dates = true;
    table.emplace(asked, GroupedTable::Use());
    work.table = &*table;
  }

  std::optional<io::OutputFile> file;
  if (!to_stdout && ranks().first()) file.emplace(common.output);
  if (!asked.limit.empty()) options.limit = whole_number("--limit", asked.limit, 1, most_pixels);
  options.on_terminal = to_stdout && is_terminal(STDOUT_FILENO);
  options.colours = to_stdout && colours();
  options.width = output_width();
  options.utf8 = block_characters();
  // A picture may be all that is wanted.
  const bool writes = !draws || !to_stdout || !(picture.to_stdout() || (common.quiet && &form == &formats.front()));
  work.summaries = form.name == "table" && writes;
  std::vector<HistogramResult> results;  // that are drawn
  if (several && ranks().several()) return run_dealt(asked, work, form, options, file, progress);
  for (std::size_t i = 0; i < (several ? inputs.size() : 1); ++i) {
    HistogramResult result = run_histogram(work, several ? inputs.subspan(i, 1) : inputs, progress);
    if (!ranks().first()) return Exit::done;
    if (options.density && result.source.names) {
      usage_error("--density is per unit of a number, {} has {}; --percent has shares", result.source.name,
                  has_texts(result) ? "texts" : "dates");
    }
    make_visible(result, form, to_stdout);
    // On standard output each result stands on its own; a file appears when all are done.
    std::optional<io::OutputFile> stream;
    if (to_stdout) stream.emplace("-");
    io::OutputFile& output = to_stdout ? *stream : *file;
    if (writes) form.write(result, options, [&](std::string_view text) { output.write(text); });
    if (to_stdout) stream->commit();
    options.first = false;
    tell(result, form, common);
    if (draws) results.push_back(std::move(result));
  }
  if (draws) {
    if (file) file->finish();
    write_picture(results, options, picture);
  }
  if (file) file->commit();
  return Exit::done;
}

}  // namespace

void add_histogram(CommandLine& line) {
  array_command<HistogramCommandOptions>(
      line, "histogram", "Count how many values fall into each bin", histogram_examples, Printed::numbers, run_command,
      [](const Subcommand& app, HistogramCommandOptions& options) { options.add_to(app); }, "hist",
      "table|csv|tsv|json|npy|raw|uhi|png|pnm");
}

}  // namespace masu::cli
