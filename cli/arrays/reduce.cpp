// SPDX-License-Identifier: Apache-2.0
// masu reduce: sums, means, extremes and the like.
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
};

constexpr std::array<Operation, 10> operations{{
    {"sum", SumKind::sum, std::nullopt, true, [](const Totals& t) { return column_of(t.sums->sum(t.request.result)); }},
    {"mean", SumKind::sum, std::nullopt, false,
     [](const Totals& t) { return column_of(t.sums->mean(t.request.result)); }},
    {"min", std::nullopt, ReduceOp::min, false, [](const Totals& t) { return t.reduced.least; }},
    {"max", std::nullopt, ReduceOp::max, false, [](const Totals& t) { return t.reduced.greatest; }},
    {"argmin", std::nullopt, ReduceOp::min, false, [](const Totals& t) { return t.reduced.least_place; }},
    {"argmax", std::nullopt, ReduceOp::max, false, [](const Totals& t) { return t.reduced.greatest_place; }},
    {"variance", SumKind::squares, std::nullopt, false,
     [](const Totals& t) { return column_of(t.sums->variance(t.request.ddof, t.request.result)); }},
    {"std", SumKind::squares, std::nullopt, false,
     [](const Totals& t) { return column_of(t.sums->standard_deviation(t.request.ddof, t.request.result)); }},
    {"norm2", SumKind::squares, std::nullopt, true,
     [](const Totals& t) { return column_of(t.sums->norm2(t.request.result)); }},
    {"count-nonzero", std::nullopt, ReduceOp::count_nonzero, true, [](const Totals& t) { return t.reduced.nonzero; }},
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
    stream_.each([&](const ArrayView& piece) {
      found_.count += piece.count;
      if (totals_.sums) totals_.sums->add(piece);
      if (!reductions_.empty()) rows.add(piece);
    });
    const bool none = found_.count == 0;
    found_.own_count = found_.count;
    found_.count = stream_.settle(found_.count);
    check_count(request_.row_length ? length : found_.count);
    if (totals_.sums) found_.times += totals_.sums->times();
    if (!request_.row_length) end_all();
    if (request_.row_length == 0) return of_empty_rows();
    const bool no_rows = none && request_.row_length;  // of a rank: there are some
    for (const std::string& name : request_.ops) {
      found_.columns.push_back(no_rows ? Column() : operation(name).column(totals_));
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
      const bool spread = name == "variance" || name == "std";
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
      Column column(name == "count-nonzero" ? Dtype::u64 : name == "sum" && integers ? total : request_.result);
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
  masu reduce samples.npy --op sum
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
  result.bare = true;
  result.json_rest = fmt::format(R"("n":{},"dtype":"{}",{})", found.count, to_string(dtype), stream.json_end(seconds));
  write_columns(result, form, common);
  stream.tell(found.count, seconds);
  return Exit::done;
}

}  // namespace

Command add_reduce(CommandLine& line) {
  return array_command<ReduceCommandOptions>(
      line, "reduce", "Exact sums and means, extremes, norms", reduce_examples, Printed::numbers, run_command,
      [](const Subcommand& app, ReduceCommandOptions& options) {
        app.add_option("--op", options.ops, "OP",
                       "Operations, separated by commas (sum,mean,min,max): " + words_of("OP"));
        app.add_option("--ddof", options.ddof, "N", "variance and std divide by n - N (0)");
        add_rows_option(app, options);
        add_result_option(app, options.result);
        add_alpha_option(app, options.input);
      });
}

}  // namespace masu::cli
