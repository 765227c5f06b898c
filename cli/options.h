// SPDX-License-Identifier: Apache-2.0
// The options that several subcommands share, and the reading of their values.
#pragma once

#include "program.h"

#include <masu/device.h>
#include <masu/io.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

struct CommonOptions {
  std::string device;
  std::string threads;
  std::string memory;
  std::string tmpdir;
  std::string output;
  std::string format;  // of the result; "": by the ending of `output`
  std::string digits;
  std::string progress = "auto";
  bool json = false;
  bool quiet = false;
  bool time = false;
  bool verify = false;
};

struct InputOptions {
  std::vector<std::string> inputs;
  std::string format = "auto";
  std::string dtype;
  std::string offset;
  std::string count;
  std::string endian = "little";
  std::vector<std::string> columns;
  std::string delimiter;
  std::string decimal;
  std::optional<std::string> comment;
  bool header = false;
  bool strict = false;
  bool alpha = true;
  bool every_column = false;  // of a text, where none is chosen: they are a matrix
  bool words = false;         // whether texts and dates are taken too
  bool dates = false;         // whether dates are, and no texts
  bool text = false;          // --text
  bool ignore_case = false;   // of texts
  bool any_order = false;     // of texts
  std::string needed_by;      // what needs every entry of a text
  bool places = false;        // of numbers in a text will be asked for
};

// What commands of one INPUT, taken as an array, have in common.
struct ArrayOptions {
  CommonOptions common;
  InputOptions input;
  std::string rows;
  std::string group;  // columns whose entries make groups
  std::string group_order = "first";
};

// --device and --threads, for commands that compute.
void add_device_options(const Subcommand& app, CommonOptions& options);
inline constexpr const char* result_formats = "table|csv|tsv|json|npy|raw";
// All the others of CommonOptions, for commands that turn inputs into a result in one of these formats.
void add_common_options(const Subcommand& app, CommonOptions& options, const char* formats = result_formats);
// INPUT… and how it is read.
void add_input_options(const Subcommand& app, InputOptions& options);

// --rows, for commands that find something of each row.
void add_rows_option(const Subcommand& app, ArrayOptions& options);

// --group and --group-order, for commands that find something of each group of a text's rows.
void add_group_options(const Subcommand& app, ArrayOptions& options);

// --alpha, for commands that take all numbers of an image alike: without it they leave alpha out.
void add_alpha_option(const Subcommand& app, InputOptions& options);

// --text, for commands that take texts and dates too; with `cases` --ignore-case, for those that count texts.
void add_words_options(const Subcommand& app, InputOptions& options, bool cases);

// --digits, for commands that print numbers as tables or lines.
void add_digits_option(const Subcommand& app, CommonOptions& options);

// sum, mean, …: what --op of masu reduce takes (arrays/reduce.cpp).
std::vector<std::string> reduce_op_names();

// --result: what sums and the like are rounded to, and its value.
void add_result_option(const Subcommand& app, std::string& result);
Dtype parse_result(const std::string& result);

// --memory.
std::optional<std::uint64_t> memory_limit(const CommonOptions& options);

// Whether the bar is drawn, as the options say it.
std::string progress_mode(const CommonOptions& common);

// Makes --threads, --memory, --digits and an explicit `--device auto` hold for this process; returns the options.
const CommonOptions& apply(CommonOptions& options);
// The columns of --column, each a list with commas; name:X is one.
std::vector<std::string> listed_columns(const InputOptions& input);
// Whether a --column is no number: the first line of the text names the columns then.
bool is_column_name(const std::string& column);
// How io::open shall read the inputs.
io::SourceOptions source_options(const InputOptions& input, const CommonOptions& common);

// The parts of a text between the separators, empty ones too: one more than there are separators.
std::vector<std::string> split(const std::string& text, char separator = ',');
// What from_name() makes of an option's value; `words` are for the message.
template <class T>
T named(std::string_view option, const std::string& words, const std::string& text, T (*from_name)(std::string_view)) {
  try {
    return from_name(text);
  } catch (const Error&) {
    usage_error(std::string(option) + " takes " + words + ", got '" + text + "'");
  }
}
// Whether the value of an option that takes two words is the second of them.
bool is_second(std::string_view option, const std::string& text, std::string_view first, std::string_view second);
// A whole number of at least `least` and at most `most`, 64Ki and 10M included; `option` is for the message.
std::uint64_t whole_number(std::string_view option, const std::string& text, std::uint64_t least, std::uint64_t most);
// --rows: equal blocks of the input, 1 where nothing is said.
std::uint64_t row_count(const std::string& rows);
// A decimal number; nan and inf are read too.
double real_number(std::string_view option, std::string_view text);

// What an option's value may be. The text after an option in its help says it: words joined by '|', of which those in
// lower case are meant literally and those in capitals are names of the table here.
enum class ValueKind { other, words, file, folder };

struct ValueName {
  std::string_view name;
  ValueKind kind = ValueKind::other;
  std::vector<std::string> words;  // literally, as the command takes them
};

// The table, from which --help, the manual and the completions are made.
const std::vector<ValueName>& value_names();
// "a, b or c" of the words of a name.
std::string words_of(std::string_view name);

// What may follow an option: literal words, and whether a file or a folder.
struct Candidates {
  std::vector<std::string> words;
  bool file = false;
  bool folder = false;
};
Candidates candidates(const std::string& type_name);

}  // namespace masu::cli
