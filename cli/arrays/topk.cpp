// SPDX-License-Identifier: Apache-2.0
// masu topk: the greatest or least values, and where they are.
#include "cli/arrays/array_stream.h"
#include "cli/arrays/columns.h"
#include "cli/arrays/topk_table.h"
#include "cli/selftest/reference_order.h"
#include "command.h"
#include "errors.h"
#include "json.h"
#include "ranks.h"
#include "terminal.h"

#include <fmt/format.h>
#include <masu/topk.h>
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_values = std::uint64_t{1} << 40U;

constexpr const char* topk_examples = R"(Examples:
  masu topk scores.npy -k 10
  masu topk prices.csv --header --column price -k 5 --smallest
  masu topk table.raw --dtype f32 --rows 1000 -k 3 -o best.npy
  masu topk huge.raw --dtype f32 -k 1M --memory 1Gi --json)";

struct TopkCommandOptions {
  CommonOptions common;
  InputOptions input;
  std::string k;
  std::string nan = "skip";
  std::string rows;
  bool smallest = false;
  bool index = false;
};

// All of the data, each row sorted stably; throws Differs where the first of them are not the entries.
void verify(const ArrayView& data, std::uint64_t rows, std::uint64_t k, const TopkOptions& how,
            const TopkTable::Result& found) {
  const std::uint64_t length = data.count / rows;
  const Order order = how.largest ? Order::descending : Order::ascending;
  std::vector<std::uint64_t> places;  // of all rows, one behind the other
  for (std::uint64_t row = 0; row < found.found.size(); ++row) {
    const ArrayView values = part_of(data, row * length, length);
    const auto expected = reference_topk(values, order, how.nan == NanPolicy::skip, k);
    if (expected.size() != found.found[row]) {
      throw Differs(fmt::format("row {} has {} values, the reference {}", row, found.found[row], expected.size()));
    }
    for (const std::uint64_t place : expected) places.push_back(row * length + place);
  }
  std::uint64_t entry = 0;
  found.entries.each([&](const ArrayView& values, const ArrayView& indices) {
    for (std::uint64_t i = 0; i < values.count; ++i, ++entry) {
      const std::uint64_t index = static_cast<const std::uint64_t*>(indices.data)[i];
      const std::uint64_t expected = length == 0 ? 0 : places[entry] % length;
      if (index == expected && same_bits(values, i, data, places[entry])) continue;
      throw Differs(fmt::format("entry {} is not the reference's: index {} instead of {}", entry, index, expected));
    }
  });
}

ColumnsResult columns_of(const TopkCommandOptions& asked, const TopkTable::Result& found) {
  ColumnsResult result;
  if (!asked.index) result.heads.push_back({"value", "values"});
  result.heads.push_back({"index", "indices"});
  result.pieces = [&asked, &found](const ColumnsResult::Taker& take) {
    found.entries.each([&](const ArrayView& values, const ArrayView& indices) {
      if (asked.index) take(std::array{indices});
      else take(std::array{values, indices});
    });
  };
  if (!asked.rows.empty()) result.rows = found.found;
  return result;
}

std::string json_skipped(const TopkCommandOptions& asked, const std::vector<std::uint64_t>& skipped) {
  if (asked.rows.empty()) return std::to_string(skipped.empty() ? 0 : skipped.front());
  return fmt::format("[{}]", fmt::join(skipped, ","));
}

Exit run_command(TopkCommandOptions& asked) {
  const CommonOptions& common = asked.common;
  apply(asked.common);
  const ColumnsForm form = columns_form(common, true);
  TopkOptions how;
  how.largest = !asked.smallest;
  if (asked.nan != "last" && asked.nan != "skip") usage_error("--nan takes last or skip, got '" + asked.nan + "'");
  how.nan = nan_policy_from_name(asked.nan);
  std::uint64_t k = whole_number("-k", asked.k, 1, most_values);
  ArrayStream stream(asked.input, common, Work::reading, "topk", !asked.rows.empty());
  const Dtype dtype = stream.info().dtype;
  const std::uint64_t rows = row_count(asked.rows);
  std::optional<std::uint64_t> row_length;
  if (!asked.rows.empty()) row_length = stream.row_length(rows);
  const std::optional<std::uint64_t> most = row_length ? row_length : stream.known_count();
  if (most) k = std::clamp<std::uint64_t>(*most, 1, k);
  const std::vector<std::byte> reference = common.verify ? stream.whole() : std::vector<std::byte>();

  TopkTable table({stream.device(), dtype, k, how, memory_budget(memory_limit(common)), common.tmpdir}, row_length);
  stream.pass([&](const ArrayView& piece) {
    table.add(piece);
    return true;
  });
  const std::uint64_t count = stream.settle(table.count());
  TopkTable::Result found = table.finish();
  if (row_length == 0) found.found.assign(rows, 0);  // rows of nothing
  if (row_length == 0) found.skipped.assign(rows, 0);
  const Seconds seconds = stream.seconds(table.times().transfer, table.times().compute);
  if (!ranks().first()) return Exit::done;
  if (common.verify) verify({dtype, reference.data(), count}, rows, k, how, found);

  ColumnsResult result = columns_of(asked, found);
  result.json_rest = fmt::format(R"("n":{},"dtype":"{}","device":{},"nan_skipped":{}{},{})", count, to_string(dtype),
                                 json_string(stream.device().id()), json_skipped(asked, found.skipped),
                                 json_bad_lines(stream.bad_lines()), json_seconds(seconds));
  write_columns(result, form, common);
  const std::uint64_t skipped = std::accumulate(found.skipped.begin(), found.skipped.end(), std::uint64_t{0});
  if (!common.quiet && skipped > 0) note(fmt::format("masu: {}: {} NaNs left out", stream.info().name, skipped));
  note_result(common, stream.info().name, stream.bad_lines(), count);
  if (common.time) note_times(seconds, stream.bytes());
  return Exit::done;
}

}  // namespace

Command add_topk(CommandLine& line) {
  const Subcommand app = line.add("topk", "The greatest or least values, and where they are");
  auto options = std::make_shared<TopkCommandOptions>();
  add_input_options(app, options->input);
  app.add_option("-k", options->k, "How many; more than there are gives all, in order").required().type_name("K");
  app.add_flag("--smallest", options->smallest, "The least instead, the least first");
  app.add_option("--nan", options->nan, "NaNs are left out (skip), or greater than all else (last)")
      .type_name("last|skip");
  app.add_option("--rows", options->rows, "The first of each of N equal blocks of the input").type_name("N");
  app.add_flag("--index", options->index, "Only where they are, from 0 in the input or in its row");
  add_common_options(app, options->common);
  add_digits_option(app, options->common);
  app.footer(topk_examples);
  return {app, [options] { return run_command(*options); }};
}

}  // namespace masu::cli
