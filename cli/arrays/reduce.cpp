// SPDX-License-Identifier: Apache-2.0
// masu reduce: sums, means, extremes and the like; and the commands that are one of them.
#include "cli/arrays/array_stream.h"
#include "cli/arrays/quantile.h"
#include "cli/arrays/reduce_operations.h"
#include "cli/groups/grouped_table.h"
#include "cli/verify/references.h"
#include "options.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/reduce.h>
#include <masu/sum.h>
#include <algorithm>
#include <array>
#include <cstring>

namespace masu::cli {
namespace {

// Several operations in one pass.

struct ReduceFound {
  std::vector<Column> columns;  // in the order of the operations
  std::uint64_t count = 0;
  std::uint64_t own_count = 0;  // of this rank
  Times times;
};

constexpr std::uint64_t reduce_row_copies = 8;  // of a whole row, that memory has to hold

// Throws io where a result is not defined: extremes and means of nothing, integers that do not fit.
class ReduceJob {
 public:
  ReduceJob(ArrayStream& stream, const ReduceRequest& request)
      : stream_(stream),
        request_(request),
        reductions_(reductions_for(request)),
        totals_{request, sums_for(stream.device(), stream.info().dtype, request), Reduced(stream.info().dtype)} {}

  ReduceFound operator()() {
    const std::uint64_t length = request_.row_length.value_or(0);
    const std::uint64_t row_bytes = length * size_of(stream_.info().dtype);
    const bool short_rows = length > 0 && row_bytes <= request_.memory / reduce_row_copies;
    if (short_rows) stream_.limit_pieces(request_.memory / reduce_row_copies);
    Rows rows(
        length, short_rows, [&](const ArrayView& some, std::uint64_t count) { add_rows(some, count); },
        [&](const ArrayView& part, bool ends) {
          add_part(part);
          if (ends) end_row();
        });
    const bool median = std::ranges::find(request_.ops, "median") != request_.ops.end();
    if (request_.row_length) check_count(length);
    if (median) stream_.keep();
    // The median alone takes passes of its own, which count.
    const bool counted = !median || totals_.sums || !reductions_.empty();
    if (counted) {
      stream_.each([&](const ArrayView& piece) {
        found_.count += piece.count;
        if (totals_.sums) totals_.sums->add(piece);
        if (!reductions_.empty()) rows.add(piece);
      });
    }
    const bool none = found_.count == 0;
    found_.own_count = found_.count;
    if (counted) {
      found_.count = stream_.settle(found_.count);
      check_count(request_.row_length ? length : found_.count);
    }
    if (median) find_median();
    totals_.count = request_.row_length ? length : found_.count;
    totals_.rows = request_.row_length ? stream_.own_rows() : 1;
    totals_.skipped = all_left_out(stream_.report());
    if (totals_.sums) found_.times += totals_.sums->times();
    if (!request_.row_length) end_all();
    if (request_.row_length == 0) return of_empty_rows();
    const bool no_rows = none && request_.row_length;  // of a rank: there are some
    for (const std::string& name : request_.ops) {
      found_.columns.push_back(no_rows && name != "median" ? Column() : operation(name).column(totals_));
    }
    if (request_.row_length) join_rows();
    return std::move(found_);
  }

 private:
  void add_rows(const ArrayView& rows, std::uint64_t count) {
    for (const ReduceOp op : reductions_) {
      Times times;
      ReduceOptions how;
      how.rows = count;
      how.times = &times;
      totals_.reduced.append(reduce(stream_.device(), rows, op, how));
      found_.times += times;
    }
  }
  void add_part(const ArrayView& part) {
    if (row_.empty()) start_row();
    for (ReduceAccumulator& one : row_) one.add(part);
  }
  void start_row() {
    for (const ReduceOp op : reductions_) row_.emplace_back(stream_.device(), stream_.info().dtype, op);
  }
  void end_row() {
    if (row_.empty()) start_row();
    for (const ReduceAccumulator& one : row_) {
      totals_.reduced.append(one.result());
      found_.times += one.times();
    }
    row_.clear();
  }
  void find_median() {
    const QuantileFound found = find_quantiles(
        stream_, {{0.5}, QuantileMethod::linear, request_.memory, request_.rows, request_.row_length, "median"});
    found_.count = found.count;
    found_.times += found.times;
    // It is joined already.
    if (ranks().first()) totals_.median = values_of(found.quantiles, stream_.info().dtype);
  }
  // The one row of all elements, of all ranks.
  void end_all() {
    if (row_.empty()) start_row();
    if (totals_.sums) merge_states("sums", *totals_.sums, stream_.device());
    for (ReduceAccumulator& one : row_) {
      found_.times += one.times();
      merge_states("extremes", one, stream_.device());
    }
    end_row();
  }
  // The rows of all ranks, in their order.
  void join_rows() {
    for (Column& column : found_.columns) {
      // A rank without rows does not know the dtype.
      std::vector<Dtype> dtypes;
      if (!column.bytes.empty()) dtypes.push_back(column.dtype);
      column.dtype = join_ranks("dtype", std::move(dtypes)).front();
      column.bytes = join_ranks("rows", std::move(column.bytes));
    }
  }
  // Elements of each row.
  void check_count(std::uint64_t count) const {
    for (const std::string& name : request_.ops) {
      if (count >= least_count(name, request_)) continue;
      const std::string& input = stream_.info().name;
      if (count == 0) data_error("{}: there are no values, so no {}", input, name);
      data_error("{}: {} values are too few for {} with --ddof {}", input, count, name, request_.ddof);
    }
  }
  // Rows without elements: each result that they have is zero.
  ReduceFound of_empty_rows() {
    const bool integers = !is_float(stream_.info().dtype);
    const Dtype total = is_signed(stream_.info().dtype) ? Dtype::i64 : Dtype::u64;
    for (const std::string& name : request_.ops) {
      Column column(operation(name).is_count ? Dtype::u64 : name == "sum" && integers ? total : request_.result);
      column.bytes.resize(request_.rows * size_of(column.dtype));
      found_.columns.push_back(std::move(column));
    }
    return std::move(found_);
  }

  ArrayStream& stream_;
  const ReduceRequest& request_;
  std::vector<ReduceOp> reductions_;
  Totals totals_;
  std::vector<ReduceAccumulator> row_;  // of the row that is read
  ReduceFound found_;
};

constexpr const char* reduce_examples = R"(Examples:
  masu reduce samples.npy
  masu reduce samples.npy --op count,mean,std,median
  masu reduce prices.csv --header --column price --op mean,variance --ddof 1 --json
  masu reduce orders.csv --group city --column price,qty --op sum,mean
  masu reduce table.raw --dtype f32 --rows 1000 --op norm2 -o norms.npy)";

struct ReduceCommandOptions : ArrayOptions {
  std::string ops;
  std::string ddof = "0";
  std::string result = "f64";
};

std::vector<std::string> parse_ops(const std::string& text) {
  const std::vector<std::string> known = reduce_op_names();
  std::vector<std::string> ops = split(text);
  for (const std::string& op : ops) {
    if (std::find(known.begin(), known.end(), op) == known.end()) {
      usage_error("--op takes a list of {}, got '{}'", words_of("OP"), op);
    }
    if (std::count(ops.begin(), ops.end(), op) > 1) usage_error("--op has {} twice", op);
  }
  return ops;
}

// Those of --op, else the usual ones.
std::vector<std::string> ops_for(const ReduceCommandOptions& asked, const io::ValueNames* names) {
  return parse_ops(!asked.ops.empty() ? asked.ops : names == nullptr ? "sum,mean,min,max" : "mean,min,max");
}

// Whether the result is a value, or lies between values: it has the names that they have.
bool is_value(const std::string& op) {
  return op == "mean" || op == "min" || op == "max" || op == "median";
}

bool is_place(const std::string& op) {
  return op == "argmin" || op == "argmax";
}

// Asks for what dates have. Instants count from an arbitrary day, so a sum of them has no meaning.
void ask_for_instants(ReduceRequest& request, const ReduceCommandOptions& asked, const std::string& input,
                      const io::ValueNames* names) {
  if (names == nullptr) return;
  request.ops = ops_for(asked, names);
  request.result = Dtype::f64;  // has each microsecond of the dates in use
  for (const std::string& op : request.ops) {
    if (is_value(op) || is_place(op) || op == "count" || op == "skipped") continue;
    data_error("{}: dates have no {}: of them there are mean, min, max, median, argmin, argmax, count and skipped",
               input, op);
  }
}

void verify(const ArrayView& data, const ReduceRequest& request, const ReduceFound& found) {
  const std::vector<Column> expected = reference_reduce(data, request);
  for (std::size_t op = 0; op < expected.size(); ++op) {
    if (request.ops[op] == "skipped") continue;  // no fact about the values
    const Column& got = found.columns[op];
    if (got.dtype == expected[op].dtype && got.bytes == expected[op].bytes) continue;
    differs("the {} differs from the reference's", request.ops[op]);
  }
}

// The results of one group's values, `skipped` of which cannot be read. Too few of them have not all results: an empty
// column stands for these.
ReduceFound reduce_group(const Device& device, const ArrayView& values, std::uint64_t skipped,
                         const ReduceRequest& request, std::span<const ReduceOp> reductions) {
  Totals totals{request, sums_for(device, values.dtype, request), Reduced(values.dtype)};
  ReduceFound found;
  if (totals.sums) {
    totals.sums->add(values);
    found.times += totals.sums->times();
  }
  for (const ReduceOp op : reductions) {
    if (values.count == 0 && op != ReduceOp::count_nonzero) continue;
    Times times;
    ReduceOptions how;
    how.times = &times;
    totals.reduced.append(reduce(device, values, op, how));
    found.times += times;
  }
  totals.count = values.count;
  totals.skipped = skipped;
  if (std::ranges::find(request.ops, "median") != request.ops.end() && values.count != 0) {
    Times times;
    QuantileOptions how;
    how.times = &times;
    totals.median = values_of(exact_quantiles(device, values, std::array{0.5}, how), values.dtype);
    found.times += times;
  }
  for (const std::string& name : request.ops) {
    const bool enough = values.count >= least_count(name, request);
    found.columns.push_back(enough ? operation(name).column(totals) : Column());
  }
  found.count = values.count;
  return found;
}

// Without the results that too few values do not have.
void verify_group(const ArrayView& values, const ReduceRequest& request, const ReduceFound& found) {
  ReduceRequest some = request;
  ReduceFound got;
  some.ops.clear();
  for (std::size_t op = 0; op < request.ops.size(); ++op) {
    if (values.count < least_count(request.ops[op], request)) continue;
    some.ops.push_back(request.ops[op]);
    got.columns.push_back(found.columns[op]);
  }
  verify(values, some, got);
}

// One line a group, or without groups a line a column.
Exit run_groups(const ReduceCommandOptions& asked, ReduceRequest request, ColumnsForm form) {
  const bool places = std::any_of(request.ops.begin(), request.ops.end(), is_place);
  const GroupedTable table(asked, {.places = places, .several = true});
  const auto columns = table.columns();
  for (const GroupedTable::Values& column : columns) {
    ask_for_instants(request, asked, table.info().name, column.names.get());
  }
  const std::vector<ReduceOp> reductions = reductions_for(request);
  GroupResults results(table, request.ops);
  Times times;
  const auto place_of = [&](std::uint64_t group, const GroupedTable::Values& column) {
    return table.info().name + (table.names().empty() ? "" : ": group " + table.title(group)) +
           (columns.size() == 1 ? "" : ": column " + column.name);
  };
  table.each(
      [&](std::uint64_t group) {
        std::vector<ReduceFound> found;
        for (const GroupedTable::Values& column : columns) {
          const ArrayView values = column.view(group);
          // A total that no integer of 64 bits holds is the data's fault.
          found.push_back(with_data(place_of(group, column), [&] {
            return reduce_group(table.device(), values, table.skipped(group, column), request, reductions);
          }));
          if (asked.common.verify) verify_group(values, request, found.back());
        }
        return found;
      },
      [&](std::uint64_t group, const std::vector<ReduceFound>& found) {
        for (std::size_t c = 0; c < columns.size(); ++c) {
          for (std::size_t op = 0; op < request.ops.size(); ++op) {
            ArrayView value = found[c].columns[op].view();
            std::uint64_t place = 0;
            if (is_place(request.ops[op]) && value.count != 0) {
              place = bits_of(value, 0);
              columns[c].to_places(group, {&place, 1});
              value = ArrayView(Dtype::u64, &place, 1);
            }
            results.add(c, op, value.count == 0 ? nullptr : &value,
                        is_value(request.ops[op]) ? columns[c].names.get() : nullptr);
          }
          times += found[c].times;
        }
      });
  const Seconds seconds = table.seconds(times);
  ColumnsResult result = results.table();
  result.json_rest = fmt::format("{},{}", table.json_counts(), table.json_end(seconds));
  write_columns(result, form, asked.common);
  table.tell(seconds);
  return Exit::done;
}

Exit run_command(ReduceCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  ReduceRequest request;
  request.ops = ops_for(asked, nullptr);
  asked.input.columns = listed_columns(asked.input);
  const bool several = asked.input.columns.size() > 1;
  const ColumnsForm form = columns_form(common, request.ops.size() == 1 && !several);
  request.result = parse_result(asked.result);
  request.ddof = whole_number("--ddof", asked.ddof, 0, std::uint64_t{1} << 40U);
  asked.input.dates = true;
  if (!asked.group.empty() || several) return run_groups(asked, request, form);
  asked.input.places = asked.rows.empty() && std::any_of(request.ops.begin(), request.ops.end(), is_place);
  ArrayStream stream(asked, Work::reading, "reduce");
  const io::ValueNames* const names = stream.info().names.get();
  ask_for_instants(request, asked, stream.info().name, names);
  request.rows = stream.rows();
  request.row_length = stream.row_length();
  request.memory = stream.memory();
  const std::vector<std::byte> reference = stream.whole();
  // A total that no integer of 64 bits holds is the data's fault.
  ReduceFound found = with_data(stream.info().name, [&] { return ReduceJob(stream, request)(); });
  const Seconds seconds = stream.seconds(found.times);
  const Dtype dtype = stream.info().dtype;
  std::optional<Places> places;
  if (asked.input.places) places.emplace(stream.places(found.own_count));
  if (!ranks().first()) return Exit::done;
  if (common.verify) verify({dtype, reference.data(), found.count}, request, found);
  for (std::size_t op = 0; places && op < request.ops.size(); ++op) {
    if (!is_place(request.ops[op])) continue;
    Column& column = found.columns[op];
    const std::vector<std::uint64_t> moved = places->of(column.bytes.data(), column.view().count);
    std::memcpy(column.bytes.data(), moved.data(), column.bytes.size());
  }

  ColumnsResult result;
  for (const std::string& name : request.ops)
    result.heads.push_back({name, name, false, is_value(name) ? names : nullptr});
  result.pieces = [&](const ColumnsResult::Taker& take) {
    std::vector<ArrayView> views;
    for (const Column& column : found.columns) views.push_back(column.view());
    take(views);
  };
  if (request.row_length && (form == ColumnsForm::csv || form == ColumnsForm::tsv)) result.rows.assign(request.rows, 1);
  result.one = !request.row_length;
  result.bare = request.ops.size() == 1;
  result.json_rest =
      fmt::format(R"("n":{},"dtype":"{}",{})", found.count, type_name(stream.info()), stream.json_end(seconds));
  write_columns(result, form, common);
  stream.tell(found.count, seconds);
  return Exit::done;
}

// `one`: the command is the operation of its name.
void add_command(CommandLine& line, const std::string& name, const char* description, const std::string& examples,
                 bool one) {
  array_command<ReduceCommandOptions>(
      line, name.c_str(), description, examples.c_str(), Printed::numbers, run_command,
      [&](const Subcommand& app, ReduceCommandOptions& options) {
        if (one) {
          options.ops = name;
        } else {
          app.add_option("--op", options.ops, "OP",
                         "Operations, separated by commas (sum,mean,min,max): " + words_of("OP"));
          app.add_option("--ddof", options.ddof, "N", "variance and std divide by n - N (0)");
        }
        add_rows_option(app, options);
        add_group_options(app, options);
        if (!one || name == "sum" || name == "mean") add_result_option(app, options.result);
        add_alpha_option(app, options.input);
      });
}

}  // namespace

std::vector<std::string> reduce_op_names() {
  std::vector<std::string> names;
  for (const Operation& one : operations) names.emplace_back(one.name);
  return names;
}

void add_reduce(CommandLine& line) {
  add_command(line, "reduce", "Exact sums and means, extremes, norms", reduce_examples, false);
}

void add_single_reductions(CommandLine& line) {
  constexpr std::pair<const char*, const char*> single[] = {{"sum", "The exact sum, rounded once"},
                                                            {"mean", "The exact mean, rounded once"},
                                                            {"min", "The least value"},
                                                            {"max", "The greatest value"},
                                                            {"median", "The exact median"},
                                                            {"count", "The number of values"}};
  for (const auto& [op, description] : single) {
    constexpr const char* examples =
        "Examples:\n  masu {0} samples.npy\n  masu {0} prices.csv --column price\n  seq 10 | masu {0}";
    add_command(line, op, description, fmt::format(examples, op), true);
  }
}

}  // namespace masu::cli
