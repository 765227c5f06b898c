// SPDX-License-Identifier: Apache-2.0
// Notes and JSON about the entries of a text that were left out, and the places of the others.
#include "cli/arrays/array_stream.h"
#include "io/fields.h"
#include "ranks.h"
#include "runtime/text.h"
#include "text.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

// The fields that a rank sends to the others, as JSON.
namespace masu::io {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TextReport::Kind, count, line, first)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TextReport, left_out, places, comment_lines, rows, columns, begin_line, end_line,
                                   lines_known, ragged_line)
}  // namespace masu::io

namespace masu::cli {
namespace {

using runtime::grouped;

constexpr std::uint64_t most_shared_gaps = std::uint64_t{1} << 20U;  // gaps that each rank keeps of every rank

struct LeftOutWords {
  io::LeftOut kind;
  const char* json;
  const char* of_entries;
  const char* of_rows;
};
constexpr std::array<LeftOutWords, 5> left_out_words = {{
    {io::LeftOut::empty, "empty", "empty", "empty"},
    {io::LeftOut::not_a_number, "not_a_number", "not a number", "not a number"},
    {io::LeftOut::wrong_fields, "wrong_fields", "lines with a wrong number of fields", "with a wrong number of fields"},
    {io::LeftOut::no_column, "no_column", "without the column", "without the column"},
    {io::LeftOut::too_long, "too_long", "too long", "too long"},
}};

}  // namespace

std::uint64_t all_left_out(const io::TextReport& report) {
  std::uint64_t sum = 0;
  for (const io::TextReport::Kind& kind : report.left_out) sum += kind.count;
  return sum;
}

io::TextReport join_reports(std::span<const io::TextReport> parts) {
  io::TextReport all = parts.front();
  for (const io::TextReport& part : parts.subspan(1)) io::append(all, part);
  return all;
}

io::TextReport report_of_ranks(const io::TextReport& mine) {
  if (!ranks().several()) return mine;
  std::vector<io::TextReport> parts;
  for (const Ranks::Bytes& part : ranks().from_each("left out", bytes_of(nlohmann::json(mine).dump()))) {
    nlohmann::json::parse(text_in(part)).get_to(parts.emplace_back(mine));
  }
  return join_reports(parts);
}

void note_report(const std::string& name, const io::TextReport& report) {
  const auto say = [&](const std::string& text) { note(fmt::format("masu: {}: {}", name, text)); };
  if (report.row_names) say("the header is one name short, so the first column has names of rows");
  if (report.comment_lines != 0) {
    say((report.comment_lines == 1 ? "1 line begins with # and was"
                                   : grouped(report.comment_lines) + " lines begin with # and were") +
        std::string(" skipped (--comment '' reads such lines)"));
  }
  if (report.ragged_line != 0)
    say(fmt::format("line {} has not as many fields as the first line; places count all fields", report.ragged_line));
  const std::uint64_t all = all_left_out(report);
  if (all == 0) return;
  std::string text =
      fmt::format("{} of {} {}:", grouped(all), grouped(report.places), report.rows ? "rows" : "entries");
  const char* between = " ";
  for (const LeftOutWords& words : left_out_words) {
    const io::TextReport::Kind& kind = report[words.kind];
    if (kind.count == 0) continue;
    const bool no_date = report.instants && words.kind == io::LeftOut::not_a_number;
    text += fmt::format("{}{} {}", between, grouped(kind.count),
                        no_date       ? "not a date or a time"
                        : report.rows ? words.of_rows
                                      : words.of_entries);
    // Where many are empty, the line of one says little.
    if (words.kind != io::LeftOut::empty || kind.count == all) {
      text += fmt::format(" (line {}{}{})", kind.line, kind.first.empty() ? "" : ": ", kind.first);
    }
    between = ", ";
  }
  if (report.texts && report[io::LeftOut::not_a_number].count >= report.places / 2 + report.places % 2)
    text += " (--text takes all as texts)";
  const bool cut = report[io::LeftOut::wrong_fields].count != 0 || report[io::LeftOut::no_column].count != 0;
  say(cut ? fmt::format("{}; {}", text, report.how_cut) : text);
}

io::TextReport tell_source(const io::Source& source, const CommonOptions& common) {
  io::TextReport report = report_of_ranks(source.report());
  if (!common.quiet && ranks().first()) {
    tell_notes(source.info());
    note_report(source.info().name, report);
  }
  return report;
}

std::string json_report(const io::TextReport& report, std::span<const std::string> notes) {
  std::string text;
  const std::uint64_t all = all_left_out(report);
  if (all != 0) {
    text += fmt::format(R"(,"bad_lines":{},"left_out":{{)", all);
    const char* between = "";
    for (const LeftOutWords& words : left_out_words) {
      text += fmt::format("{}\"{}\":{}", between, words.json, report[words.kind].count);
      between = ",";
    }
    text += "}";
  }
  if (report.comment_lines != 0) text += fmt::format(R"(,"comment_lines":{})", report.comment_lines);
  if (report.ragged_line != 0) text += fmt::format(R"(,"ragged_line":{})", report.ragged_line);
  std::string list;
  for (const std::string& one : notes) list += (list.empty() ? "" : ",") + json_string(one);
  return list.empty() ? text : fmt::format(R"({},"notes":[{}])", text, list);
}

Places::Places(io::Source& source, std::uint64_t numbers) : source_(&source) {
  if (!ranks().several() || source.info().format != "text") return;
  std::vector<io::Source::Gap> mine(most_shared_gaps + 1);
  mine.resize(source.gaps(0, mine));
  if (mine.size() > most_shared_gaps) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: with several ranks, the places of at most {} gaps between numbers are kept",
                            source.info().name, grouped(most_shared_gaps)));
  }
  mine.insert(mine.begin(), {numbers, source.report().places - numbers});
  const auto bytes = std::as_bytes(std::span(mine));
  io::Source::Gap before;
  for (const Ranks::Bytes& part : ranks().from_each("places", {bytes.begin(), bytes.end()})) {
    std::vector<io::Source::Gap> gaps(part.size() / sizeof before);
    std::memcpy(gaps.data(), part.data(), part.size());
    gaps_.push_back(before);
    for (auto gap = gaps.begin() + 1; gap != gaps.end(); ++gap) {
      gaps_.push_back({before.number + gap->number, before.missing + gap->missing});
    }
    before = {before.number + gaps.front().number, before.missing + gaps.front().missing};
  }
}

void Places::apply(std::span<std::uint64_t> indices) const {
  if (gaps_.empty()) return source_->to_places(indices);
  for (std::uint64_t& index : indices) {
    const auto after = std::upper_bound(gaps_.begin(), gaps_.end(), index,
                                        [](std::uint64_t i, const io::Source::Gap& gap) { return i < gap.number; });
    index += (after - 1)->missing;
  }
}

std::vector<std::uint64_t> Places::of(const void* indices, std::uint64_t count) const {
  std::vector<std::uint64_t> places(count);
  if (count != 0) std::memcpy(places.data(), indices, count * sizeof(std::uint64_t));
  apply(places);
  return places;
}

}  // namespace masu::cli
