// SPDX-License-Identifier: Apache-2.0
// masu unique: the distinct values, and how often each occurs.
#include "cli/arrays/array_stream.h"
#include "cli/arrays/columns.h"
#include "cli/arrays/unique_table.h"
#include "cli/selftest/reference_order.h"
#include "command.h"
#include "errors.h"
#include "json.h"
#include "ranks.h"
#include "terminal.h"

#include <fmt/format.h>
#include <masu/unique.h>
#include <algorithm>
#include <array>
#include <limits>
#include <memory>

namespace masu::cli {
namespace {

constexpr std::uint64_t unique_no_limit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t pieces_in_memory = 8;  // a piece and its sorted copies are a part of what may be held

constexpr const char* unique_examples = R"(Examples:
  masu unique labels.npy
  masu unique words.txt --by count --limit 10
  masu unique table.csv --header --column country --dtype u16 --json
  masu unique huge.raw --dtype u64 --memory 4Gi -o counts.csv)";

struct UniqueCommandOptions {
  CommonOptions common;
  InputOptions input;
  std::string by = "value";
  std::string limit;
};

// The whole of the data, sorted stably; throws Differs where its runs are not the entries.
void verify(const ArrayView& data, const UniqueTable::Result& found, bool by_count) {
  std::vector<ReferenceRun> runs = reference_unique(data);
  if (by_count) {
    std::stable_sort(runs.begin(), runs.end(),
                     [](const ReferenceRun& a, const ReferenceRun& b) { return a.count > b.count; });
  }
  if (runs.size() != found.distinct) {
    throw Differs(fmt::format("found {} distinct values, the reference {}", found.distinct, runs.size()));
  }
  std::uint64_t place = 0;
  found.entries.each([&](const ArrayView& values, const ArrayView& counts) {
    for (std::uint64_t i = 0; i < values.count; ++i, ++place) {
      const bool same = static_cast<const std::uint64_t*>(counts.data)[i] == runs[place].count;
      if (same && same_bits(values, i, data, runs[place].first)) continue;
      throw Differs(fmt::format("entry {} is not the reference's", place));
    }
  });
}

Exit run_command(UniqueCommandOptions& asked) {
  const CommonOptions& common = asked.common;
  apply(asked.common);
  const ColumnsForm form = columns_form(common, false);
  if (asked.by != "value" && asked.by != "count") usage_error("--by takes value or count, got '" + asked.by + "'");
  const bool by_count = asked.by == "count";
  const std::uint64_t limit =
      asked.limit.empty() ? unique_no_limit : whole_number("--limit", asked.limit, 1, unique_no_limit);
  ArrayStream stream(asked.input, common, Work::sorting, "unique");
  const Dtype dtype = stream.info().dtype;
  const std::vector<std::byte> reference = common.verify ? stream.whole() : std::vector<std::byte>();

  const std::uint64_t memory = memory_budget(memory_limit(common));
  stream.limit_pieces(memory / pieces_in_memory);
  UniqueTable table({stream.device(), dtype, memory, common.tmpdir});
  stream.pass([&](const ArrayView& piece) {
    table.add(piece);
    return true;
  });
  const std::uint64_t count = stream.settle(table.count());
  const UniqueTable::Result found = table.finish(by_count, limit);
  const Seconds seconds = stream.seconds(table.times().transfer, table.times().compute);
  if (!ranks().first()) return Exit::done;
  if (common.verify) verify({dtype, reference.data(), count}, found, by_count);

  ColumnsResult result;
  result.heads = {{"value", "values"}, {"count", "counts"}};
  result.pieces = [&](const ColumnsResult::Taker& take) {
    found.entries.each([&](const ArrayView& values, const ArrayView& counts) { take(std::array{values, counts}); });
  };
  result.json_rest = fmt::format(R"("n":{},"distinct":{},"dtype":"{}","device":{},"runs":{}{},{})", count,
                                 found.distinct, to_string(dtype), json_string(stream.device().id()), table.runs(),
                                 json_bad_lines(stream.bad_lines()), json_seconds(seconds));
  write_columns(result, form, common);
  if (!common.quiet && found.entries.size() < found.distinct) {
    note(fmt::format("masu: {}: {} of {} distinct values", stream.info().name, found.entries.size(), found.distinct));
  }
  note_result(common, stream.info().name, stream.bad_lines(), count);
  if (common.time) note_times(seconds, stream.bytes());
  return Exit::done;
}

}  // namespace

Command add_unique(CommandLine& line) {
  const Subcommand app = line.add("unique", "The distinct values, and how often each occurs");
  auto options = std::make_shared<UniqueCommandOptions>();
  add_input_options(app, options->input);
  app.add_option("--by", options->by, "The order: by value, or the most frequent first").type_name("value|count");
  app.add_option("--limit", options->limit, "Only the first N of them").type_name("N");
  add_common_options(app, options->common);
  add_digits_option(app, options->common);
  app.footer(unique_examples);
  return {app, [options] { return run_command(*options); }};
}

}  // namespace masu::cli
