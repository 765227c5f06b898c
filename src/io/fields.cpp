// SPDX-License-Identifier: Apache-2.0
// Fields are taken from a window of the text, so memory does not depend on the length of a line.
#include "io/fields.h"

#include "io/quick_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace masu::io {
namespace {

constexpr std::uint64_t near_bytes = std::uint64_t{1} << 16;  // before a border of parts, searched for quotes
constexpr std::ptrdiff_t cut_bytes = 256;  // a comment mark or a line end that the window cuts is shorter
constexpr std::size_t shown_fields = 5;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

}  // namespace

TextFields::TextFields(Reader reader, const SourceOptions& options)
    : reader_(std::move(reader)),
      comment_(options.comment.value_or("")),
      hash_(!options.comment && !options.header),
      header_(options.header) {
  if (comment_.size() > 255 || comment_.find_first_of("\r\n") != std::string::npos) {
    refuse_text("the comment mark must be at most 255 characters of one line");
  }
  if (!options.decimal.empty() && options.decimal != "." && options.decimal != ",") {
    refuse_text(fmt::format("the decimal mark must be . or , and not '{}'", printable(options.decimal)));
  }
  set_class("\r\n", newline);
  set_class(white_space, blank);
  if (!options.delimiter.empty()) set_delimiter(options);
  refill();
  if (std::string_view(at_, left()).starts_with(byte_order_mark)) at_ += byte_order_mark.size();
  (void)begin_line();
  if (options.delimiter.empty()) decide(options.decimal);
  Glance first = glance();
  if (header_ && decided_ && stops_ == blank && first.fields == 1) {  // one column, whose entries may have blanks
    delimiter_ = '\t';
    set_class({&delimiter_, 1}, delimiting);
    stops_ = delimiting;
  }
  const std::size_t shown = std::min(first.first.size(), shown_fields);
  for (std::size_t i = 0; i < shown; ++i) first_line_ += fmt::format("{}'{}'", i == 0 ? "" : ", ", first.first[i]);
  if (first.fields > shown) first_line_ += ", ...";
  first_fields_ = std::move(first.first);
  columns_ = first.fields;
  first_numbers_ = first.numbers;
  const bool pairs = first.pairs && decided_ && delimiter_ == ',' && options.decimal.empty();
  const bool numbers = first.numbers == first_fields_.size();
  // One line is a list, and numbers are a matrix where it was said what separates them.
  const bool list = first.lines == 1 || (first.lines == 0 && numbers);
  columns_known_ = first.lines != 0;
  has_columns_ = stops_ != blank && delimiter_ != ' ' && first.columns && columns_ > 1 && !pairs && !list &&
                 (decided_ || !numbers);
}

TextFields::TextFields(Reader reader, const TextFields& like)
    : reader_(std::move(reader)),
      classes_(like.classes_),
      stops_(like.stops_),
      delimiter_(like.delimiter_),
      comment_(like.comment_) {}

void TextFields::set_class(std::string_view characters, Class kind) {
  for (const char c : characters) classes_[static_cast<unsigned char>(c)] = kind;
}

void TextFields::refill(std::size_t least) {
  if (keeps_lines_) keep_line();
  reader_.consume(static_cast<std::size_t>(at_ - begin_));
  const auto bytes = reader_.peek(least);
  begin_ = at_ = line_from_ = reinterpret_cast<const char*>(bytes.data());
  quote_ = return_ = odd_ = nullptr;
  end_ = begin_ + bytes.size();
  ended_ = bytes.size() < least_window;
}

void TextFields::go_to(const Mark& mark) {
  reader_.seek(mark.position);
  begin_ = at_ = end_ = line_from_ = quote_ = return_ = odd_ = nullptr;
  ended_ = false;
  line_ = mark.line;
  comment_lines_ = mark.comment_lines;
  index_ = 0;
}

// Copies the field's text; called before the window moves.
void TextFields::keep(Field& field) {
  if (field.text.data() == kept_.data()) return;
  kept_.assign(field.text);
  field.text = kept_;
}

// The same for the line, of which all before at_ is in the window.
void TextFields::keep_line() {
  const auto more = std::min(static_cast<std::size_t>(at_ - line_from_), longest_line + 1 - line_begin_.size());
  if (more != 0) line_begin_.append(line_from_, more);
  line_from_ = at_;
}

std::string_view TextFields::line_text() {
  if (!line_begin_.empty()) keep_line();
  std::string_view line(line_from_, static_cast<std::size_t>(at_ - line_from_));
  if (!line_begin_.empty()) line = line_begin_;
  if (line.size() > longest_line) return line;
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The next such character from at_ on in the window, or its end.
const char* TextFields::next_special(char special, const char*& cached) const noexcept {
  if (cached == nullptr || cached < at_) {
    const void* found = std::memchr(at_, special, left());
    cached = found != nullptr ? static_cast<const char*>(found) : end_;
  }
  return cached;
}

bool TextFields::next_plain(std::string_view& line) {
  line_begin_.clear();
  line_from_ = at_;
  need();
  if (at_ == end_ || !comment_.empty() || (limit_ != no_limit && position() >= limit_)) return false;
  if (class_of(*at_) == newline || class_of(*at_) == blank || (hash_ && *at_ == '#')) return false;
  const char* stop = quick::line_end(at_, end_);
  if (stop == end_) return false;
  const char* next = stop + 1;
  if (odd_ < stop) {
    const char* const first = next_special('\r', return_);
    odd_ = std::min(next_special('"', quote_), first);
    if (quote_ < stop || (first < stop && first + 1 != stop)) return false;
    if (first < stop) --stop;
  }
  line = {at_, static_cast<std::size_t>(stop - at_)};
  at_ = next;
  ++line_;
  return true;
}

bool TextFields::comment_here(const char* at) const noexcept {
  return !comment_.empty() && std::string_view(at, static_cast<std::size_t>(end_ - at)).starts_with(comment_);
}

// Goes to the first field of the next line that has one.
bool TextFields::begin_line() {
  bool inside = false;  // in a line that begins with more white space than the window holds
  for (;;) {
    need();
    if (keeps_lines_ && !inside) {
      line_begin_.clear();
      line_from_ = at_;
    }
    if (at_ == end_ || (!inside && limit_ != no_limit && position() >= limit_)) return false;
    if (class_of(*at_) != newline && class_of(*at_) != blank && comment_.empty() && !(hash_ && *at_ == '#'))
      return true;
    if (hash_ && *at_ == '#' && !inside) {
      ++comment_lines_;
      skip_line();
      continue;
    }
    const char* p = at_;
    while (p != end_ && class_of(*p) == blank) ++p;
    if (p == end_ || (end_ - p < cut_bytes && !ended_)) {
      at_ = p;
      inside = true;
      continue;
    }
    if (class_of(*p) == newline) {
      at_ = p;
      end_line();
      inside = false;
    } else if (comment_here(p)) {
      skip_line();
      inside = false;
    } else {
      if (stops_ == blank) at_ = p;
      return true;
    }
  }
}

// Requires at_ at the end of a line, and the next byte in the window.
void TextFields::end_line() {
  if (*at_++ == '\r' && at_ != end_ && *at_ == '\n') ++at_;
  ++line_;
  index_ = 0;
}

void TextFields::skip_line() {
  index_ = 0;
  for (;;) {
    while (at_ != end_ && class_of(*at_) != newline) ++at_;
    need();
    if (at_ == end_) return;
    if (class_of(*at_) == newline) return end_line();
  }
}

bool TextFields::next(Field& field) {
  if (index_ == 0 && !begin_line()) return false;
  need();
  field.line = line_;
  field.index = index_;
  field.quoted = field.too_long = field.odd = false;
  if (at_ != end_ && *at_ == '"') return take_quoted(field);
  if (!comment_.empty() && index_ != 0 && stops_ != blank) {
    const char* p = at_;
    while (p != end_ && class_of(*p) == blank) ++p;
    if (comment_here(p)) {
      field.text = {};
      field.last = true;
      skip_line();
      return true;
    }
  }
  const char* stop = at_;
  while (stop != end_ && class_of(*stop) < stops_) ++stop;
  field.text = {at_, static_cast<std::size_t>(stop - at_)};
  if (field.text.size() > longest_entry) take_long(field, stop);
  else at_ = stop;
  finish(field);
  return true;
}

void TextFields::take_long(Field& field, const char* stop) {
  field.too_long = true;
  field.text = field.text.substr(0, longest_entry);
  keep(field);
  for (at_ = stop; at_ == end_ && !ended_;) {
    refill();
    while (at_ != end_ && class_of(*at_) < stops_) ++at_;
  }
}

// Called after an entry: goes to the next one of the line, or to the next line.
void TextFields::finish(Field& field) {
  for (;;) {
    while (stops_ == blank && at_ != end_ && class_of(*at_) == blank) ++at_;
    if (left() >= comment_.size() + 2 || ended_) break;
    keep(field);
    refill();
    if (at_ == end_ || class_of(*at_) != blank || stops_ != blank) break;
  }
  ++index_;
  field.last = true;
  if (at_ == end_) {
    index_ = 0;
  } else if (class_of(*at_) == newline) {
    end_line();
  } else if (stops_ == blank && comment_here(at_)) {
    keep(field);
    skip_line();
  } else {
    field.last = false;
    if (stops_ != blank) ++at_;
  }
}

// Requires at_ at the first quote. Two quotes stand for one; line ends belong to the text.
bool TextFields::take_quoted(Field& field) {
  field.quoted = true;
  ++at_;
  bool copied = false;
  const char* from = at_;
  const auto copy = [&](const char* to) {
    if (!std::exchange(copied, true)) kept_.clear();
    const auto more = std::min<std::size_t>(static_cast<std::size_t>(to - from), longest_entry + 1 - kept_.size());
    kept_.append(from, more);
  };
  for (char before = '\0';;) {
    while (at_ != end_ && *at_ != '"' && class_of(*at_) != newline) before = *at_++;
    if (left() < 2 && !ended_) {
      copy(at_);
      refill();
      from = at_;
      continue;
    }
    if (at_ == end_) {
      reader_.fail("line {}: a quote is opened and never closed; {}", field.line, how_cut());
    }
    if (class_of(*at_) == newline) {
      if (*at_ == '\r' || before != '\r') ++line_;
      before = *at_++;
      continue;
    }
    if (at_ + 1 == end_ || at_[1] != '"') break;
    copy(at_ + 1);
    at_ += 2;
    before = '"';
    from = at_;
  }
  if (copied) copy(at_);
  field.text = copied ? std::string_view(kept_) : std::string_view(from, static_cast<std::size_t>(at_ - from));
  ++at_;
  // Blanks may follow the closing quote. Other characters there belong to the text, which is no number then.
  while (at_ != end_ || !ended_) {
    if (at_ == end_) {
      keep(field);
      refill();
      continue;
    }
    if (class_of(*at_) >= stops_) break;
    if (class_of(*at_) != blank) {
      keep(field);
      field.odd = true;
      if (kept_.size() <= longest_entry) kept_ += *at_;
      field.text = kept_;
    }
    ++at_;
  }
  field.too_long = field.text.size() > longest_entry;
  finish(field);
  return true;
}

// The beginning of the first line at `position` or after it. None where a quote is near, as the line end may be quoted.
std::optional<std::uint64_t> TextFields::line_start(std::uint64_t position) {
  go_to({position - 1, 1, 0});
  skip_line();
  const std::uint64_t start = this->position();
  const std::uint64_t from = position - std::min(position, near_bytes);
  reader_.seek(from);
  for (std::uint64_t left = start - from; left != 0;) {
    const auto bytes = reader_.peek(1);
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left));
    if (size == 0) break;
    if (std::memchr(bytes.data(), '"', size) != nullptr) return std::nullopt;
    reader_.consume(size);
    left -= size;
  }
  return start;
}

bool TextFields::take_part(std::uint64_t part, std::uint64_t parts) {
  Mark here = mark();
  if (!reader_.is_file() && !reader_.peek(1).empty()) reader_.fail("text is read in parts from a file only");
  const std::uint64_t size = reader_.measured_size();  // of compressed text, all of it is read to know
  const auto border = [&](std::uint64_t number) {
    __extension__ using Wide = unsigned __int128;
    const std::uint64_t left = size - std::min(here.position, size);
    return here.position + static_cast<std::uint64_t>(Wide{left} * std::min(number, parts) / parts);
  };
  if (part > 0) here.comment_lines = 0;
  go_to(here);
  const bool known = go_to_line_at(border(part)) || part == 0;
  end_at(border(part < parts ? part + 1 : part));
  return known;
}

bool TextFields::go_to_line_at(std::uint64_t position) {
  const Mark here = mark();
  if (position <= here.position) return true;
  const std::optional<std::uint64_t> start = line_start(position);
  go_to(start ? Mark{*start, here.line, 0} : here);
  if (start) return false;
  limit_ = position;
  Field field;
  while (next(field)) {
  }
  limit_ = no_limit;
  comment_lines_ = 0;
  return true;
}

void TextFields::end_at(std::uint64_t position) {
  const Mark here = mark();
  limit_ = position;
  if (position > here.position) next_part_ = line_start(position);
  go_to(here);
}

void TextFields::check_limit() {
  if (!next_part_ || position() == *next_part_ || position() < limit_) return;
  reader_.fail("an entry in quotes lies across the border of two parts, and is longer than {} KiB", near_bytes >> 10);
}

std::uint64_t TextFields::lines_before(std::uint64_t position) {
  reader_.seek(0);
  std::uint64_t lines = 0;
  char before = '\0';
  while (reader_.position() < position) {
    const auto bytes = reader_.peek(1);
    if (bytes.empty()) break;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), position - reader_.position()));
    for (const char c : std::string_view(reinterpret_cast<const char*>(bytes.data()), size)) {
      if (c == '\r' || (c == '\n' && before != '\r')) ++lines;
      before = c;
    }
    reader_.consume(size);
  }
  return lines;
}

}  // namespace masu::io
