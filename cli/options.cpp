// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include "elements/dtypes.h"
#include "ranks.h"

#include "text.h"

#include <fmt/format.h>
#include <malloc.h>
#include <masu/convert.h>
#include <masu/histogram.h>
#include <masu/quantile.h>
#include <masu/sort.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <system_error>

namespace masu::cli {
namespace {
constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
}

void add_device_options(const Subcommand& app, CommonOptions& options) {
  const Subcommand run = app.group("Running");
  run.add_option("--device", options.device, "ID", "cpu, opencl:N, cuda:N, a part of a name (opencl:NVIDIA), or auto");
  run.more().add_option("--threads", options.threads, "N", "Use at most N threads on the CPU");
}

void add_common_options(const Subcommand& app, CommonOptions& options, const char* formats) {
  const Subcommand result = app.group("Result");
  result.add_option("-o,--output", options.output, "FILE", "Write the result to FILE, whole or not at all");
  result.add_option("--format", options.format, formats, "The form of the result (by the ending of -o, else table)");
  result.add_flag("--json", options.json, "Write the result as JSON");
  add_device_options(app, options);
  const Subcommand run = app.group("Running");
  run.add_option("--memory", options.memory, "BYTES", "Hold at most so much of the data in memory");
  run.more().add_option("--tmpdir", options.tmpdir, "DIR",
                        "Directory of temporary files: streams that are read twice, sorted runs");
  run.more().add_option("--progress", options.progress, "auto|always|never",
                        "Show a bar on standard error (auto: on a terminal)");
  run.more().add_flag("--quiet", options.quiet, "No notes and no progress on standard error");
  run.more().add_flag("--time", options.time, "Print how long reading, transfer and computing took");
  run.more().add_flag("--verify", options.verify, "Recompute by a plain sequential program and compare");
}

void add_digits_option(const Subcommand& app, CommonOptions& options) {
  app.group("Result").add_option("--digits", options.digits, "N|full",
                                 "Print floats with N significant digits, 1 to 17; JSON, CSV and .npy have all");
}

void add_input_options(const Subcommand& app, InputOptions& options) {
  app.add_option(
         "INPUT", options.inputs, "",
         "A file (text, JSON, .npy, .npz[:NAME], image, raw; masu formats lists all), or - for standard input.\n"
         "No INPUT is -, unless that is a terminal. Or a generator:\n"
         "random:DTYPE:N[:dist=D][:lo=A][:hi=B][:seed=S], iota:DTYPE:N, zeros:DTYPE:N")
      .required();
  const Subcommand in = app.group("Input");
  in.add_option("--dtype", options.dtype, "DTYPE|CODED",
                "Element type of raw and text input: " + words_of("DTYPE") + ".\nRaw input also: " + words_of("CODED"));
  in.add_option("--column", options.columns, "NAME|N",
                "Text input: its name, which implies --header, or its number from 1; name:X, number:N say which.\n"
                "JSON: the key, a.b for b of the object a")
      .one_value();
  in.add_option("-t,--delimiter", options.delimiter, "tab|comma|semicolon|pipe|space|blanks|C",
                "Text input: what separates fields (the first line decides); blanks: runs of white space");
  in.add_flag("--header", options.header, "Text input: the first line names the columns");
  const Subcommand more = in.more();
  more.add_option("--input-format", options.format, "auto|raw|text|npy|image|json",
                  "How to read it (auto: by content)");
  more.add_option("--offset", options.offset, "BYTES", "Raw input: bytes to skip");
  more.add_option("--count", options.count, "N", "Raw input: read at most N elements");
  more.add_option("--endian", options.endian, "little|big", "Raw input: the order of bytes (little)");
  more.add_option("--decimal", options.decimal, ".|,", "Text input: the decimal mark (.)");
  more.add_option("--comment", options.comment, "TEXT",
                  "Text input: what starts a comment where a line or a field begins (lines that begin with #,\n"
                  "where there is no header)");
  more.add_flag("--strict", options.strict, "Text input: an entry or a line that cannot be read is an error");
}

void add_rows_option(const Subcommand& app, ArrayOptions& options) {
  app.more().add_option("--rows", options.rows, "N", "Those of each of N equal blocks of the input");
}

void add_group_options(const Subcommand& app, ArrayOptions& options) {
  app.add_option("--group", options.group, "NAME|N,...",
                 "Text input: the results of each distinct entry of that column, or of several together");
  app.more().add_option("--group-order", options.group_order, "first|sorted",
                        "Groups as they first appear, or sorted: by number where all are numbers");
}

void add_alpha_option(const Subcommand& app, InputOptions& options) {
  options.alpha = false;
  app.group("Input").more().add_flag("--alpha", options.alpha,
                                     "Image input: read the alpha channel too, else left out");
}

void add_words_options(const Subcommand& app, InputOptions& options, bool cases) {
  options.words = true;
  const Subcommand in = app.group("Input").more();
  in.add_flag("--text", options.text, "Text input: all entries are texts, numbers and dates too");
  if (cases) in.add_flag("-i,--ignore-case", options.ignore_case, "Texts that differ only in case (A to Z) are one");
}

void add_result_option(const Subcommand& app, std::string& result) {
  app.more().add_option("--result", result, "FLOAT",
                        "Round sums and the like to it, once (f64); sums of integers stay integers");
}

Dtype parse_result(const std::string& result) {
  const Dtype found = named("--result", words_of("FLOAT"), result, dtype_from_name);
  if (is_float(found)) return found;
  usage_error("--result takes " + words_of("FLOAT") + ", got '" + result + "'");
}

const CommonOptions& apply(CommonOptions& options) {
  if (!options.threads.empty()) {
    set_cpu_threads(static_cast<unsigned>(whole_number("--threads", options.threads, 1, 1U << 16)));
  }
  if (options.digits == "full") {
    set_table_digits(0);
  } else if (!options.digits.empty()) {
    if (options.digits.find_first_not_of("0123456789") != std::string::npos) {
      usage_error("--digits takes a whole number from 1 to 17, or full, got '" + options.digits + "'");
    }
    set_table_digits(static_cast<int>(whole_number("--digits", options.digits, 1, 17)));
  }
  // What is freed goes back to the system: glibc would raise this threshold with every large block, and keep them.
  if (!options.memory.empty()) ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  if (options.device == "auto") {  // said here, it goes before the environment
    unsetenv("MASU_DEVICE");
    options.device.clear();
  }
  return options;
}

std::optional<std::uint64_t> memory_limit(const CommonOptions& options) {
  if (options.memory.empty()) return std::nullopt;
  return whole_number("--memory", options.memory, 1, std::uint64_t{1} << 40U);
}

std::string progress_mode(const CommonOptions& common) {
  if (!ranks().first()) return "never";
  return common.quiet && common.progress == "auto" ? "never" : common.progress;
}

std::vector<std::string> listed_columns(const InputOptions& input) {
  std::vector<std::string> columns;
  for (const std::string& given : input.columns) {
    if (given.starts_with("name:")) columns.push_back(given);
    else std::ranges::move(split(given), std::back_inserter(columns));
  }
  return columns;
}

bool is_column_name(const std::string& column) {
  const std::size_t begin = column.starts_with("number:") ? std::string_view("number:").size() : 0;
  return column.find_first_not_of("0123456789", begin) != std::string::npos;
}

io::SourceOptions source_options(const InputOptions& input, const CommonOptions& common) {
  io::SourceOptions result;
  result.format = io::input_format_from_name(input.format);
  if (input.dtype.starts_with("f8") || input.dtype.starts_with("float8")) {
    result.float8 = named("--dtype", words_of("CODED"), input.dtype, float8_from_name);
    result.dtype = Dtype::f32;  // as which they are read
    if (result.format == io::InputFormat::text || result.format == io::InputFormat::json) {
      usage_error("--dtype {} is that of raw and .npy input, not of texts", input.dtype);
    }
  } else if (!input.dtype.empty()) {
    result.dtype = named("--dtype", words_of("DTYPE"), input.dtype, dtype_from_name);
  }
  if (!input.offset.empty()) result.offset = whole_number("--offset", input.offset, 0, no_limit);
  if (!input.count.empty()) result.count = whole_number("--count", input.count, 0, no_limit);
  result.boolean = input.dtype == "bool";
  result.alpha = input.alpha;
  result.endian = is_second("--endian", input.endian, "little", "big") ? io::Endian::big : io::Endian::little;
  result.one_column = !input.every_column && input.columns.empty();
  result.delimiter = input.delimiter == "\\t" ? "\t" : input.delimiter;
  result.header = input.header || std::ranges::any_of(input.columns, is_column_name);
  result.comment = input.comment;
  result.decimal = input.decimal;
  result.strict = input.strict;
  if (input.text && !input.dtype.empty()) usage_error("--text and --dtype exclude each other");
  if (input.text && ranks().several()) usage_error("several ranks read numbers alone, so not --text");
  if (input.words && input.text) result.entries = io::Entries::texts;
  else if (input.words && !ranks().several()) result.entries = io::Entries::any;
  else if (input.dates && !ranks().several()) result.entries = io::Entries::instants;
  result.ignore_case = input.ignore_case;
  result.any_order = input.any_order;
  result.needed_by = input.needed_by;
  result.places = input.places && input.needed_by.empty();  // else there are no gaps
  result.map = true;
  result.tmpdir = common.tmpdir;
  result.reading = [bar = std::make_shared<Progress>(progress_mode(common))](std::uint64_t read, std::uint64_t all) {
    bar->show("reading", read, all == 0 ? std::nullopt : std::optional(all));
  };
  result.memory = memory_limit(common).value_or(0) / 2;
  return result;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_second(std::string_view option, const std::string& text, std::string_view first, std::string_view second) {
  if (text != first && text != second) usage_error("{} takes {} or {}, got '{}'", option, first, second, text);
  return text == second;
}

std::uint64_t whole_number(std::string_view option, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::optional<std::uint64_t> value;
  try {
    value = io::parse_size(text);
  } catch (const Error&) {  // reported below, with the option's name
  }
  if (!value || *value < least || *value > most) {
    const std::string limit =
        most == no_limit ? fmt::format("of at least {}", least) : fmt::format("from {} to {}", least, most);
    constexpr std::uint64_t example = 10'000'000;
    usage_error("{} takes a whole number {}{}, got '{}'", option, limit,
                least < example && most > example ? " (4096, 64Ki, 1e6, 10MB)" : "", text);
  }
  return *value;
}

std::uint64_t row_count(const std::string& rows) {
  return rows.empty() ? 1 : whole_number("--rows", rows, 1, std::uint64_t{1} << 40U);
}

double real_number(std::string_view option, std::string_view text) {
  double value = 0;
  const char* begin = text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range && rest == end) {
    usage_error("{} takes numbers of f64, got '{}'", option, text);
  }
  if (error != std::errc() || rest != end) usage_error("{} takes numbers, got '{}'", option, text);
  return value;
}

namespace {

// The names of an enumeration's values from the first to `last`.
template <class Enumeration>
std::vector<std::string> names_to(Enumeration last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(to_string(static_cast<Enumeration>(i)));
  return names;
}

std::vector<std::string> dtype_words() {
  std::vector<std::string> words;
  for (const DtypeNames& each : dtype_names) words.emplace_back(each.name);
  return words;
}
// The widest first: it is the usual one.
std::vector<std::string> float_words() {
  std::vector<std::string> words;
  for (const std::size_t bytes : {8, 4, 2}) {
    for (const DtypeNames& each : dtype_names) {
      if (is_float(each.dtype) && size_of(each.dtype) == bytes) words.emplace_back(each.name);
    }
  }
  return words;
}

bool literal(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

const std::vector<ValueName>& value_names() {
  static const std::vector<ValueName> table = {
      {"DTYPE", ValueKind::words, dtype_words()},
      {"CODED", ValueKind::words, names_to(Float8::e5m2)},
      {"RULE", ValueKind::words, names_to(Estimator::sqrt)},
      {"ALGORITHM", ValueKind::words, names_to(SortAlgorithm::merge)},
      {"METHOD", ValueKind::words, names_to(QuantileMethod::nearest)},
      {"FLOAT", ValueKind::words, float_words()},
      {"OP", ValueKind::words, reduce_op_names()},
      {"ROUNDING", ValueKind::words, names_to(Rounding::down)},
      {"STRATEGY", ValueKind::words, names_to(Strategy::partitioned)},
      {"ID", ValueKind::words, {"auto", "cpu", "opencl", "opencl:0", "cuda", "cuda:0"}},
      {"FILE", ValueKind::file, {}},
      {"@FILE", ValueKind::other, {}},
      {"INPUT", ValueKind::file, {"random:", "iota:", "zeros:"}},
      {"DIR", ValueKind::folder, {}},
  };
  return table;
}

std::string words_of(std::string_view name) {
  const auto& table = value_names();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const ValueName& entry) { return entry.name == name; });
  std::string text;
  for (std::size_t i = 0; found != table.end() && i < found->words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == found->words.size() ? " or " : ", ") + found->words[i];
  }
  return text;
}

Candidates candidates(const std::string& type_name) {
  Candidates result;
  for (const std::string& part : split(type_name, '|')) {
    if (literal(part)) result.words.push_back(part);
    for (const ValueName& entry : value_names()) {
      if (entry.name != part) continue;
      result.words.insert(result.words.end(), entry.words.begin(), entry.words.end());
      result.file = result.file || entry.kind == ValueKind::file;
      result.folder = result.folder || entry.kind == ValueKind::folder;
    }
  }
  return result;
}

}  // namespace masu::cli
