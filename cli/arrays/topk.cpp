// SPDX-License-Identifier: Apache-2.0
// masu topk: the greatest or least values, and where they are.
#include "cli/arrays/array_stream.h"
#include "cli/groups/grouped_table.h"
#include "cli/sort/sort_job.h"
#include "cli/verify/references.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/topk.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace masu::cli {
namespace {

// The first values of an order with where they are, of data of any size.

// What is asked of each row.
struct TopkRequest {
  Device device;
  Dtype dtype = Dtype::u8;
  std::uint64_t k = 1;
  TopkOptions how;
  std::uint64_t memory = 0;
  std::string tmpdir;
};

constexpr std::uint64_t entry_bytes = 24;      // that the selection takes for each value that it keeps
constexpr std::uint64_t whole_row_bytes = 64;  // that a value of a whole row takes with the copies and the result of it

// Each thread keeps up to 2 k, and their merge 4 k.
bool fits(std::uint64_t k, std::uint64_t memory) {
  return k <= memory / entry_bytes / (2 * std::uint64_t{cpu_threads()} + 4);
}

// The first k of one row. They are kept from piece to piece; where k is more than memory holds, the row is sorted
// through files instead.
class RowTopk {
 public:
  explicit RowTopk(const TopkRequest& request) : request_(request) {
    if (fits(request.k, request.memory)) {
      accumulator_.emplace(request.device, request.dtype, request.k, request.how);
      return;
    }
    sorter_.emplace(ExternalSort::Request{request.device,
                                          {request.dtype, sizeof(std::uint64_t)},
                                          ExternalSort::Payload::number,
                                          request.how.largest ? Order::descending : Order::ascending,
                                          SortAlgorithm::automatic,
                                          request.memory / 2,
                                          request.tmpdir,
                                          std::nullopt});
  }
  void add(const ArrayView& piece) {
    if (accumulator_) accumulator_->add(piece);
    else sorter_->add({piece});
  }
  // Appends what was found to `entries`; returns the NaNs that were skipped. Nothing comes after it.
  std::uint64_t finish(NumberedValues& entries) {
    if (sorter_) return finish_sorted(entries);
    const TopkResult found = accumulator_->result();
    entries.append(found.view(), found.indices().data());
    times_ += accumulator_->times();
    return found.skipped();
  }
  // Before that: what the rows of all ranks have, which are one.
  void merge_ranks() {
    // A rank fails alone where its memory is smaller than that of the others.
    if (!accumulator_) {
      throw Error(
          ErrorCode::out_of_memory,
          fmt::format("topk: with several ranks the {} values must fit the memory of each (--memory)", request_.k));
    }
    times_ = accumulator_->times();
    merge_states("topk", *accumulator_, request_.device);
  }
  [[nodiscard]] const Times& times() const noexcept { return times_; }

 private:
  std::uint64_t finish_sorted(NumberedValues& entries) {
    const bool skip = request_.how.nan == NanPolicy::skip && is_float(request_.dtype);
    std::uint64_t skipped = 0;
    std::uint64_t left = request_.k;
    std::vector<std::uint64_t> indices;
    sorter_->finish([&](const Records& block) {
      // NaNs stand at one end of the order, so what is not NaN is one part of a block.
      std::uint64_t first = 0;
      std::uint64_t end = block.keys.count;
      while (skip && first < end && is_nan(block.keys, first)) ++first;
      while (skip && first < end && is_nan(block.keys, end - 1)) --end;
      skipped += block.keys.count - (end - first);
      const std::uint64_t count = std::min(left, end - first);
      indices.resize(count);
      if (count > 0)
        std::memcpy(indices.data(), block.payload + first * sizeof(std::uint64_t), count * sizeof(std::uint64_t));
      entries.append(part_of(block.keys, first, count), indices.data());
      left -= count;
    });
    times_ = sorter_->times();
    return skipped;
  }
  TopkRequest request_;
  std::optional<TopkAccumulator> accumulator_;
  std::optional<ExternalSort> sorter_;
  Times times_;
};

// The first k of each row of data that comes in pieces.
class TopkTable {
 public:
  // Rows have `row_length` elements; without it all of the data is one.
  TopkTable(TopkRequest request, std::optional<std::uint64_t> row_length)
      : request_(std::move(request)),
        by_rows_(row_length.has_value()),
        rows_(
            row_length.value_or(0), row_length.value_or(0) <= request_.memory / whole_row_bytes,
            [this](const ArrayView& rows, std::uint64_t count) { add_rows(rows, count); },
            [this](const ArrayView& part, bool ends) {
              if (!row_) row_.emplace(request_);
              row_->add(part);
              if (ends) end_row();
            }),
        result_{{request_.dtype, request_.memory / 4, request_.tmpdir}, {}, {}} {}
  void add(const ArrayView& piece) {
    count_ += piece.count;
    rows_.add(piece);
  }

  struct Result {
    NumberedValues entries;              // row by row, with their indices in the row
    std::vector<std::uint64_t> found;    // entries of each row
    std::vector<std::uint64_t> skipped;  // NaNs of each row that were left out
  };
  // The first rank gets the result of all ranks. May be called once.
  Result finish() {
    if (!ranks().several()) {
      if (row_) end_row();
    } else if (by_rows_) {
      join_rows();
    } else {
      if (!row_) row_.emplace(request_);
      row_->merge_ranks();
      end_row();
    }
    return std::move(result_);
  }
  // How many elements this rank has added.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] const Times& times() const noexcept { return times_; }

 private:
  void add_rows(const ArrayView& data, std::uint64_t count) {
    Times took;
    TopkOptions how = request_.how;
    how.rows = count;
    how.times = &took;
    const TopkResult found = topk(request_.device, data, request_.k, how);
    for (std::uint64_t row = 0; row < count; ++row) {
      result_.entries.append(found.view(row), found.indices(row).data());
      result_.found.push_back(found.size(row));
      result_.skipped.push_back(found.skipped(row));
    }
    times_ += took;
  }
  void end_row() {
    const std::uint64_t before = result_.entries.size();
    result_.skipped.push_back(row_->finish(result_.entries));
    result_.found.push_back(result_.entries.size() - before);
    times_ += row_->times();
    row_.reset();
  }
  // Appends the rows of the other ranks to those of the first.
  void join_rows() {
    const auto give = [&](const NumberedSink& sink) {
      result_.entries.each([&](const ArrayView& values, const ArrayView& indices) {
        sink(values, static_cast<const std::uint64_t*>(indices.data));
      });
    };
    send_to_first("rows of topk", request_.dtype, give, [&](const ArrayView& values, const std::uint64_t* indices) {
      result_.entries.append(values, indices);
    });
    result_.found = join_ranks("found", std::move(result_.found));
    result_.skipped = join_ranks("skipped", std::move(result_.skipped));
  }

  TopkRequest request_;
  bool by_rows_;
  Rows rows_;
  std::optional<RowTopk> row_;
  Result result_;
  std::uint64_t count_ = 0;
  Times times_;
};

constexpr std::uint64_t most_values = std::uint64_t{1} << 40U;

constexpr const char* topk_examples = R"(Examples:
  masu topk scores.npy -k 10
  masu topk prices.csv --header --column price -k 5 --smallest
  masu topk table.raw --dtype f32 --rows 1000 -k 3 -o best.npy
  masu topk sales.csv --key price -k 20 --lines
  masu topk sales.csv --group city --key price -k 1 --lines
  masu topk huge.raw --dtype f32 -k 1M --memory 1Gi --json)";

struct TopkCommandOptions : ArrayOptions {
  std::string k = "10";
  std::string nan = "skip";
  std::vector<std::string> keys;  // of --lines
  bool lines = false;
  bool ignore_case = false;
  bool smallest = false;
  bool index = false;
};

// masu topk --lines.
Exit run_lines(TopkCommandOptions& asked, bool skip_nan, std::uint64_t k) {
  if (!asked.rows.empty() || asked.common.verify || asked.common.json || !asked.input.dtype.empty())
    usage_error("--lines takes no --rows, --dtype, --verify or --json");
  if (asked.keys.empty()) asked.keys = std::exchange(asked.input.columns, {});
  if (asked.keys.empty() || !asked.input.columns.empty()) usage_error("--lines needs --key or --column, one of them");
  if (asked.index) check_array_format(asked.common);
  else check_line_output(asked.common);
  const LineKey usual{"", LineKey::Kind::any, !asked.smallest};
  LinesRequest request{asked.common, asked.input, parse_line_keys(asked.keys, usual), k};
  request.ignore_case = asked.ignore_case;
  request.index = asked.index;
  request.skip_nan = skip_nan;
  if (!asked.group.empty()) request.group = split(asked.group);
  if (is_second("--group-order", asked.group_order, "first", "sorted"))
    usage_error("--lines takes groups as they first appear; masu sort --key COLUMN --lines sorts what it writes");
  const SortSummary done = sort_lines(request, "topk");
  if (asked.common.time) note_times(done.seconds, done.bytes);
  return Exit::done;
}

// All of the data, each row sorted stably; throws Differs where the first of them are not the entries.
void verify(const ArrayView& data, std::uint64_t rows, std::uint64_t k, const TopkOptions& how,
            const TopkTable::Result& found) {
  const std::uint64_t length = data.count / rows;
  const Order order = how.largest ? Order::descending : Order::ascending;
  std::vector<std::uint64_t> places;  // of all rows, one row after the other
  for (std::uint64_t row = 0; row < found.found.size(); ++row) {
    const ArrayView values = part_of(data, row * length, length);
    const auto expected = reference_topk(values, order, how.nan == NanPolicy::skip, k);
    if (expected.size() != found.found[row]) {
      differs("row {} has {} values, the reference {}", row, found.found[row], expected.size());
    }
    for (const std::uint64_t place : expected) places.push_back(row * length + place);
  }
  std::uint64_t entry = 0;
  found.entries.each([&](const ArrayView& values, const ArrayView& indices) {
    for (std::uint64_t i = 0; i < values.count; ++i, ++entry) {
      const std::uint64_t index = static_cast<const std::uint64_t*>(indices.data)[i];
      const std::uint64_t expected = length == 0 ? 0 : places[entry] % length;
      if (index == expected && same_bits(values, i, data, places[entry])) continue;
      differs("entry {} is not the reference's: index {} instead of {}", entry, index, expected);
    }
  });
}

ColumnsResult columns_of(const TopkCommandOptions& asked, const TopkTable::Result& found,
                         const std::optional<Places>& places, const io::ValueNames* names) {
  ColumnsResult result;
  if (!asked.index) result.heads.push_back({"value", "values", false, names});
  result.heads.push_back({"index", "indices"});
  result.pieces = [&asked, &found, &places](const ColumnsResult::Taker& take) {
    found.entries.each([&](const ArrayView& values, const ArrayView& indices) {
      std::vector<std::uint64_t> moved;
      if (places) moved = places->of(indices.data, indices.count);
      const ArrayView there = places ? ArrayView(moved) : indices;
      if (asked.index) take(std::array{there});
      else take(std::array{values, there});
    });
  };
  if (!asked.rows.empty()) result.rows = found.found;
  return result;
}

void tell_skipped(const CommonOptions& common, const std::string& name, std::uint64_t skipped) {
  if (!common.quiet && skipped > 0) note(fmt::format("masu: {}: {} NaNs left out", name, skipped));
}

std::string json_skipped(const TopkCommandOptions& asked, const std::vector<std::uint64_t>& skipped) {
  if (asked.rows.empty()) return std::to_string(skipped.empty() ? 0 : skipped.front());
  return fmt::format("[{}]", fmt::join(skipped, ","));
}

// The first k of each group.
Exit run_groups(const TopkCommandOptions& asked, ColumnsForm form, std::uint64_t k, const TopkOptions& how) {
  const GroupedTable table(asked, {.work = Work::reading, .places = true});
  const GroupedTable::Values& held = table.values();
  const CommonOptions& common = asked.common;
  TopkTable::Result all{{held.dtype, held.count() * sizeof(std::uint64_t), common.tmpdir}, {}, {}};
  Times times;
  std::uint64_t skipped = 0;
  struct Found {
    TopkResult values;
    Times times;
  };
  table.each(
      [&](std::uint64_t group) {
        Found found;
        TopkOptions options = how;
        options.times = &found.times;
        const ArrayView values = held.view(group);
        if (values.count != 0) found.values = topk(table.device(), values, std::min(k, values.count), options);
        if (!common.verify || values.count == 0) return found;
        TopkTable::Result one{{held.dtype, values.count * sizeof(std::uint64_t), common.tmpdir}, {}, {}};
        one.entries.append(found.values.view(), found.values.indices().data());
        one.found.push_back(found.values.size());
        verify(values, 1, std::min(k, values.count), how, one);
        return found;
      },
      [&](std::uint64_t group, const Found& found) {
        if (found.values.rows() == 0) return all.found.push_back(0);
        const auto indices = found.values.indices();
        std::vector<std::uint64_t> places(indices.begin(), indices.end());
        held.to_places(group, places);
        all.entries.append(found.values.view(), places.data());
        all.found.push_back(found.values.size());
        skipped += found.values.skipped();
        times += found.times;
      });
  const Seconds seconds = table.seconds(times);
  const std::optional<Places> none;  // the indices are places already
  ColumnsResult result = columns_of(asked, all, none, held.names.get());
  table.label(result, all.found);
  result.json_rest = fmt::format(R"("n":{},"dtype":"{}",{})", held.count(), type_name(table.info()),
                                 table.json_end(seconds, fmt::format(R"(,"nan_skipped":{})", skipped)));
  write_columns(result, form, common);
  tell_skipped(common, table.info().name, skipped);
  table.tell(seconds);
  return Exit::done;
}

Exit run_command(TopkCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  TopkOptions how;
  how.largest = !asked.smallest;
  how.nan = is_second("--nan", asked.nan, "last", "skip") ? NanPolicy::skip : NanPolicy::last;
  std::uint64_t k = whole_number("-k", asked.k, 1, most_values);
  if (asked.lines || !asked.keys.empty()) return run_lines(asked, how.nan == NanPolicy::skip, k);
  const ColumnsForm form = columns_form(common, true);
  if (!asked.group.empty()) return run_groups(asked, form, k, how);
  asked.input.places = asked.rows.empty();
  ArrayStream stream(asked, Work::reading, "topk");
  const Dtype dtype = stream.info().dtype;
  const std::optional<std::uint64_t> row_length = stream.row_length();
  const std::optional<std::uint64_t> most = row_length ? row_length : stream.known_count();
  if (most) k = std::clamp<std::uint64_t>(*most, 1, k);
  const std::vector<std::byte> reference = stream.whole();

  TopkTable table({stream.device(), dtype, k, how, stream.memory(), common.tmpdir}, row_length);
  stream.each([&](const ArrayView& piece) { table.add(piece); });
  const std::uint64_t count = stream.settle(table.count());
  TopkTable::Result found = table.finish();
  if (row_length == 0) found.found.assign(stream.rows(), 0);  // rows of nothing
  if (row_length == 0) found.skipped.assign(stream.rows(), 0);
  const Seconds seconds = stream.seconds(table.times());
  std::optional<Places> places;
  if (asked.input.places) places.emplace(stream.places(table.count()));
  if (!ranks().first()) return Exit::done;
  if (common.verify) verify({dtype, reference.data(), count}, stream.rows(), k, how, found);

  ColumnsResult result = columns_of(asked, found, places, stream.info().names.get());
  result.json_rest =
      fmt::format(R"("n":{},"dtype":"{}",{})", count, type_name(stream.info()),
                  stream.json_end(seconds, fmt::format(R"(,"nan_skipped":{})", json_skipped(asked, found.skipped))));
  write_columns(result, form, common);
  const std::uint64_t skipped = std::accumulate(found.skipped.begin(), found.skipped.end(), std::uint64_t{0});
  tell_skipped(common, stream.info().name, skipped);
  stream.tell(count, seconds);
  return Exit::done;
}

}  // namespace

void add_topk(CommandLine& line) {
  array_command<TopkCommandOptions>(
      line, "topk", "The greatest or least values, and where they are", topk_examples, Printed::numbers, run_command,
      [](const Subcommand& app, TopkCommandOptions& options) {
        app.add_option("-k", options.k, "K", "Number of values (10); all, in order, where the input has fewer");
        app.add_flag("--smallest", options.smallest, "The smallest values, the smallest first");
        app.more().add_option("--nan", options.nan, "last|skip",
                              "NaNs are left out (skip), or greater than all else (last)");
        app.add_flag("--lines", options.lines, "Text input: whole lines, by --key or --column");
        app.add_option("--key", options.keys, "COLUMN[:desc][:number|:text]",
                       "Whole lines by that column, several with commas, as for masu sort")
            .one_value();
        app.more().add_flag("--ignore-case", options.ignore_case, "A to Z are as a to z in keys that are text");
        add_rows_option(app, options);
        add_group_options(app, options);
        app.add_flag("--index", options.index, "Write the indices alone, from 0 in the input or in its row");
        add_words_options(app, options.input, false);
        add_alpha_option(app, options.input);
      });
}

}  // namespace masu::cli
