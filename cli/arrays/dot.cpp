// SPDX-License-Identifier: Apache-2.0
// masu dot: the exact dot product of two inputs.
#include "cli/arrays/array_stream.h"
#include "cli/verify/references.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/sum.h>
#include <memory>
#include <optional>

namespace masu::cli {
namespace {

constexpr const char* dot_examples = R"(Examples:
  masu dot x.npy y.npy
  masu dot prices.csv --header --column price --column amount
  masu dot random:f32:100M random:f32:100M:seed=1 --time)";

struct DotCommandOptions : ArrayOptions {
  std::string result = "f64";
};

using Sources = std::vector<std::unique_ptr<io::Source>>;

// Two inputs, or two columns of one.
Sources open_both(const InputOptions& input, const CommonOptions& common, std::vector<Way>& ways) {
  // The lines of one text have both numbers of a pair.
  const bool columns = input.inputs.size() == 1 && input.columns.size() == 2;
  if (!columns && (input.inputs.size() != 2 || input.columns.size() > 1)) {
    usage_error("takes two INPUTs, or one INPUT and --column twice; got {} INPUT{} and {} --column",
                input.inputs.size(), input.inputs.size() == 1 ? "" : "s", input.columns.size());
  }
  const std::string& first = input.inputs.front();
  if (first == "-" && input.inputs.back() == "-") usage_error("standard input can be one of the two only");
  Sources sources;
  for (std::size_t i = 0; i < 2; ++i) {
    io::SourceOptions options = source_options(input, common);
    options.needed_by = "dot";  // an entry that is left out would misalign all later pairs
    options.places = true;      // but empty ones are known, and their pairs left out
    if (!input.columns.empty()) options.column = columns ? input.columns[i] : input.columns.front();
    if (columns) options.needed_by += " of column " + options.column;
    SharedSource shared = open_shared(columns ? first : input.inputs[i], options, columns);
    sources.push_back(std::move(shared.source));
    ways.push_back(shared.way);
  }
  io::unify_dtypes(sources);
  const io::SourceInfo x = sources[0]->info();
  const io::SourceInfo y = sources[1]->info();
  if (x.dtype != y.dtype) {
    data_error("the inputs must have one dtype: {} has {}, {} has {}", x.name, to_string(x.dtype), y.name,
               to_string(y.dtype));
  }
  leave_out_pairs(sources[0], sources[1]);
  const std::optional<std::uint64_t> xs = shared_count(*sources[0], ways[0]);
  const std::optional<std::uint64_t> ys = shared_count(*sources[1], ways[1]);
  if (xs && ys && *xs != *ys) {
    data_error("the inputs must be equally long: {} has {} values, {} has {}", x.name, *xs, y.name, *ys);
  }
  return sources;
}

SumResult result_of(const SumAccumulator& sums, Dtype result, const std::string& name) {
  return with_data(name, [&] { return sums.dot(result); });
}

void verify(const ReferenceSum& reference, Dtype dtype, std::uint64_t found) {
  std::uint64_t expected = 0;
  const bool fits = is_float(dtype) || reference.integer(dtype == Dtype::i64, expected);
  if (is_float(dtype)) expected = bits_of(reference.sum(dtype), dtype);
  if (fits && found == expected) return;
  differs("the dot product differs from the reference's, {}", element_text(ArrayView(dtype, &expected, 1), 0));
}

Exit run_command(DotCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  const Dtype wanted = parse_result(asked.result);
  if (common.format.empty()) check_ending("-o", common.output, ".txt .json .npy");
  const ColumnsForm form = columns_form(common, true);
  const auto began = Clock::now();
  std::vector<Way> ways;
  Sources sources = open_both(asked.input, common, ways);
  cut_shared(sources, ways);
  const io::SourceInfo& info = sources.front()->info();
  const std::optional<std::uint64_t> bytes = known_bytes(*sources.front());
  const Device device = device_of_rank(common.device, Work::reading, 2 * bytes.value_or(0));
  SumAccumulator sums(device, info.dtype, SumKind::dot);
  ReferenceSum reference;
  double verifying = 0;
  Progress progress(progress_mode(common));
  progress.start("dot", bytes ? std::optional(2 * *bytes) : std::nullopt);
  Pieces pieces(sources, 1, chunk_bytes(device, 2, memory_limit(common)), progress);
  while (true) {
    const std::span<const ArrayView> piece = pieces.next();
    if (piece.front().count == 0) break;
    sums.add(piece[0], piece[1]);
    const auto verifies = Clock::now();
    for (std::uint64_t i = 0; common.verify && i < piece[0].count; ++i) {
      reference.add_product(piece[0], i, piece[1], i);
    }
    verifying += since(verifies);
  }
  progress.finish();
  const Times times = sums.times();
  // The reference has only this rank's elements, so it is compared before the ranks are joined.
  if (common.verify) {
    const SumResult mine = result_of(sums, wanted, info.name);
    verify(reference, mine.dtype(), bits_of(mine));
  }
  merge_states("dot", sums, device);
  if (info.format == "text" && sums.count() == 0) data_error("{}: has no pair of numbers", info.name);
  const io::TextReport text = tell_source(*sources[0], common);
  if (sources[1]->info().name != info.name) tell_source(*sources[1], common);
  if (!ranks().first()) return Exit::done;
  const SumResult result = result_of(sums, wanted, info.name);
  const Dtype dtype = result.dtype();
  const std::uint64_t bits = bits_of(result);
  const Seconds seconds{pieces.seconds(), times.transfer, times.compute, since(began) - verifying};
  const ArrayView value(dtype, &bits, 1);
  std::vector<std::string> notes;
  for (const auto& source : sources)
    for (const std::string& note : source->info().notes) notes.push_back(source->info().name + ": " + note);
  ColumnsResult found;
  found.heads = {{"dot", "dot"}};
  found.pieces = [&](const ColumnsResult::Taker& take) { take({&value, 1}); };
  found.one = found.bare = true;
  found.json_rest = fmt::format(R"("n":{},"dtype":"{}","device":{}{},{})", sums.count(), to_string(info.dtype),
                                json_string(device.id()), json_report(text, notes), json_seconds(seconds));
  write_columns(found, form, common);
  if (common.verify && !common.quiet) note(fmt::format("verified: {} values", sums.count()));
  if (common.time) note_times(seconds, 2 * sums.count() * size_of(info.dtype));
  return Exit::done;
}

}  // namespace

void add_dot(CommandLine& line) {
  array_command<DotCommandOptions>(line, "dot", "The exact dot product of two inputs", dot_examples, Printed::numbers,
                                   run_command, [](const Subcommand& app, DotCommandOptions& options) {
                                     add_result_option(app, options.result);
                                     add_alpha_option(app, options.input);
                                   });
}

}  // namespace masu::cli
