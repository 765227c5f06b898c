// SPDX-License-Identifier: Apache-2.0
// masu reduce: sums, means, extremes and the like; and the commands that are one of them.
#include "cli/arrays/quantile.h"

#include "cli/arrays/array_stream.h"
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

// What one kind of reduction found for each row so far.
struct Reduced {
  explicit Reduced(Dtype dtype) : least(dtype), greatest(dtype) {}
  Column least;
  Column greatest;
  Column least_place{Dtype::u64};
  Column greatest_place{Dtype::u64};
  Column nonzero{Dtype::u64};

  void append(const ReduceResult& result) {
    const bool both = result.op() == ReduceOp::minmax;
    if (result.op() == ReduceOp::count_nonzero) return nonzero.append(ArrayView(result.nonzero()));
    if (both || result.op() == ReduceOp::min) {
      least.append(result.min_values());
      least_place.append(ArrayView(result.min_indices()));
    }
    if (both || result.op() == ReduceOp::max) {
      greatest.append(result.max_values());
      greatest_place.append(ArrayView(result.max_indices()));
    }
  }
};

// All that was found; what no operation needs is left out.
struct Totals {
  const ReduceRequest& request;
  std::optional<SumAccumulator> sums;
  Reduced reduced;
  std::uint64_t rows = 1;
  std::uint64_t count = 0;    // of each row
  std::uint64_t skipped = 0;  // entries that were left out
  Column median = {};

  // The same number for each row.
  [[nodiscard]] Column each(std::uint64_t number) const {
    const std::vector<std::uint64_t> numbers(rows, number);
    return Column(ArrayView(numbers));
  }
};

Column column_of(const SumResult& found) {
  Column column(found.dtype());
  for (std::uint64_t row = 0; row < found.rows(); ++row) {
    const std::uint64_t bits = bits_of(found, row);
    column.append({column.dtype, &bits, 1});
  }
  return column;
}

struct Operation {
  std::string_view name;
  // What has to be kept: a kind of sums, or a reduction.
  std::optional<SumKind> sums;
  std::optional<ReduceOp> reduction;
  bool of_nothing;  // whether data without elements have it
  Column (*column)(const Totals& totals);
  bool is_count = false;
};

constexpr Column (*variance_of)(const Totals& totals) = [](const Totals& t) {
  return column_of(t.sums->variance(t.request.ddof, t.request.result));
};

constexpr std::array<Operation, 14> operations{{
    {"sum", SumKind::sum, std::nullopt, true, [](const Totals& t) { return column_of(t.sums->sum(t.request.result)); }},
    {"mean", SumKind::sum, std::nullopt, false,
     [](const Totals& t) { return column_of(t.sums->mean(t.request.result)); }},
    {"min", std::nullopt, ReduceOp::min, false, [](const Totals& t) { return t.reduced.least; }},
    {"max", std::nullopt, ReduceOp::max, false, [](const Totals& t) { return t.reduced.greatest; }},
    {"argmin", std::nullopt, ReduceOp::min, false, [](const Totals& t) { return t.reduced.least_place; }},
    {"argmax", std::nullopt, ReduceOp::max, false, [](const Totals& t) { return t.reduced.greatest_place; }},
    {"count", std::nullopt, std::nullopt, true, [](const Totals& t) { return t.each(t.count); }, true},
    {"skipped", std::nullopt, std::nullopt, true, [](const Totals& t) { return t.each(t.skipped); }, true},
    {"median", std::nullopt, std::nullopt, false, [](const Totals& t) { return t.median; }},
    {"variance", SumKind::squares, std::nullopt, false, variance_of},
    {"var", SumKind::squares, std::nullopt, false, variance_of},
    {"std", SumKind::squares, std::nullopt, false,
     [](const Totals& t) { return column_of(t.sums->standard_deviation(t.request.ddof, t.request.result)); }},
    {"norm2", SumKind::squares, std::nullopt, true,
     [](const Totals& t) { return column_of(t.sums->norm2(t.request.result)); }},
    {"count-nonzero", std::nullopt, ReduceOp::count_nonzero, true, [](const Totals& t) { return t.reduced.nonzero; },
     true},
}};

const Operation& operation(const std::string& name) {
  return *std::find_if(operations.begin(), operations.end(), [&](const Operation& one) { return one.name == name; });
}

bool needs(const ReduceRequest& request, ReduceOp reduction) {
  return std::any_of(request.ops.begin(), request.ops.end(),
                     [&](const std::string& name) { return operation(name).reduction == reduction; });
}

bool needs(const ReduceRequest& request, SumKind kind) {
  return std::any_of(request.ops.begin(), request.ops.end(),
                     [&](const std::string& name) { return operation(name).sums == kind; });
}

std::optional<SumAccumulator> sums_for(const ArrayStream& stream, const ReduceRequest& request) {
  const bool squares = needs(request, SumKind::squares);
  if (!squares && !needs(request, SumKind::sum)) return std::nullopt;
  return SumAccumulator(stream.device(), stream.info().dtype, squares ? SumKind::squares : SumKind::sum,
                        request.row_length.value_or(0));
}

std::vector<ReduceOp> reductions_for(const ReduceRequest& request) {
  const bool least = needs(request, ReduceOp::min);
  const bool greatest = needs(request, ReduceOp::max);
  std::vector<ReduceOp> result;
  if (least || greatest) result.push_back(least && greatest ? ReduceOp::minmax : least ? ReduceOp::min : ReduceOp::max);
  if (needs(request, ReduceOp::count_nonzero)) result.push_back(ReduceOp::count_nonzero);
  return result;
}

// Throws io where a result is not defined: extremes and means of nothing, integers that do not fit.
class ReduceJob {
 public:
  ReduceJob(ArrayStream& stream, const ReduceRequest& request)
      : stream_(stream),
        request_(request),
        reductions_(reductions_for(request)),
        totals_{request, sums_for(stream, request), Reduced(stream.info().dtype)} {}

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
      const bool spread = name.starts_with("var") || name == "std";
      const std::uint64_t least = spread ? request_.ddof + 1 : operation(name).of_nothing ? 0 : 1;
      if (count >= least) continue;
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

}  // namespace

std::vector<std::string> reduce_op_names() {
  std::vector<std::string> names;
  for (const Operation& one : operations) names.emplace_back(one.name);
  return names;
}

namespace {

constexpr const char* reduce_examples = R"(Examples:
  masu reduce samples.npy
  masu reduce samples.npy --op count,mean,std,median
  masu reduce prices.csv --header --column price --op mean,variance --ddof 1 --json
  masu reduce table.raw --dtype f32 --rows 1000 --op norm2 -o norms.npy)";

struct ReduceCommandOptions : ArrayOptions {
  std::string ops = "sum,mean,min,max";
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

bool is_place(const std::string& op) {
  return op == "argmin" || op == "argmax";
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

Exit run_command(ReduceCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  ReduceRequest request;
  request.ops = parse_ops(asked.ops);
  const ColumnsForm form = columns_form(common, request.ops.size() == 1);
  request.result = parse_result(asked.result);
  request.ddof = whole_number("--ddof", asked.ddof, 0, std::uint64_t{1} << 40U);
  asked.input.places = asked.rows.empty() && std::any_of(request.ops.begin(), request.ops.end(), is_place);
  ArrayStream stream(asked, Work::reading, "reduce");
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
  for (const std::string& name : request.ops) result.heads.push_back({name, name});
  result.pieces = [&](const ColumnsResult::Taker& take) {
    std::vector<ArrayView> views;
    for (const Column& column : found.columns) views.push_back(column.view());
    take(views);
  };
  if (request.row_length && form == ColumnsForm::csv) result.rows.assign(request.rows, 1);
  result.one = !request.row_length;
  result.bare = request.ops.size() == 1;
  result.json_rest = fmt::format(R"("n":{},"dtype":"{}",{})", found.count, to_string(dtype), stream.json_end(seconds));
  write_columns(result, form, common);
  stream.tell(found.count, seconds);
  return Exit::done;
}

}  // namespace

namespace {

// `one`: the command is the operation of its name.
Command add_command(CommandLine& line, const std::string& name, const char* description, const std::string& examples,
                    bool one) {
  return array_command<ReduceCommandOptions>(
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
        if (!one || name == "sum" || name == "mean") add_result_option(app, options.result);
        add_alpha_option(app, options.input);
      });
}

Command add_one(CommandLine& line, const std::string& op, const char* description) {
  return add_command(
      line, op, description,
      fmt::format("Examples:\n  masu {0} samples.npy\n  masu {0} prices.csv --column price\n  seq 10 | masu {0}", op),
      true);
}

}  // namespace

Command add_reduce(CommandLine& line) {
  return add_command(line, "reduce", "Exact sums and means, extremes, norms", reduce_examples, false);
}
Command add_sum(CommandLine& line) {
  return add_one(line, "sum", "The exact sum, rounded once");
}
Command add_mean(CommandLine& line) {
  return add_one(line, "mean", "The exact mean, rounded once");
}
Command add_min(CommandLine& line) {
  return add_one(line, "min", "The least value");
}
Command add_max(CommandLine& line) {
  return add_one(line, "max", "The greatest value");
}
Command add_median(CommandLine& line) {
  return add_one(line, "median", "The exact median");
}
Command add_count(CommandLine& line) {
  return add_one(line, "count", "The number of values");
}

}  // namespace masu::cli
