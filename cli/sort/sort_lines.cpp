// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"
#include "cli/groups/grouped_table.h"
#include "cli/sort/line_sort.h"
#include "cli/sort/sort_job.h"
#include "io/instants.h"
#include "io/rows.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

namespace masu::cli {
namespace {

// Behind the keys of all floats, of which the greatest is that of NaN, 0xfff8…, in both directions.
constexpr std::string_view date_mark = "\xff\xf9";
constexpr std::string_view other_mark = "\xff\xfa";
constexpr std::string_view empty_mark = "\xff\xfb";
constexpr std::string_view text_end("\0\0", 2);  // a NUL in a text is followed by 0xff

struct KeyWord {
  std::string_view name;
  std::optional<LineKey::Kind> kind;
  std::optional<bool> descending;
};
constexpr KeyWord key_words[] = {{"number", LineKey::Kind::number, {}},
                                 {"n", LineKey::Kind::number, {}},
                                 {"g", LineKey::Kind::number, {}},
                                 {"text", LineKey::Kind::text, {}},
                                 {"desc", {}, true},
                                 {"descending", {}, true},
                                 {"r", {}, true},
                                 {"asc", {}, false},
                                 {"ascending", {}, false}};

// Takes what a word says; false where it says nothing.
bool take_word(LineKey& key, std::string_view word) {
  const auto* const found = std::ranges::find(key_words, word, &KeyWord::name);
  if (found == std::end(key_words)) return false;
  key.kind = found->kind.value_or(key.kind);
  key.descending = found->descending.value_or(key.descending);
  return true;
}

LineKey parse_line_key(std::string text, LineKey key) {
  for (std::size_t colon = text.rfind(':'); colon != std::string::npos && colon != 0; colon = text.rfind(':')) {
    if (!take_word(key, std::string_view(text).substr(colon + 1))) break;
    text.resize(colon);
  }
  const std::size_t letters = text.find_first_not_of("0123456789");
  if (letters != 0 && letters != std::string::npos && text.find_first_not_of("ngr", letters) == std::string::npos) {
    for (std::size_t i = letters; i < text.size(); ++i) take_word(key, std::string_view(text).substr(i, 1));
    text.resize(letters);
  }
  if (text.empty()) usage_error("--key takes COLUMN[:desc][:number|:text], several with commas, got an empty name");
  key.column = std::move(text);
  return key;
}

void put_big(std::string& key, std::uint64_t word, unsigned bytes, bool reversed) {
  std::array<char, sizeof word> big{};
  for (unsigned i = 0; i < bytes; ++i) big[i] = static_cast<char>((reversed ? ~word : word) >> (8 * (bytes - 1 - i)));
  key.append(big.data(), bytes);
}

// Makes keys that memcmp() orders. Numbers come by their value, then what is no number (dates by their time and then
// others by their bytes, where any kind may come; else all alike), then what is empty; with `descending` each of them
// the other way round. Of kind `text`, all is ordered by its bytes.
class LineKeys {
 public:
  LineKeys(std::vector<LineKey> keys, bool ignore_case) : keys_(std::move(keys)), ignore_case_(ignore_case) {}
  [[nodiscard]] std::vector<std::string> columns() const {
    std::vector<std::string> columns;
    for (const LineKey& key : keys_)
      if (!key.column.empty()) columns.push_back(key.column);
    return columns;
  }

  // What comes first in each key.
  void set_group(std::uint64_t group) { group_ = group; }
  // The key of the row, valid until the next call. With `strict`, what should be a number and is none is an error.
  std::string_view of(io::Rows& rows, bool strict) {
    key_.clear();
    if (group_) put_big(key_, *group_, sizeof *group_, false);
    nan_ = false;
    seen_.resize(keys_.size());
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const LineKey& key = keys_[i];
      const std::string_view entry = key.column.empty() ? rows.text() : rows.fields()[i];
      const std::size_t begin = key_.size();
      if (key.kind == LineKey::Kind::text) {
        put_text(entry);
      } else {
        const io::TextNumber number = key.column.empty() ? io::parse_any_number(io::trimmed(entry)) : rows.number(i);
        if (number.kind == io::TextNumber::beyond_64_bits || number.kind == io::TextNumber::beyond_f64) {
          rows.fail("{} does not fit {}; --key COLUMN:text sorts by the bytes", io::printable(entry),
                    number.kind == io::TextNumber::beyond_f64 ? "f64" : "64 bits");
        }
        if (number.kind != io::TextNumber::no_number) {
          ++seen_[i].numbers;
          nan_ = nan_ || (i == 0 && number.kind == io::TextNumber::decimal && std::isnan(number.value));
          put_number(number, key.descending);
          continue;
        }
        put_other(key, seen_[i], rows, entry, strict);
        if (key_.size() == begin + 2) continue;  // nothing to turn round
      }
      if (!key.descending) continue;
      const std::size_t from = begin + (key.kind == LineKey::Kind::text ? 0 : other_mark.size());
      for (std::size_t at = from; at < key_.size(); ++at) key_[at] = static_cast<char>(~key_[at]);
    }
    return key_;
  }

  // Whether the first key of that row was NaN.
  [[nodiscard]] bool nan() const noexcept { return nan_; }
  // What was no number among numbers, a sentence each.
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      const Seen& seen = seen_[i];
      if (seen.others == 0 || (seen.numbers == 0 && keys_[i].kind == LineKey::Kind::any)) continue;
      const std::string name = keys_[i].column.empty() ? "lines" : "key " + io::printable(keys_[i].column);
      notes.push_back(fmt::format("{}: {} of {} are no number (line {}{}) and come last{}", name, seen.others,
                                  seen.numbers + seen.others, seen.line, seen.first,
                                  seen.others == 1 && seen.line == 1 ? "; --header leaves a header on top" : ""));
    }
    return notes;
  }

 private:
  struct Seen {
    std::uint64_t numbers = 0;
    std::uint64_t others = 0;  // with the empty ones
    std::uint64_t line = 0;    // of the first of them
    std::string first;
  };

  // As f64; where that may have been rounded, what rounding took decides.
  void put_number(const io::TextNumber& number, bool descending) {
    const bool whole = number.kind == io::TextNumber::whole;
    double value = whole ? static_cast<double>(number.magnitude) : number.value;
    if (whole && number.negative) value = -value;
    if (value == 0) value = 0;  // -0 and 0 are equal
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const bool negative = bits >> 63 != 0;
    put_big(key_, negative ? ~bits : bits | std::uint64_t{1} << 63, 8, descending);
    if (!(std::fabs(value) >= 0x1p53 && std::fabs(value) <= 0x1p64)) return;
    __extension__ using Wide = __int128;
    Wide lost = whole ? static_cast<Wide>(number.magnitude) - static_cast<Wide>(std::fabs(value)) : 0;
    if (negative) lost = -lost;
    put_big(key_, static_cast<std::uint64_t>(lost + 0x8000), 2, descending);
  }

  void put_text(std::string_view text) {
    for (std::size_t nul = text.find('\0'); nul != std::string_view::npos; nul = text.find('\0')) {
      key_ += text.substr(0, nul + 1);
      key_ += '\xff';
      text.remove_prefix(nul + 1);
    }
    key_ += text;
    if (ignore_case_) {
      for (auto c = key_.end() - static_cast<std::ptrdiff_t>(text.size()); c != key_.end(); ++c)
        if (*c >= 'A' && *c <= 'Z') *c = static_cast<char>(*c - 'A' + 'a');
    }
    key_ += text_end;
  }

  void put_other(const LineKey& key, Seen& seen, io::Rows& rows, std::string_view entry, bool strict) {
    const bool empty = io::trimmed(entry).empty();
    if (key.kind == LineKey::Kind::number && strict) {
      rows.fail("the entry '{}' is {}", io::printable(entry), empty ? "empty" : "not a number");
    }
    if (seen.others++ == 0) {
      seen.line = rows.line();
      seen.first = empty ? "" : fmt::format(": '{}'", io::printable(entry));
    }
    if (empty || key.kind == LineKey::Kind::number) {
      key_ += empty_mark;
    } else if (const std::optional<io::Instant> instant = io::parse_fine_instant(io::trimmed(entry))) {
      key_ += date_mark;
      put_big(key_, static_cast<std::uint64_t>(instant->us) ^ std::uint64_t{1} << 63, 8, false);
      put_big(key_, instant->ns, 2, false);
    } else {
      key_ += other_mark;
      put_text(entry);
    }
  }

  std::vector<LineKey> keys_;
  bool ignore_case_;
  std::optional<std::uint64_t> group_;
  bool nan_ = false;
  std::vector<Seen> seen_;
  std::string key_;
};

constexpr std::uint64_t progress_bytes = std::uint64_t{4} << 20U;

// Where lines go, or their places.
class LineOutput {
 public:
  LineOutput(const LinesRequest& asked, const io::Rows& rows)
      : end_(rows.line_end()), visible_(is_standard_output(asked.common.output) && is_terminal(STDOUT_FILENO)) {
    io::SourceInfo info;
    info.format = "text";
    if (asked.index) places_.emplace(asked.common, info);
    else file_.emplace(asked.common.output.empty() ? "-" : asked.common.output);
    if (file_ && !rows.header().empty()) write(rows.header());
  }
  // Before the first line.
  void begin(std::uint64_t count) {
    if (places_) places_->begin(Dtype::u64, std::array{count});
  }
  void write(std::string_view line) {
    if (file_) {
      file_->write(visible_ ? std::string_view(shown_ = visible(line, "\t")) : line);
      return file_->write(end_);
    }
    std::uint64_t place = 0;
    std::memcpy(&place, line.data(), sizeof place);
    held_.push_back(place);
    if (held_.size() == held_places) flush();
  }
  void commit() {
    if (places_) flush();
    if (places_) places_->commit();
    else file_->commit();
  }

 private:
  static constexpr std::size_t held_places = std::size_t{1} << 16U;
  void flush() {
    places_->write(ArrayView(held_));
    held_.clear();
  }
  std::string_view end_;
  bool visible_;
  std::string shown_;
  std::optional<io::OutputFile> file_;
  std::optional<ArrayOutput> places_;
  std::vector<std::uint64_t> held_;
};

// Texts that are sorted as one.
using Inputs = std::vector<std::unique_ptr<io::Rows>>;
using Reports = std::vector<std::pair<std::string, io::TextReport>>;

Inputs open_inputs(std::vector<std::string> names, const io::SourceOptions& options,
                   std::span<const std::string> columns) {
  if (names.empty()) names.emplace_back("-");
  if (std::ranges::count(names, "-") > 1) usage_error("standard input can be one INPUT only");
  Inputs inputs;
  for (const std::string& name : names) {
    inputs.push_back(std::make_unique<io::Rows>(name, options, columns, true));
    io::Rows& first = *inputs.front();
    io::Rows& last = *inputs.back();
    if (last.names() != first.names() || (first.names().size() > 1 && last.delimiter() != first.delimiter())) {
      data_error("several INPUTs must have one header: {} has '{}', {} has '{}'", first.name(),
                 io::printable(first.header()), name, io::printable(last.header()));
    }
  }
  return inputs;
}

std::optional<std::uint64_t> size_of_all(const Inputs& inputs) {
  std::optional<std::uint64_t> sum = 0;
  for (const auto& rows : inputs) {
    const std::optional<std::uint64_t> one = rows->size();
    sum = sum && one ? std::optional(*sum + *one) : std::nullopt;
  }
  return sum;
}

// Lines that all lack a field are a wrong --key or delimiter; a file must not be replaced by none of its lines.
void refuse_nothing(const Reports& reports) {
  for (const auto& [input, report] : reports) {
    for (const io::TextReport::Kind& kind : report.left_out) {
      if (kind.count == 0) continue;
      data_error("{}: no line can be sorted (line {}: {}); {}", input, kind.line, kind.first, report.how_cut);
    }
  }
}

}  // namespace

std::vector<LineKey> parse_line_keys(std::span<const std::string> asked, const LineKey& usual) {
  std::vector<LineKey> keys;
  for (const std::string& some : asked)
    for (const std::string& one : split(some)) keys.push_back(parse_line_key(one, usual));
  if (keys.empty()) keys.push_back(usual);
  return keys;
}

void check_line_output(const CommonOptions& common) {
  const std::string& path = common.output;
  if (!common.format.empty()) usage_error("--format is not for whole lines, which are written as they stand");
  const std::size_t dot = path.rfind('.');
  const std::string ending = dot == std::string::npos ? "" : path.substr(dot);
  for (const std::string_view known : {".npy", ".npz", ".json", ".gz", ".zst", ".png"}) {
    if (ending == known) usage_error("lines are written as text: -o must not end in {}", ending);
  }
}

SortSummary sort_lines(const LinesRequest& asked, const char* what) {
  const auto began = Clock::now();
  if (ranks().several()) usage_error("--lines is not for several ranks");
  LineKeys keys(asked.keys, asked.ignore_case);
  std::vector<std::string> columns = keys.columns();
  const std::size_t keyed = columns.size();
  columns.insert(columns.end(), asked.group.begin(), asked.group.end());
  io::SourceOptions options = source_options(asked.input, asked.common);
  options.header = options.header || std::ranges::any_of(columns, is_column_name);
  const Inputs inputs = open_inputs(asked.input.inputs, options, columns);
  const std::optional<std::uint64_t> size = size_of_all(inputs);
  const Device device = device_of_rank(asked.common.device, Work::sorting, size.value_or(0));
  LineOutput output(asked, *inputs.front());
  Progress progress(progress_mode(asked.common));
  progress.start(what, size);
  const std::uint64_t memory = memory_budget(asked.common);
  const bool grouped = !asked.group.empty();
  LineSort sorter({device, grouped ? memory - memory / 4 : memory, asked.common.tmpdir,
                   grouped ? std::nullopt : asked.first, grouped ? asked.first : std::nullopt, asked.unique});
  io::Dictionary groups({memory / 4, false, inputs.front()->name()});
  std::vector<std::uint64_t> of_group;
  std::string group;
  sorter.progress = [&](std::uint64_t bytes) { progress.advance(bytes); };
  SortSummary done;
  Reports reports;
  std::uint64_t places = 0;  // of the inputs before
  std::uint64_t nans = 0;    // that were left out
  for (const auto& rows : inputs) {
    std::uint64_t shown = rows->position();
    while (rows->next()) {
      const std::uint32_t id = grouped ? groups.add(group_of(rows->fields().subspan(keyed), group)) : 0;
      if (grouped) keys.set_group(id);
      const std::string_view key = keys.of(*rows, options.strict);
      if (id == of_group.size()) of_group.push_back(0);
      if (asked.skip_nan && keys.nan()) {
        ++nans;
        continue;
      }
      ++of_group[id];
      if (asked.index) {
        const std::uint64_t place = places + rows->place();
        sorter.add(key, {reinterpret_cast<const char*>(&place), sizeof place});
      } else {
        sorter.add(key, rows->text());
      }
      if (const std::uint64_t here = rows->position(); here - shown >= progress_bytes)
        progress.advance(here - std::exchange(shown, here));
    }
    done.bytes += rows->position();
    reports.emplace_back(rows->name(), rows->report());
    places += reports.back().second.places;
  }
  done.text = join_inputs(reports);
  if (sorter.count() == 0 && nans == 0) refuse_nothing(reports);
  done.seconds.read = since(began);
  done.count = sorter.count();
  std::uint64_t given = 0;
  for (const std::uint64_t lines : of_group) given += std::min(lines, asked.first.value_or(lines));
  output.begin(given);
  sorter.finish([&](std::string_view line) { output.write(line); });
  progress.finish();
  output.commit();
  done.device = device.id();
  done.runs = sorter.runs();
  done.notes = keys.notes();
  if (!asked.common.quiet) {
    std::string name = inputs.front()->name();
    if (inputs.size() > 1) name += fmt::format(" and {} more", inputs.size() - 1);
    for (const std::string& text : done.notes) note(fmt::format("masu: {}: {}", name, text));
    if (nans != 0) note(fmt::format("masu: {}: {} NaNs left out", name, nans));
    for (const auto& [input, report] : reports) note_report(input, report);
  }
  done.seconds.transfer = sorter.times().transfer;
  done.seconds.compute = sorter.times().compute;
  done.seconds.total = since(began);
  return done;
}

}  // namespace masu::cli
