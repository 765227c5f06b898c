// SPDX-License-Identifier: Apache-2.0
// masu reduce: sums, means, extremes and the like.
#include "cli/arrays/array_stream.h"
#include "cli/arrays/columns.h"
#include "cli/arrays/reduce_job.h"
#include "cli/sort/external_sort.h"
#include "command.h"
#include "element_text.h"
#include "errors.h"
#include "json.h"
#include "ranks.h"
#include "value_names.h"

#include <fmt/format.h>
#include <masu/sum.h>
#include <algorithm>
#include <memory>

namespace masu::cli {
namespace {

constexpr const char* reduce_examples = R"(Examples:
  masu reduce samples.npy
  masu reduce samples.npy --op sum
  masu reduce prices.csv --header --column price --op mean,variance --ddof 1 --json
  masu reduce table.raw --dtype f32 --rows 1000 --op norm2 -o norms.npy)";

struct ReduceCommandOptions {
  CommonOptions common;
  InputOptions input;
  std::string ops = "sum,mean,min,max";
  std::string ddof = "0";
  std::string rows;
  std::string result = "f64";
};

std::vector<std::string> parse_ops(const std::string& text) {
  const std::vector<std::string> known = reduce_op_names();
  std::vector<std::string> ops;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    ops.push_back(text.substr(begin, end - begin));
    begin = end + 1;
    if (std::find(known.begin(), known.end(), ops.back()) == known.end()) {
      usage_error(fmt::format("--op takes a list of {}, got '{}'", words_of("OP"), ops.back()));
    }
    if (std::count(ops.begin(), ops.end(), ops.back()) > 1) {
      usage_error(fmt::format("--op has {} twice", ops.back()));
    }
  }
  return ops;
}

void verify(const ArrayView& data, const ReduceRequest& request, const ReduceFound& found) {
  const std::vector<ReduceColumn> expected = reference_reduce(data, request);
  for (std::size_t op = 0; op < expected.size(); ++op) {
    const ReduceColumn& got = found.columns[op];
    if (got.dtype == expected[op].dtype && got.bytes == expected[op].bytes) continue;
    throw Differs(fmt::format("the {} differs from the reference's", request.ops[op]));
  }
}

std::string json_values(const ReduceColumn& column, bool rows) {
  if (!rows) return json_element(column.view(), 0);
  std::string text = "[";
  for (std::uint64_t row = 0; row < column.view().count; ++row) {
    text += (row == 0 ? "" : ",") + json_element(column.view(), row);
  }
  return text + "]";
}

// As lines of one value, or as one line of JSON.
void write_values(const ReduceRequest& request, const ReduceFound& found, const std::string& json_rest,
                  const CommonOptions& common, ColumnsForm form) {
  io::OutputFile output(common.output.empty() ? "-" : common.output);
  if (form == ColumnsForm::json) {
    output.write("{");
    for (std::size_t op = 0; op < request.ops.size(); ++op) {
      output.write(
          fmt::format("\"{}\":{},", request.ops[op], json_values(found.columns[op], request.row_length.has_value())));
    }
    output.write(json_rest + "}\n");
  } else {
    for (std::uint64_t row = 0; row < request.rows; ++row) {
      for (const ReduceColumn& column : found.columns) output.write(table_element(column.view(), row) + "\n");
    }
  }
  output.commit();
}

// As CSV with a line for each row, or as an array of one operation's values.
void write_table(const ReduceRequest& request, const ReduceFound& found, const CommonOptions& common,
                 ColumnsForm form) {
  ColumnsResult result;
  for (const std::string& name : request.ops) result.heads.push_back({name, name});
  result.pieces = [&](const ColumnsResult::Taker& take) {
    std::vector<ArrayView> views;
    for (const ReduceColumn& column : found.columns) views.push_back(column.view());
    take(views);
  };
  if (request.row_length && form == ColumnsForm::csv) result.rows.assign(request.rows, 1);
  write_columns(result, form, common);
}

Exit run_command(ReduceCommandOptions& asked) {
  const CommonOptions& common = asked.common;
  apply(asked.common);
  ReduceRequest request;
  request.ops = parse_ops(asked.ops);
  const ColumnsForm form = columns_form(common, request.ops.size() == 1);
  request.result = parse_result(asked.result);
  request.ddof = whole_number("--ddof", asked.ddof, 0, std::uint64_t{1} << 40U);
  request.rows = row_count(asked.rows);
  request.memory = memory_budget(memory_limit(common));
  ArrayStream stream(asked.input, common, Work::reading, "reduce", !asked.rows.empty());
  if (!asked.rows.empty()) request.row_length = stream.row_length(request.rows);
  const std::vector<std::byte> reference = common.verify ? stream.whole() : std::vector<std::byte>();
  const ReduceFound found = run_reduce(stream, request);
  const Seconds seconds = stream.seconds(found.transfer, found.compute);
  const Dtype dtype = stream.info().dtype;
  if (!ranks().first()) return Exit::done;
  if (common.verify) verify({dtype, reference.data(), found.count}, request, found);

  const std::string rest =
      fmt::format(R"("n":{},"dtype":"{}","device":{}{},{})", found.count, to_string(dtype),
                  json_string(stream.device().id()), json_bad_lines(stream.bad_lines()), json_seconds(seconds));
  if (form == ColumnsForm::table || form == ColumnsForm::json) write_values(request, found, rest, common, form);
  else write_table(request, found, common, form);
  note_result(common, stream.info().name, stream.bad_lines(), found.count);
  if (common.time) note_times(seconds, stream.bytes());
  return Exit::done;
}

}  // namespace

Command add_reduce(CommandLine& line) {
  const Subcommand app = line.add("reduce", "Exact sums and means, extremes, norms");
  auto options = std::make_shared<ReduceCommandOptions>();
  add_input_options(app, options->input);
  app.add_option("--op", options->ops, "What, parted by commas (sum,mean,min,max): " + words_of("OP")).type_name("OP");
  app.add_option("--ddof", options->ddof, "The variance, and std, its root, divide by n - N (0)").type_name("N");
  app.add_option("--rows", options->rows, "Those of each of N equal blocks of the input").type_name("N");
  add_result_option(app, options->result);
  add_common_options(app, options->common);
  add_digits_option(app, options->common);
  app.footer(reduce_examples);
  return {app, [options] { return run_command(*options); }};
}

}  // namespace masu::cli
