// SPDX-License-Identifier: Apache-2.0
// masu unique: the distinct values, and how often each occurs.
#include "cli/arrays/array_stream.h"
#include "cli/groups/grouped_table.h"
#include "cli/sort/sort_job.h"
#include "cli/verify/references.h"
#include "elements/order.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/unique.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>

namespace masu::cli {
namespace {

// Distinct values with their counts, of data of any size.

constexpr std::uint64_t table_block_entries = 4096;  // that merging gives at a time

// Whether two values are one: neither comes before the other.
bool same_value(const ArrayView& a, std::uint64_t i, const void* b) {
  return dispatch(a.dtype, [&]<class T>(TypeTag<T>) {
    T left;
    T right;
    std::memcpy(&left, static_cast<const std::byte*>(a.data) + i * sizeof(T), sizeof(T));
    std::memcpy(&right, b, sizeof(T));
    return ordered_key(left) == ordered_key(right);
  });
}

// Counts distinct values piece by piece. When there are more than memory holds, what was found is put into a file as a
// sorted run, and the runs are merged at the end.
class UniqueTable {
 public:
  struct Request {
    Device device;
    Dtype dtype = Dtype::u8;
    std::uint64_t memory = 0;
    std::string tmpdir;
  };
  explicit UniqueTable(Request request)
      : request_(std::move(request)),
        runs_({request_.dtype, sizeof(std::uint64_t)}, Order::ascending, request_.memory, request_.tmpdir) {}

  void add(const ArrayView& piece) {
    if (!accumulator_) accumulator_.emplace(request_.device, request_.dtype);
    accumulator_->add(piece);
    count_ += piece.count;
    // Merging holds them twice, and the result is a copy. Narrow types have a table of fixed size instead.
    if (size_of(request_.dtype) > 2 && accumulator_->memory_bytes() > request_.memory / 4) spill();
  }
  // Instead, of values that are 0, 1, 2, …: how often each occurs.
  void add_counts(std::span<const std::uint64_t> counts) {
    counts_ = counts;
    count_ = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  struct Result {
    NumberedValues entries;
    std::uint64_t distinct = 0;  // entries without the limit
  };
  // The distinct values of all ranks in order, or those of the greatest counts first; at most `limit` of those whose
  // counts are from `least` to `most`. On the first rank, the others have none. Only once.
  struct Choice {
    bool by_count = false;
    std::uint64_t limit = 0;
    std::uint64_t least = 1;
    std::uint64_t most = 0;
    [[nodiscard]] bool has(std::uint64_t count) const { return count >= least && count <= most; }
  };
  Result finish(const Choice& choice) {
    Result result{NumberedValues(request_.dtype, request_.memory / 4, request_.tmpdir), 0};
    if (ranks().several()) gather();
    if (!ranks().first()) return result;
    const auto keep = [&](const ArrayView& values, const std::uint64_t* counts) {
      for (std::uint64_t begin = 0; begin < values.count;) {
        const bool wanted = choice.has(counts[begin]);
        std::uint64_t end = begin + 1;
        while (end < values.count && choice.has(counts[end]) == wanted) ++end;
        const std::uint64_t some = wanted ? std::min(end - begin, choice.limit - result.entries.size()) : 0;
        result.entries.append(part_of(values, begin, some), counts + begin);
        begin = end;
      }
    };
    if (!choice.by_count) {
      give_all([&](const ArrayView& values, const std::uint64_t* counts) {
        result.distinct += values.count;
        keep(values, counts);
      });
      return result;
    }
    // Equal counts stay in the order of the values.
    const std::size_t element = size_of(request_.dtype);
    ExternalSort sorter({request_.device,
                         {Dtype::u64, element},
                         ExternalSort::Payload::given,
                         Order::descending,
                         SortAlgorithm::automatic,
                         request_.memory / 2,
                         request_.tmpdir,
                         std::nullopt});
    give_all([&](const ArrayView& values, const std::uint64_t* counts) {
      result.distinct += values.count;
      sorter.add({{Dtype::u64, counts, values.count}, element_at(values, 0)});
    });
    accumulator_.reset();
    sorter.finish([&](const Records& block) {
      keep({request_.dtype, block.payload, block.keys.count}, static_cast<const std::uint64_t*>(block.keys.data));
    });
    times_ += sorter.times();
    return result;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t runs() const noexcept { return run_count_; }
  [[nodiscard]] const Times& times() const noexcept { return times_; }

 private:
  void spill() {
    const UniqueArrays found = accumulator_->result();
    times_ += accumulator_->times();
    accumulator_.reset();
    const auto began = Clock::now();
    runs_.add({found.values.view(), reinterpret_cast<const std::byte*>(found.counts.data())});
    ++run_count_;
    times_.compute += since(began);
  }
  void give_all(const NumberedSink& sink) {
    for (std::uint64_t first = 0; first < counts_.size(); first += table_block_entries) {
      std::vector<std::uint32_t> values(std::min<std::uint64_t>(table_block_entries, counts_.size() - first));
      std::iota(values.begin(), values.end(), static_cast<std::uint32_t>(first));
      sink(ArrayView(values), counts_.data() + first);
    }
    if (runs_.count() > 0) {
      if (accumulator_) spill();
      merge_runs(sink);
    } else if (accumulator_) {
      const UniqueArrays found = accumulator_->result();
      times_ += accumulator_->times();
      sink(found.values.view(), found.counts.data());
    }
  }
  // Runs come in the order of the input, so the first of equal values is the one that represents them.
  void merge_runs(const NumberedSink& sink) {
    const std::size_t element = size_of(request_.dtype);
    std::vector<std::byte> values;
    std::vector<std::uint64_t> counts;
    const auto flush = [&](std::size_t keep) {
      const std::size_t full = counts.size() - keep;
      sink({request_.dtype, values.data(), full}, counts.data());
      values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(full * element));
      counts.erase(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(full));
    };
    runs_.merge(
        [&](const Records& block) {
          for (std::uint64_t i = 0; i < block.keys.count; ++i) {
            std::uint64_t count = 0;
            std::memcpy(&count, block.payload + i * sizeof count, sizeof count);
            if (!counts.empty() && same_value(block.keys, i, values.data() + values.size() - element)) {
              counts.back() += count;
              continue;
            }
            if (counts.size() > table_block_entries) flush(1);
            values.insert(values.end(), element_at(block.keys, i), element_at(block.keys, i + 1));
            counts.push_back(count);
          }
        },
        [](std::uint64_t) {});
    if (!counts.empty()) flush(0);
  }
  // Makes what all ranks have the first one's.
  // In memory, where all fits into that of each; else each rank's values become runs of the first one's.
  void gather() {
    if (!accumulator_ && run_count_ == 0) accumulator_.emplace(request_.device, request_.dtype);
    std::array<std::uint64_t, 2> all{run_count_, accumulator_ ? accumulator_->memory_bytes() : 0};
    const bool narrow = size_of(request_.dtype) <= 2;
    ranks().add("memory", all);
    // The least memory of all ranks decides.
    const std::uint64_t fits = all[0] == 0 && (narrow || all[1] <= request_.memory / 4) ? 1 : 0;
    if (ranks().sum("room", fits) == static_cast<std::uint64_t>(ranks().size())) {
      times_ += accumulator_->times();
      merge_states("distinct values", *accumulator_, request_.device);
      return;
    }
    if (ranks().first() && accumulator_) spill();
    send_to_first(
        "distinct values", request_.dtype, [&](const NumberedSink& sink) { give_all(sink); },
        [&](const ArrayView& values, const std::uint64_t* counts) {
          runs_.add({values, reinterpret_cast<const std::byte*>(counts)});
          ++run_count_;
        });
  }

  Request request_;
  std::optional<UniqueAccumulator> accumulator_;
  ExternalRuns runs_;
  std::span<const std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t run_count_ = 0;
  Times times_;
};

constexpr std::uint64_t unique_no_limit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t pieces_in_memory = 8;  // a piece and its sorted copies are a part of what may be held

constexpr const char* unique_examples = R"(Examples:
  masu unique labels.npy
  masu unique words.txt --by count --limit 10
  masu unique table.csv --column country --by count --ignore-case
  masu unique huge.raw --dtype u64 --memory 4Gi -o counts.csv)";

struct UniqueCommandOptions : ArrayOptions {
  std::string by = "value";
  std::string limit;
  bool counts = false;  // as uniq has it; they are always there
  bool repeated = false;
  bool once = false;
};

// The whole of the data, sorted stably; throws Differs where its runs are not the entries.
void verify(const ArrayView& data, const UniqueTable::Result& found, const UniqueTable::Choice& choice) {
  std::vector<ReferenceRun> runs = reference_unique(data);
  if (choice.by_count) {
    std::stable_sort(runs.begin(), runs.end(),
                     [](const ReferenceRun& a, const ReferenceRun& b) { return a.count > b.count; });
  }
  if (runs.size() != found.distinct) {
    differs("found {} distinct values, the reference {}", found.distinct, runs.size());
  }
  std::erase_if(runs, [&](const ReferenceRun& run) { return !choice.has(run.count); });
  std::uint64_t place = 0;
  found.entries.each([&](const ArrayView& values, const ArrayView& counts) {
    for (std::uint64_t i = 0; i < values.count; ++i, ++place) {
      const bool same = static_cast<const std::uint64_t*>(counts.data)[i] == runs[place].count;
      if (same && same_bits(values, i, data, runs[place].first)) continue;
      differs("entry {} is not the reference's", place);
    }
  });
}

ColumnsResult counted_columns(const NumberedValues& entries) {
  ColumnsResult result;
  result.heads = {{"value", "values"}, {"count", "counts"}};
  result.pieces = [&](const ColumnsResult::Taker& take) {
    entries.each([&](const ArrayView& values, const ArrayView& counts) { take(std::array{values, counts}); });
  };
  return result;
}

// The first of them in the order that was asked for.
UniqueTable::Result first_of(const UniqueArrays& found, const UniqueTable::Choice& choice, const std::string& tmpdir) {
  const ArrayView values = found.values.view();
  UniqueTable::Result result{{values.dtype, values.count * sizeof(std::uint64_t), tmpdir}, found.size()};
  std::vector<std::uint64_t> order(found.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto more = [&](std::uint64_t a, std::uint64_t b) { return found.counts[a] > found.counts[b]; };
  std::erase_if(order, [&](std::uint64_t i) { return !choice.has(found.counts[i]); });
  if (choice.by_count) std::stable_sort(order.begin(), order.end(), more);
  order.resize(std::min<std::uint64_t>(order.size(), choice.limit));
  for (const std::uint64_t i : order) result.entries.append(part_of(values, i, 1), &found.counts[i]);
  return result;
}

// The distinct values of each group, with how often each occurs there.
Exit run_groups(const UniqueCommandOptions& asked, ColumnsForm form, const UniqueTable::Choice& choice) {
  const GroupedTable table(asked, {.work = Work::sorting});
  const GroupedTable::Values& held = table.values();
  const CommonOptions& common = asked.common;
  NumberedValues all(held.dtype, held.count() * sizeof(std::uint64_t), common.tmpdir);
  std::vector<std::uint64_t> entries;
  std::vector<std::uint64_t> distinct;
  Times times;
  struct Found {
    UniqueTable::Result result;
    Times times;
  };
  table.each(
      [&](std::uint64_t group) {
        Times took;
        UniqueOptions options;
        options.times = &took;
        const UniqueArrays distinct_values = unique(table.device(), held.view(group), options);
        Found found{first_of(distinct_values, choice, common.tmpdir), took};
        if (common.verify) verify(held.view(group), found.result, choice);
        return found;
      },
      [&](std::uint64_t, const Found& found) {
        found.result.entries.each([&](const ArrayView& values, const ArrayView& counts) {
          all.append(values, static_cast<const std::uint64_t*>(counts.data));
        });
        entries.push_back(found.result.entries.size());
        distinct.push_back(found.result.distinct);
        times += found.times;
      });
  const Seconds seconds = table.seconds(times);
  ColumnsResult result = counted_columns(all);
  result.heads.front().names = held.names.get();
  table.label(result, std::move(entries));
  result.json_rest = fmt::format(R"("n":{},"distinct":[{}],"dtype":"{}",{})", held.count(), fmt::join(distinct, ","),
                                 type_name(table.info()), table.json_end(seconds));
  write_columns(result, form, common);
  table.tell(seconds);
  return Exit::done;
}

Exit run_command(UniqueCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  const ColumnsForm form = columns_form(common, false);
  UniqueTable::Choice choice{is_second("--by", asked.by, "value", "count"), unique_no_limit, 1, unique_no_limit};
  if (!asked.limit.empty()) choice.limit = whole_number("--limit", asked.limit, 1, unique_no_limit);
  if (asked.repeated && asked.once) usage_error("--repeated and --once exclude each other");
  if (asked.repeated) choice.least = 2;
  if (asked.once) choice.most = 1;
  if (!asked.group.empty()) return run_groups(asked, form, choice);
  asked.input.any_order = true;
  ArrayStream stream(asked, Work::sorting, "unique");
  const Dtype dtype = stream.info().dtype;
  const std::vector<std::byte> reference = stream.whole();

  const std::uint64_t memory = stream.memory();
  stream.limit_pieces(memory / pieces_in_memory);
  UniqueTable table({stream.device(), dtype, memory, common.tmpdir});
  // Texts are counted as they are read.
  const io::ValueNames* names = stream.info().names.get();
  if (names != nullptr && !names->counts().empty() && !common.verify) table.add_counts(names->counts());
  else stream.each([&](const ArrayView& piece) { table.add(piece); });
  const std::uint64_t count = stream.settle(table.count());
  const UniqueTable::Result found = table.finish(choice);
  const Seconds seconds = stream.seconds(table.times());
  if (!ranks().first()) return Exit::done;
  if (common.verify) verify({dtype, reference.data(), count}, found, choice);

  ColumnsResult result = counted_columns(found.entries);
  result.heads.front().names = stream.info().names.get();
  result.json_rest =
      fmt::format(R"("n":{},"distinct":{},"dtype":"{}",{})", count, found.distinct, type_name(stream.info()),
                  stream.json_end(seconds, fmt::format(R"(,"runs":{})", table.runs())));
  write_columns(result, form, common);
  if (!common.quiet && found.entries.size() < found.distinct) {
    note(fmt::format("masu: {}: {} of {} distinct values", stream.info().name, found.entries.size(), found.distinct));
  }
  stream.tell(count, seconds);
  return Exit::done;
}

}  // namespace

void add_unique(CommandLine& line) {
  array_command<UniqueCommandOptions>(
      line, "unique", "The distinct values, and how often each occurs", unique_examples, Printed::numbers, run_command,
      [](const Subcommand& app, UniqueCommandOptions& options) {
        app.add_option("--by", options.by, "value|count", "The order: by value, or the most frequent first");
        app.add_option("--limit", options.limit, "N", "Only the first N of them");
        app.add_flag("-d,--repeated", options.repeated, "Only values that occur more than once");
        app.add_flag("-u,--once", options.once, "Only values that occur once");
        app.more().add_flag("-c,--counts", options.counts, "Show the counts, which are always shown");
        add_group_options(app, options);
        add_words_options(app, options.input, true);
        add_alpha_option(app, options.input);
      });
}

}  // namespace masu::cli
