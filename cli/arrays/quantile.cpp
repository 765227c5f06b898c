// SPDX-License-Identifier: Apache-2.0
// masu quantile: exact quantiles without sorting.
#include "cli/arrays/quantile.h"

#include "cli/groups/grouped_table.h"
#include "cli/verify/references.h"
#include "options.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/quantile.h>
#include <algorithm>
#include <array>
#include <limits>

namespace masu::cli {
namespace {

constexpr std::uint64_t row_copies = 8;  // of a whole row and what is made of it, that memory has to hold

// The elements from `first` on; the others of the stream are passed over. `shared`: those of all ranks.
void find_part(ArrayStream& stream, const QuantileRequest& request, std::uint64_t first, std::uint64_t end, bool shared,
               QuantileFound& found) {
  QuantileOptions options;
  options.method = request.method;
  QuantileFinder finder(stream.device(), stream.info().dtype, request.q, options);
  std::uint64_t at = 0;
  do {
    at = 0;
    stream.pass([&](const ArrayView& piece) {
      const std::uint64_t from = std::clamp(first, at, at + piece.count);
      const std::uint64_t to = std::clamp(end, at, at + piece.count);
      finder.add(part_of(piece, from - at, to - from));
      at += piece.count;
      return at < end;
    });
    if (shared) {
      found.times += finder.times();
      merge_states("quantiles", finder, stream.device());
    }
    if (finder.count() == 0) {
      data_error("{}: there are no values, so no {}", stream.info().name, request.what);
    }
  } while (finder.next_pass());
  const std::vector<Quantile> part = finder.result();
  found.quantiles.insert(found.quantiles.end(), part.begin(), part.end());
  found.count += finder.count();
  if (shared) (void)stream.settle(at);
  else found.times += finder.times();
}

void find_whole_rows(ArrayStream& stream, const QuantileRequest& request, QuantileFound& found) {
  stream.limit_pieces(request.memory / row_copies);
  Rows whole(*request.row_length, true,
             [&](const ArrayView& rows, std::uint64_t count) {
               Times took;
               QuantileOptions options{request.method, count, &took};
               const std::vector<Quantile> part = exact_quantiles(stream.device(), rows, request.q, options);
               found.quantiles.insert(found.quantiles.end(), part.begin(), part.end());
               found.count += rows.count;
               found.times += took;
             },
             {});
  stream.each([&](const ArrayView& piece) { whole.add(piece); });
}

}  // namespace

QuantileFound find_quantiles(ArrayStream& stream, const QuantileRequest& request) {
  QuantileFound found;
  const std::uint64_t length = request.row_length.value_or(0);
  const std::uint64_t row_bytes = length * size_of(stream.info().dtype);
  if (length > 0 && row_bytes <= request.memory / row_copies) {
    find_whole_rows(stream, request, found);
  } else {
    if (size_of(stream.info().dtype) > 1) stream.keep();  // one pass finds bytes
    if (length == 0) {
      find_part(stream, request, 0, std::numeric_limits<std::uint64_t>::max(), ranks().several(), found);
      return found;
    }
    for (std::uint64_t row = 0; row < stream.own_rows(); ++row) {
      find_part(stream, request, row * length, (row + 1) * length, false, found);
    }
  }
  found.quantiles = join_ranks("rows", std::move(found.quantiles));
  found.count = stream.settle(found.count);
  return found;
}

Column values_of(const std::vector<Quantile>& quantiles, Dtype elements) {
  Column column(!quantiles.empty() && quantiles.front().is_element ? elements : Dtype::f64);
  for (const Quantile& one : quantiles) {
    column.append({column.dtype, one.is_element ? static_cast<const void*>(&one.bits) : &one.value, 1});
  }
  return column;
}

namespace {

constexpr const char* quantile_examples = R"(Examples:
  masu quantile latencies.npy
  masu quantile latencies.npy -q p50,99%,0.999
  masu quantile ages.csv --header --column age --dtype u8 --method lower
  masu quantile table.raw --dtype f32 --rows 1000 -q 0.5 -o medians.npy)";

struct QuantileCommandOptions : ArrayOptions {
  std::string q;
  bool deciles = false;
  bool quartiles = false;
  std::string method = "linear";
};

// 0.99, 99% and p99 are one number.
double parse_q(const std::string& part) {
  const bool letter = part.starts_with('p');
  const bool percent = letter || part.ends_with('%');
  const std::string digits = letter ? part.substr(1) : percent ? part.substr(0, part.size() - 1) : part;
  const bool plain = !digits.empty() && digits.find_first_not_of("0123456789.") == std::string::npos;
  const double q = percent && !plain ? -1 : real_number("-q", percent ? digits + "e-2" : digits);
  if (!(q >= 0 && q <= 1)) usage_error("-q takes numbers from 0 to 1 (0.99, 99%, p99), got '" + part + "'");
  return q;
}

std::vector<double> asked_q(const QuantileCommandOptions& asked) {
  const int given = (asked.q.empty() ? 0 : 1) + (asked.deciles ? 1 : 0) + (asked.quartiles ? 1 : 0);
  if (given > 1) usage_error("-q, --deciles and --quartiles exclude each other");
  if (asked.deciles) return {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
  if (asked.quartiles) return {0.25, 0.5, 0.75};
  if (asked.q.empty()) return {0, 0.25, 0.5, 0.75, 1};
  std::vector<double> values;
  for (const std::string& part : split(asked.q)) values.push_back(parse_q(part));
  return values;
}

// All of the data, each row sorted; throws Differs where its quantiles are others.
void verify(const ArrayView& data, const QuantileRequest& request, const QuantileFound& found) {
  const std::uint64_t length = data.count / request.rows;
  for (std::uint64_t row = 0; row < request.rows; ++row) {
    const auto expected = reference_quantiles(part_of(data, row * length, length), request.q, request.method);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Quantile& got = found.quantiles[row * expected.size() + i];
      if (got == expected[i]) continue;
      differs("row {}: the quantile of {} is {}, the reference's {}", row, request.q[i], got.value, expected[i].value);
    }
  }
}

// One line a group, with a column for each quantile; JSON and .npy have them as of rows.
Exit run_groups(const QuantileCommandOptions& asked, const QuantileRequest& request, ColumnsForm form) {
  const GroupedTable table(asked, {.several = true});
  const auto columns = table.columns();
  const std::size_t number = request.q.size();
  std::vector<std::string> names;
  for (const double q : request.q) names.push_back(io::format_number(q));
  GroupResults results(table, std::move(names));
  Times times;
  table.each(
      [&](std::uint64_t group) {
        QuantileFound found;
        for (const GroupedTable::Values& column : columns) {
          const ArrayView values = column.view(group);
          if (values.count == 0) {
            found.quantiles.resize(found.quantiles.size() + number);
            continue;
          }
          QuantileFound one;
          QuantileOptions options{request.method, 1, &one.times};
          one.quantiles = exact_quantiles(table.device(), values, request.q, options);
          if (asked.common.verify) verify(values, request, one);
          found.quantiles.insert(found.quantiles.end(), one.quantiles.begin(), one.quantiles.end());
          found.times += one.times;
        }
        return found;
      },
      [&](std::uint64_t group, const QuantileFound& found) {
        for (std::size_t i = 0; i < found.quantiles.size(); ++i) {
          const GroupedTable::Values& column = columns[i / number];
          const Column value = values_of({found.quantiles[i]}, column.dtype);
          const ArrayView view = value.view();
          results.add(i / number, i % number, column.view(group).count == 0 ? nullptr : &view, column.names.get());
        }
        times += found.times;
      });
  const Seconds seconds = table.seconds(times);

  ColumnsResult result = results.table();
  std::vector<Column> all;  // the quantiles of each group, or without groups of each column
  if (form == ColumnsForm::json || form == ColumnsForm::npy || form == ColumnsForm::raw) {
    const bool grouped = !table.names().empty();
    result.heads = {{"q", "q", true}};
    result.flat = false;
    result.array = 1;
    std::ranges::fill(result.rows, number);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      all.emplace_back(results.of(c, 0).dtype);
      if (grouped || c == 0)
        result.heads.push_back({"value", grouped && columns.size() > 1 ? columns[c].name + "_values" : "values"});
      for (std::uint64_t group = 0; group < table.groups(); ++group) {
        for (std::size_t i = 0; i < number; ++i) {
          all.back().append(part_of(results.of(c, i).view(), group, 1));
          result.heads.back().each.push_back(results.names_of(c, i)[group]);
        }
      }
    }
    result.pieces = [&, grouped](const ColumnsResult::Taker& take) {
      for (std::size_t piece = 0; piece < (grouped ? table.groups() : columns.size()); ++piece) {
        std::vector<ArrayView> views = {ArrayView(request.q)};
        for (const Column& column : grouped ? std::span(all) : std::span(all).subspan(piece, 1))
          views.push_back(part_of(column.view(), grouped ? piece * number : 0, number));
        take(views);
      }
    };
  }
  result.json_rest = fmt::format(R"("method":"{}",{},{})", asked.method, table.json_counts(), table.json_end(seconds));
  write_columns(result, form, asked.common);
  table.tell(seconds);
  return Exit::done;
}

Exit run_command(QuantileCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  asked.input.columns = listed_columns(asked.input);
  const bool several = asked.input.columns.size() > 1;
  const ColumnsForm form = columns_form(common, !several);
  QuantileRequest request;
  request.q = asked_q(asked);
  request.method = named("--method", words_of("METHOD"), asked.method, quantile_method_from_name);
  asked.input.dates = true;
  if (!asked.group.empty() || several) return run_groups(asked, request, form);
  ArrayStream stream(asked, Work::reading, "quantile");
  request.rows = stream.rows();
  request.row_length = stream.row_length();
  request.memory = stream.memory();
  const Dtype dtype = stream.info().dtype;
  const std::vector<std::byte> reference = stream.whole();
  const QuantileFound found = find_quantiles(stream, request);
  const Seconds seconds = stream.seconds(found.times);
  if (!ranks().first()) return Exit::done;
  if (common.verify) verify({dtype, reference.data(), found.count}, request, found);

  const Column values = values_of(found.quantiles, dtype);
  const std::size_t number = request.q.size();
  ColumnsResult result;
  result.heads = {{"q", "q", true}, {"value", "values", false, stream.info().names.get()}};
  result.array = 1;
  result.pieces = [&](const ColumnsResult::Taker& take) {
    for (std::uint64_t row = 0; row < request.rows; ++row) {
      take(std::array{ArrayView(request.q), part_of(values.view(), row * number, number)});
    }
  };
  if (request.row_length) result.rows.assign(request.rows, number);
  result.json_rest = fmt::format(R"("method":"{}","n":{},"dtype":"{}",{})", asked.method, found.count,
                                 type_name(stream.info()), stream.json_end(seconds));
  write_columns(result, form, common);
  stream.tell(found.count, seconds);
  return Exit::done;
}

}  // namespace

void add_quantile(CommandLine& line) {
  array_command<QuantileCommandOptions>(
      line, "quantile", "Exact quantiles and medians", quantile_examples, Printed::numbers, run_command,
      [](const Subcommand& app, QuantileCommandOptions& options) {
        app.add_option("-q", options.q, "LIST", "Quantiles, separated by commas: 0.99, 99% or p99 (0,0.25,0.5,0.75,1)");
        app.add_flag("--deciles", options.deciles, "-q 10%,20%,…,90%");
        app.add_flag("--quartiles", options.quartiles, "-q 25%,50%,75%");
        app.add_option("--method", options.method, "METHOD",
                       "How to interpolate between two values (linear): " + words_of("METHOD"));
        add_rows_option(app, options);
        add_group_options(app, options);
        add_alpha_option(app, options.input);
      });
}

}  // namespace masu::cli
