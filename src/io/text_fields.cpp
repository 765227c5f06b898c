// SPDX-License-Identifier: Apache-2.0
#include "io/text_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace masu::io {
namespace {

constexpr std::size_t longest_entry = std::size_t{1} << 15;
constexpr std::size_t most_names = 1 << 16;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

}  // namespace

TextFields::TextFields(Reader reader, const SourceOptions& options)
    : reader_(std::move(reader)), comment_(options.comment), header_(options.header) {
  if (options.delimiter.size() > 1 || options.delimiter == "\n" || options.delimiter == "\"")
    throw Error(ErrorCode::invalid_argument,
                fmt::format("text: the delimiter must be one character, got '{}'", printable(options.delimiter)));
  if (comment_.size() > 255 || comment_.find('\n') != std::string::npos)
    throw Error(ErrorCode::invalid_argument, "text: the comment mark must be at most 255 characters of one line");
  for (const char c : std::string_view(" \t\r\v\f")) classes_[static_cast<unsigned char>(c)] = blank;
  classes_['\n'] = newline;
  if (options.delimiter.empty()) {
    classes_[','] = classes_[';'] = delimiter;
  } else {
    blanks_split_ = false;
    classes_[static_cast<unsigned char>(options.delimiter[0])] = delimiter;
  }
  if (window(byte_order_mark.size()).starts_with(byte_order_mark)) reader_.consume(byte_order_mark.size());
}

std::string_view TextFields::window(std::size_t least) {
  const auto bytes = reader_.peek(least);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void TextFields::go_to(const Mark& mark) {
  reader_.seek(mark.position);
  line_ = mark.line;
  index_ = 0;
  filled_ = false;
}

void TextFields::go_to_line_at(std::uint64_t position) {
  if (position <= reader_.position()) return;
  reader_.seek(position - 1);
  skip_to_line_end();
  if (!window(1).empty()) reader_.consume(1);
}

std::uint64_t TextFields::lines_before(std::uint64_t position) {
  reader_.seek(0);
  std::uint64_t lines = 0;
  while (reader_.position() < position) {
    std::string_view text = window(1);
    if (text.empty()) break;
    text = text.substr(0, std::min<std::uint64_t>(text.size(), position - reader_.position()));
    lines += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    reader_.consume(text.size());
  }
  return lines;
}

void TextFields::skip_to_line_end() {
  for (;;) {
    const std::string_view text = window(1);
    const std::size_t stop = text.find('\n');
    reader_.consume(std::min(stop, text.size()));
    if (stop != std::string_view::npos || text.empty()) return;
  }
}

Field TextFields::line_ended() {
  Field field;
  field.kind = Field::line_end;
  field.line = line_;
  field.index = std::exchange(index_, 0);
  filled_ = false;
  return field;
}

Field TextFields::next() {
  for (;;) {
    const std::string_view text = window(longest_entry);
    if (text.empty()) {
      if (index_ != 0) return line_ended();  // a last line without its end
      return {};
    }
    std::size_t blanks = 0;
    while (blanks < text.size() && class_of(text[blanks]) == blank) ++blanks;
    if (blanks != 0) {
      reader_.consume(blanks);
      continue;
    }
    if (comment_at(text)) {
      skip_to_line_end();
      continue;
    }
    const Class kind = class_of(text[0]);
    if (kind == newline) {
      reader_.consume(1);
      const Field field = line_ended();
      ++line_;
      return field;
    }
    if (kind == normal) return take_entry(text);
    reader_.consume(1);
    if (!std::exchange(filled_, false)) {
      Field field;
      field.kind = Field::entry;
      field.line = line_;
      field.index = index_++;
      return field;
    }
  }
}

// An entry begins at text[0], which is no blank, delimiter, line end or comment.
Field TextFields::take_entry(std::string_view text) {
  std::size_t begin = 0;
  std::size_t end = 0;   // of the entry
  std::size_t stop = 0;  // where reading goes on
  const std::size_t quote =
      text[0] == '"' ? text.substr(0, longest_entry).find_first_of("\"\n", 1) : std::string_view::npos;
  if (quote != std::string_view::npos && text[quote] == '"') {
    begin = 1;
    end = quote;
    stop = quote + 1;
  } else {
    const char comment = comment_.empty() ? '\n' : comment_[0];
    while (stop < text.size()) {
      const Class kind = class_of(text[stop]);
      if (kind == newline || kind == delimiter || (kind == blank && blanks_split_)) break;
      if (text[stop] == comment && comment_at(text.substr(stop))) break;
      if (kind == normal) end = stop + 1;
      ++stop;
    }
  }
  Field field;
  field.kind = Field::entry;
  field.line = line_;
  field.index = index_++;
  field.text = text.substr(begin, end - begin);
  field.too_long = stop >= longest_entry;
  filled_ = true;
  reader_.consume(stop);
  if (field.too_long) {
    // What is left of it is passed over; its text would move.
    field.text = "(a very long one)";
    for (;;) {
      const std::string_view rest = window(longest_entry);
      std::size_t passed = 0;
      while (passed < rest.size()) {
        const Class kind = class_of(rest[passed]);
        if (kind == newline || kind == delimiter || (kind == blank && blanks_split_)) break;
        ++passed;
      }
      reader_.consume(passed);
      if (passed < rest.size() || rest.empty()) break;
    }
  }
  return field;
}

void TextFields::read_header() {
  for (;;) {
    const Field field = next();
    if (field.kind == Field::end) break;
    if (field.kind == Field::line_end && field.index != 0) break;
    if (field.kind == Field::entry && names_.size() < most_names) names_.emplace_back(field.text);
  }
}

std::uint64_t TextFields::find_column(const std::string& column) const {
  const auto found = std::find(names_.begin(), names_.end(), column);
  if (found != names_.end()) return static_cast<std::uint64_t>(found - names_.begin());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(column.data(), column.data() + column.size(), number);
  if (error == std::errc() && end == column.data() + column.size()) {
    if (number >= 1) return number - 1;
    throw Error(ErrorCode::invalid_argument, "text: columns are counted from 1, got 0");
  }
  if (!header_)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("text: a column by name needs a header line, got '{}'", printable(column)));
  std::string known;
  for (std::size_t i = 0; i < names_.size() && i < 20; ++i) known += (i == 0 ? "" : ", ") + printable(names_[i]);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: no column is named '{}'; there are: {}", reader_.name(), printable(column), known));
}

}  // namespace masu::io
