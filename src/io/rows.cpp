// SPDX-License-Identifier: Apache-2.0
// Most lines are cut where they lie in the reader's window; what has quotes, comments or no end there goes field by
// field through TextFields.
#include "io/rows.h"

#include "io/quick_number.h"

#include <masu/error.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace masu::io {

Rows::Rows(Reader reader, const SourceOptions& options, std::span<const std::string> columns, bool lines)
    : options_(options),
      lines_(lines),
      whole_lines_(lines && columns.empty() && !options.header),
      comma_(options.decimal == ","),
      fields_(std::move(reader), options) {
  const auto head = fields_.reader().peek(Reader::peek_limit);
  if (const void* end = head.empty() ? nullptr : std::memchr(head.data(), '\n', head.size())) {
    const auto* at = static_cast<const std::byte*>(end);
    crlf_ = at != head.data() && at[-1] == std::byte{'\r'};
  }
  if (lines_) fields_.keep_lines();
  if (options_.header) {
    fields_.read_header();
    if (lines_ && fields_.names() != 0) header_ = fields_.line_text();
  }
  find_columns(columns);
  if (options_.parts > 1 || options_.part > 0) lines_known_ = fields_.take_part(options_.part, options_.parts);
  start_ = fields_.mark();
}

void Rows::find_columns(std::span<const std::string> columns) {
  const std::uint64_t shift = fields_.row_names() ? 1 : 0;
  for (const std::string& column : columns) wanted_.push_back({fields_.find_column(column) + shift, wanted_.size()});
  std::stable_sort(wanted_.begin(), wanted_.end(), [](const Wanted& a, const Wanted& b) { return a.index < b.index; });
  texts_.resize(wanted_.size());
  odd_.resize(wanted_.size());
}

void Rows::rewind() {
  started_ = false;
  fields_.go_to(start_);
  left_out_ = {};
  rows_ = 0;
}

// A part does not know how many lines are in front of it until an error wants them: then all is done once more.
bool Rows::next_any() {
  try {
    return step();
  } catch (const Error&) {
    if (lines_known_) throw;
    start_.line = fields_.lines_before(start_.position) + 1;
    lines_known_ = true;
    rewind();
    while (step()) {
    }
    throw;
  }
}

bool Rows::step() {
  if (!std::exchange(started_, true) && !keep_) fields_.reader().forget();
  for (;;) {
    any_odd_ = false;
    bool complete = false;
    plain_ = fields_.next_plain(text_);
    if (plain_) {
      line_ = fields_.mark().line - 1;
      complete = cut_plain(text_);
    } else {
      const std::optional<bool> taken = take_fields();
      if (!taken) {
        fields_.check_limit();
        return false;
      }
      complete = *taken;
    }
    ++rows_;
    if (complete) return true;
  }
}

// Sets the wanted fields; false where the line is left out. All fields are counted where the header says how many.
bool Rows::cut_plain(std::string_view line) {
  const char* at = line.data();
  const char* const end = at + line.size();
  const char delimiter = fields_.delimiter();
  std::uint64_t index = 0;
  std::size_t found = 0;
  bool too_long = false;
  for (bool last = false;; ++index) {
    const char* stop = at;
    if (found == wanted_.size() && !options_.header) break;
    if (delimiter != '\0') {
      if (found == wanted_.size()) {
        index += static_cast<std::uint64_t>(std::count(at, end, delimiter));
        break;
      }
      stop = std::min(quick::first_of(delimiter, '\n', at), end);
      last = stop == end;
    } else {
      while (stop != end && !is_blank(*stop)) ++stop;
    }
    for (; found != wanted_.size() && wanted_[found].index == index; ++found) {
      texts_[wanted_[found].slot] = {at, static_cast<std::size_t>(stop - at)};
      too_long = too_long || stop - at > static_cast<std::ptrdiff_t>(longest_entry);
    }
    if (delimiter != '\0') {
      at = stop + 1;
    } else {
      for (at = stop; at != end && is_blank(*at);) ++at;
      last = at == end;
    }
    if (last) break;
  }
  return is_complete(index + 1, found, too_long);
}

// The same of a line that is taken field by field; nothing after the last line. Texts are copied, as the next field
// takes the place of this one.
std::optional<bool> Rows::take_fields() {
  Field field;
  if (!fields_.next(field)) return std::nullopt;
  line_ = field.line;
  held_.clear();
  places_.clear();
  bool too_long = false;
  for (;;) {
    for (; places_.size() != wanted_.size() && wanted_[places_.size()].index == field.index;) {
      const Wanted& wanted = wanted_[places_.size()];
      too_long = too_long || field.too_long || held_.size() > longest_line;
      places_.push_back(held_.size());
      odd_[wanted.slot] = field.odd ? 1 : 0;
      any_odd_ = any_odd_ || field.odd;
      texts_[wanted.slot] = field.text;  // its size is meant
      if (!too_long) held_ += field.text;
    }
    if (field.last || !fields_.next(field)) break;
  }
  if (lines_) text_ = fields_.line_text();
  too_long = too_long || (lines_ && text_.size() > longest_line);
  for (std::size_t i = 0; i < places_.size() && !too_long; ++i) {
    std::string_view& text = texts_[wanted_[i].slot];
    text = std::string_view(held_).substr(places_[i], text.size());
  }
  return is_complete(field.index + 1, places_.size(), too_long);
}

// Whether a line has the fields that it should have, of which `found` wanted ones were found.
bool Rows::is_complete(std::uint64_t fields, std::size_t found, bool too_long) {
  const std::uint64_t names = fields_.names();
  const bool row_names = fields_.row_names();
  if (options_.header && fields != names + (row_names ? 1 : 0)) {
    if (row_names && fields == names) fields_.refuse_row_name(true_line());
    bad(
        LeftOut::wrong_fields, [&](std::uint64_t line) { return wrong_fields(line, fields, names, row_names); },
        left_out_);
  } else if (found != wanted_.size()) {
    bad(
        LeftOut::no_column, [&](std::uint64_t line) { return no_column(line, fields, wanted_[found].index + 1); },
        left_out_);
  } else if (too_long) {
    bad(
        LeftOut::too_long, [&](std::uint64_t line) { return line_too_long(line); }, left_out_);
  } else {
    return true;
  }
  return false;
}

template <class Say>
void Rows::bad(LeftOut reason, const Say& say, LeftOutCounts& counts) {
  if (options_.strict || !options_.needed_by.empty())
    fields_.refuse_left_out(say(true_line()).error, options_.needed_by);
  counts.add(reason, line_, [&] { return say(line_); });
}

void Rows::leave_out(std::string_view entry, std::string_view wanted, LeftOutCounts& counts) {
  const bool empty = trimmed(entry).empty();
  bad(
      empty ? LeftOut::empty : LeftOut::not_a_number,
      [&](std::uint64_t line) { return no_number(line, entry, wanted); }, counts);
}

TextNumber Rows::number(std::size_t field) {
  if (is_odd(field)) return {};
  return parse_any_number(comma_ ? number_text(texts_[field], true, pointed_) : trimmed(texts_[field]),
                          plain_ && !comma_);
}

// For messages: what follows cannot be read any more.
std::uint64_t Rows::true_line() {
  if (lines_known_) return line_;
  return fields_.lines_before(start_.position) + 1 + line_ - start_.line;
}

TextReport Rows::report() const {
  TextReport report;
  report.left_out = left_out_.kinds;
  report.places = report.lines = rows_;
  report.columns = 1;
  report.begin_line = start_.line;
  report.end_line = fields_.mark().line;
  report.lines_known = lines_known_;
  report.comment_lines = fields_.comment_lines();
  report.row_names = fields_.row_names();
  report.delimiter = fields_.delimiter();
  report.how_cut = fields_.how_cut();
  return report;
}

}  // namespace masu::io
