// SPDX-License-Identifier: Apache-2.0
// Reads the delimiter and the names of the columns from the first lines of a text.
#include "io/fields.h"
#include "io/instants.h"
#include "io/numbers.h"
#include "runtime/text.h"

#include <fmt/format.h>
#include <masu/error.h>

#include <algorithm>
#include <span>

namespace masu::io {

void refuse_text(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "text: " + why);
}

std::string_view number_text(std::string_view text, bool comma, std::string& pointed) {
  text = trimmed(text);
  if (!comma || text.find_first_of(",.") == std::string_view::npos) return text;
  if (text.find('.') != std::string_view::npos) return "x";  // thousands, or a decimal point
  pointed.assign(text);
  std::replace(pointed.begin(), pointed.end(), ',', '.');
  return pointed;
}

Said no_column(std::uint64_t line, std::uint64_t fields, std::uint64_t column) {
  return {fmt::format("{} of {}", fields, column),
          fmt::format("line {} has {} fields, so no column {}", line, fields, column)};
}

Said wrong_fields(std::uint64_t line, std::uint64_t fields, std::uint64_t names, bool row_names) {
  return {fmt::format("{} instead of {}", fields, names + (row_names ? 1 : 0)),
          fmt::format("line {} has {} fields, the header {}", line, fields, names)};
}

Said line_too_long(std::uint64_t line) {
  return {"", fmt::format("line {} is longer than {} MiB, or an entry of it than {} KiB", line, longest_line >> 20,
                          longest_entry >> 10)};
}

Said no_number(std::uint64_t line, std::string_view entry, std::string_view wanted) {
  const std::string_view text = trimmed(entry);
  std::string pointed(text);
  std::replace(pointed.begin(), pointed.end(), ',', '.');
  const bool comma = pointed != text && parse_any_number(pointed).kind != TextNumber::no_number;
  const std::string shown = fmt::format("'{}'", printable(entry));
  const std::optional<Instant> time = parse_fine_instant(text);
  return {text.empty() ? "" : shown, fmt::format("line {}: the entry {} is {}{}", line, shown,
                                                 text.empty() ? "empty" : fmt::format("not {}", wanted),
                                                 comma                   ? " (--decimal , reads decimal commas)"
                                                 : time && time->ns != 0 ? " (times have whole microseconds)"
                                                                         : "")};
}

std::uint64_t LeftOutCounts::all() const noexcept {
  std::uint64_t sum = 0;
  for (const TextReport::Kind& kind : kinds) sum += kind.count;
  return sum;
}

std::uint64_t append(TextReport& all, const TextReport& part) {
  const std::uint64_t before = part.lines_known ? 0 : all.end_line - part.begin_line;
  const bool unlike = all.columns != 0 && part.columns != 0 && all.columns != part.columns;  // from the first line
  for (std::size_t i = 0; i < all.left_out.size(); ++i) {
    TextReport::Kind& kind = all.left_out[i];
    const TextReport::Kind& more = part.left_out[i];
    if (kind.count == 0 && more.count != 0) kind = {0, more.line + before, more.first};
    kind.count += more.count;
  }
  all.places += part.places;
  all.lines += part.lines;
  all.comment_lines += part.comment_lines;
  all.rows = all.rows && part.rows;
  if (all.ragged_line == 0 && (unlike || part.ragged_line != 0))
    all.ragged_line = before + (unlike ? part.begin_line : part.ragged_line);
  if (all.columns == 0) all.columns = part.columns;
  all.end_line = part.end_line + before;
  return before;
}

void TextFields::refuse_row_name(std::uint64_t line) const {
  reader_.fail(
      "line {} has as many fields as the header has names, but the lines in front of it one more: whether the first "
      "column has names of rows can't be known; {}",
      line, how_cut());
}

void TextFields::refuse_left_out(const std::string& error, const std::string& needed_by) const {
  reader_.fail("{}{}; {}", error, needed_by.empty() ? "" : fmt::format(" ({} needs every entry)", needed_by),
               how_cut());
}

namespace {

constexpr std::uint64_t most_names = std::uint64_t{1} << 20;
constexpr std::uint64_t most_name_bytes = std::uint64_t{1} << 26;
constexpr std::size_t shown_columns = 8;
constexpr std::string_view candidates = "\t,;|";  // the first one that occurs in the first line is taken

struct DelimiterName {
  std::string_view name;
  char character;
};
constexpr std::array<DelimiterName, 6> delimiter_names = {
    {{"tab", '\t'}, {"comma", ','}, {"semicolon", ';'}, {"pipe", '|'}, {"space", ' '}, {"blanks", '\0'}}};

}  // namespace

void TextFields::set_delimiter(const SourceOptions& options) {
  const std::string& asked = options.delimiter;
  const auto* named = std::find_if(delimiter_names.begin(), delimiter_names.end(),
                                   [&](const DelimiterName& known) { return known.name == asked; });
  if (named != delimiter_names.end()) delimiter_ = named->character;
  else if (asked.size() == 1 && asked.find_first_of("\r\n\"") == std::string::npos) delimiter_ = asked[0];
  else {
    refuse_text(fmt::format(
        "the delimiter must be one character, or tab, comma, semicolon, pipe, space or blanks (runs of white space), "
        "got '{}'",
        printable(asked)));
  }
  if (delimiter_ == ',' && options.decimal == ",")
    refuse_text("a comma can't be both the delimiter and the decimal mark");
  if (delimiter_ == '\0') stops_ = blank;
  else set_class({&delimiter_, 1}, delimiting);
}

std::size_t TextFields::closing_quote(std::string_view text, std::size_t quote, bool across_lines) const {
  for (std::size_t i = quote + 1; i < text.size(); ++i) {
    if (!across_lines && class_of(text[i]) == newline) break;
    if (text[i] != '"') continue;
    if (i + 1 == text.size()) return i + 1;
    if (text[i + 1] == '"') {
      ++i;
      continue;
    }
    const bool closes = class_of(text[i + 1]) != normal || candidates.find(text[i + 1]) != std::string_view::npos;
    return closes ? i + 1 : std::string_view::npos;
  }
  return std::string_view::npos;
}

// Decides by the first line, as far as the window has it.
void TextFields::decide(const std::string& decimal) {
  refill(Reader::peek_limit);
  const std::string_view text(at_, left());
  std::array<bool, candidates.size()> has{};
  bool starts = true;  // a field begins here, whichever delimiter is taken
  bool after_blank = false;
  for (std::size_t i = 0; i < text.size() && class_of(text[i]) != newline;) {
    if ((starts || after_blank) && comment_here(text.data() + i)) break;
    const std::size_t closed =
        text[i] == '"' && (starts || after_blank) ? closing_quote(text, i, starts) : std::string_view::npos;
    const std::size_t candidate = candidates.find(text[i]);
    if (candidate != std::string_view::npos) has[candidate] = true;
    starts = candidate != std::string_view::npos;
    after_blank = !starts && class_of(text[i]) == blank;
    i = closed != std::string_view::npos ? closed : i + 1;
  }
  decided_ = true;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!has[i] || decimal == candidates.substr(i, 1)) continue;
    delimiter_ = candidates[i];
    set_class({&delimiter_, 1}, delimiting);
    return;
  }
  stops_ = blank;
}

// Reads lines of the window without consuming them.
TextFields::Glance TextFields::glance() {
  refill(Reader::peek_limit);
  const auto bytes = std::as_bytes(std::span(at_, left()));
  Glance found;
  TextFields inside(Reader(reader_.name(), memory_stream(bytes)), *this);
  Field field;
  try {
    while (inside.next(field)) {
      if (found.lines == 0) {
        if (found.first.size() < shown_columns) {
          if (parse_any_number(trimmed(field.text)).kind != TextNumber::no_number) ++found.numbers;
          found.first.push_back(printable(trimmed(field.text)));
        }
        found.ends_empty = found.ends_empty || ((field.last || field.index == 0) && field.text.empty());
        ++found.fields;
      }
      found.pairs = found.pairs && is_of_pair(field);
      if (!field.last) continue;
      if (inside.position() == bytes.size() && bytes.size() >= Reader::peek_limit) break;
      found.columns = found.columns && field.index != 0;
      found.same = found.same && field.index + 1 == found.fields;
      ++found.lines;
    }
  } catch (const Error&) {  // a quote that closes after the window, or never
  }
  return found;
}

std::string TextFields::delimiter_name() const {
  for (const DelimiterName& known : delimiter_names) {
    if (known.character == delimiter_) return std::string(known.name);
  }
  return fmt::format("'{}'", printable({&delimiter_, 1}));
}

std::string TextFields::how_cut() const {
  if (!reader_.form().empty()) return reader_.form();
  if (first_line_.empty()) return "no line has a field";
  return fmt::format("the delimiter is {}, the first line has {}",
                     delimiter_ == '\0' ? "white space" : delimiter_name(), first_line_);
}

void TextFields::read_header() {
  Field field;
  std::uint64_t bytes = 0;
  while (next(field)) {
    bytes += field.text.size();
    if (names_.size() == most_names || bytes > most_name_bytes) {
      reader_.fail("line {}: the header must have at most {} names of 64 MiB; {}", field.line, most_names, how_cut());
    }
    names_.emplace_back(field.text);
    if (field.last) break;
  }
  if (names_.empty()) return;
  const Glance lines = glance();
  // A header of one name may as well belong to a text whose fields contain blanks.
  row_names_ =
      lines.lines != 0 && lines.same && names_.size() > 1 && lines.fields == names_.size() + 1 && !lines.ends_empty;
}

void TextFields::refuse_columns() const {
  const std::uint64_t columns = names_.empty() ? columns_ : names_.size();
  const std::vector<std::string>& texts = names_.empty() ? first_fields_ : names_;
  std::string known = listed(std::span(texts).first(std::min(texts.size(), shown_columns)), shown_columns);
  const std::string count = fmt::format("{}{}", names_.empty() && !columns_known_ ? "more than " : "", columns);
  if (columns > shown_columns) known += fmt::format(" and {} more", columns - shown_columns);
  const std::string all =
      first_numbers_ == first_fields_.size() ? fmt::format("; --delimiter {} takes all", delimiter_name()) : "";
  if (names_.empty() && first_numbers_ != 0) {
    reader_.fail("has {} columns; choose one with --column: 1 to {} (the first line has {}){}", count, columns, known,
                 all);
  }
  reader_.fail("has {} columns; choose one with --column: {}", count, known);
}

std::uint64_t TextFields::find_column(const std::string& column) const {
  const bool as_name = column.starts_with("name:");
  const bool as_number = column.starts_with("number:");
  const std::string text = as_name ? column.substr(5) : as_number ? column.substr(7) : column;
  std::vector<std::uint64_t> named;
  const auto look = [&](const auto& is) {
    for (std::uint64_t i = 0; i < names_.size() && named.size() < 2; ++i) {
      if (is(names_[i])) named.push_back(i);
    }
  };
  if (!as_number) look([&](const std::string& name) { return name == text; });
  if (named.empty() && (as_name || as_number)) look([&](const std::string& name) { return name == column; });
  if (named.empty() && !as_number) look([&](const std::string& name) { return trimmed(name) == text; });
  std::uint64_t number = 0;
  const bool is_number = !as_name && runtime::is_number(text, number);
  const bool may_be_number = is_number && (!header_ || (number >= 1 && number <= names_.size()));
  if (named.size() > 1) {
    refuse_text(fmt::format("{}: columns {} and {} are both named '{}'; give number:{} or number:{}", reader_.name(),
                            named[0] + 1, named[1] + 1, printable(text), named[0] + 1, named[1] + 1));
  }
  if (!named.empty() && may_be_number && named[0] != number - 1 && !as_number) {
    refuse_text(
        fmt::format("{}: column {} could be the column named '{}' or the one of that number; give name:{} or number:{}",
                    reader_.name(), printable(text), printable(text), printable(text), number));
  }
  if (!named.empty() && !(as_number && is_number)) return named[0];
  if (is_number && number == 0) refuse_text("columns are counted from 1, got 0");
  if (may_be_number) return number - 1;
  if (as_number && !is_number)
    refuse_text(fmt::format("number: needs a whole number from 1, got '{}'", printable(text)));
  if (!header_) refuse_text(fmt::format("a column by name needs a header line, got '{}'", printable(column)));
  if (is_number) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: there are {} columns, got column {} ({})", reader_.name(),
                                                         names_.size(), number, how_cut()));
  }
  if (names_.empty())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: no column is named '{}', as there is no line", reader_.name(), printable(column)));
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: no column is named '{}'; there are: {} ({})", reader_.name(), printable(column),
                          listed(names_, 20), how_cut()));
}

bool is_of_pair(const Field& field) noexcept {
  std::string_view text = field.text;
  while (field.index == 0 && !text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (field.index != 0 && !text.empty() && is_blank(text.back())) text.remove_suffix(1);
  if (field.index == 0 && (text.starts_with('-') || text.starts_with('+'))) text.remove_prefix(1);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  return digits && !field.quoted && field.index == (field.last ? 1 : 0);
}

}  // namespace masu::io
