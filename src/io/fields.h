// SPDX-License-Identifier: Apache-2.0
// Splits text into lines and fields by one delimiter.
#pragma once

#include "io/reader.h"

#include <masu/io.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::io {

inline constexpr std::size_t longest_entry = std::size_t{1} << 15;
inline constexpr std::size_t longest_line = std::size_t{1} << 26;  // of lines that are held whole
inline constexpr std::string_view white_space = " \t\v\f";

constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}
constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Throws invalid_argument: "text: WHY".
[[noreturn]] void refuse_text(const std::string& why);

// An entry as parse_number() takes it. A decimal comma becomes a point in `pointed`, where there is `comma`.
std::string_view number_text(std::string_view text, bool comma, std::string& pointed);

// Why an entry or a line is left out, as notes and as errors say it.
struct Said {
  std::string note;
  std::string error;
};
Said no_column(std::uint64_t line, std::uint64_t fields, std::uint64_t column);
Said wrong_fields(std::uint64_t line, std::uint64_t fields, std::uint64_t names, bool row_names);
Said line_too_long(std::uint64_t line);
// `wanted`: what the entry is not.
Said no_number(std::uint64_t line, std::string_view entry, std::string_view wanted = "a number");

// What was left out so far.
struct LeftOutCounts {
  std::array<TextReport::Kind, 5> kinds;
  [[nodiscard]] std::uint64_t all() const noexcept;
  // `say` makes a Said; it is only asked for the first of each kind.
  template <class Say>
  void add(LeftOut reason, std::uint64_t line, const Say& say) {
    TextReport::Kind& kind = kinds[static_cast<std::size_t>(reason)];
    if (kind.count++ == 0) kind = {1, line, say().note};
  }
};

// Adds the report of the part that follows. Returns how many lines are in front of that part's own count.
std::uint64_t append(TextReport& all, const TextReport& part);

struct Field {
  std::string_view text;    // without its quotes; valid until the next call
  std::uint64_t line = 1;   // where it begins, from 1
  std::uint64_t index = 0;  // in its line, from 0
  bool last = false;        // of its line
  bool too_long = false;    // longer than longest_entry; `text` is its beginning
  bool quoted = false;
  bool odd = false;  // other characters than blanks follow its closing quote
};

// DIGITS,DIGITS is a line that may be one number with a decimal comma: whether a field may be of such a line.
bool is_of_pair(const Field& field) noexcept;

class TextFields {
 public:
  // Skips empty lines and comments, and takes the delimiter from the first other line.
  TextFields(Reader reader, const SourceOptions& options);

  // Takes the next field; false after the last line, or at the limit. Skips empty lines and comments. Throws io where a
  // quote is never closed.
  bool next(Field& field);

  // Takes the next line, without its end, where that is as simple as most are: whole in the window, without quotes,
  // comments and white space in front. Else false, and next() takes it. Only between lines. Valid until the next call.
  bool next_plain(std::string_view& line);
  // From now on line_text() is asked for.
  void keep_lines() noexcept { keeps_lines_ = true; }
  // The line that next() has taken to its last field, as it stands in the text, without its end; of a line beyond
  // longest_line, its beginning, which is longer than that. Valid until the next call.
  [[nodiscard]] std::string_view line_text();

  // Reads the first line as the names of the columns.
  void read_header();
  [[nodiscard]] std::uint64_t names() const noexcept { return names_.size(); }
  [[nodiscard]] const std::vector<std::string>& column_names() const noexcept { return names_; }
  // Whether the header has one name less than the lines have fields: the first field of each is no column.
  [[nodiscard]] bool row_names() const noexcept { return row_names_; }
  // A name of the header, or a number from 1, as an index from 0. Throws invalid_argument.
  [[nodiscard]] std::uint64_t find_column(const std::string& column) const;

  // Throws io for a line that has a field less than the lines in front of it, where these begin with names of rows.
  [[noreturn]] void refuse_row_name(std::uint64_t line) const;
  // Throws io for what must not be left out: with SourceOptions::strict, or as `needed_by` needs it.
  [[noreturn]] void refuse_left_out(const std::string& error, const std::string& needed_by) const;

  // Whether each line has several fields: those of a header, or, as far as can be seen, between delimiters that are no
  // white space.
  [[nodiscard]] bool has_columns() const noexcept { return names_.size() > 1 || has_columns_; }
  // Throws io for a choice of columns where none was made.
  [[noreturn]] void refuse_columns() const;

  // '\0': runs of white space.
  [[nodiscard]] char delimiter() const noexcept { return delimiter_; }
  // Whether the first line decided it.
  [[nodiscard]] bool delimiter_decided() const noexcept { return decided_; }
  // "the delimiter is comma, the first line has 'a', 'b'", for messages.
  [[nodiscard]] std::string how_cut() const;
  // How many lines that begin with # were skipped, where no comment mark was given.
  [[nodiscard]] std::uint64_t comment_lines() const noexcept { return comment_lines_; }

  struct Mark {
    std::uint64_t position = 0;
    std::uint64_t line = 1;
    std::uint64_t comment_lines = 0;
  };
  // Only between lines.
  [[nodiscard]] Mark mark() const noexcept { return {position(), line_, comment_lines_}; }
  void go_to(const Mark& mark);
  [[nodiscard]] bool between_lines() const noexcept { return index_ == 0; }
  // The mark that was given; "" for none. And whether lines that begin with # are skipped.
  [[nodiscard]] const std::string& comment() const noexcept { return comment_; }
  [[nodiscard]] bool skips_hash() const noexcept { return hash_; }

  // The lines after the header may be read in parts. A line end inside quotes is no border of parts, so where a quote
  // is near a border, all lines before it are read.

  // Goes to the lines of part `part` of `parts`, of about as many bytes each, and ends there. False where the number of
  // the first line is not known. Only at the first line after the header.
  bool take_part(std::uint64_t part, std::uint64_t parts);
  // Goes to the first line that begins at `position` or after it. False where the number of that line is not known.
  bool go_to_line_at(std::uint64_t position);
  // Ends the part before the first line that begins at `position` or after it.
  void end_at(std::uint64_t position);
  // The same for lines that are read again; ~0 removes the limit.
  void set_limit(std::uint64_t position) noexcept { limit_ = position; }
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  // Called after the last line: throws io where the next part begins inside quotes.
  void check_limit();
  // How many lines end before a position.
  std::uint64_t lines_before(std::uint64_t position);
  [[nodiscard]] Reader& reader() noexcept { return reader_; }

 private:
  static constexpr std::size_t least_window = longest_entry + 512;  // an entry, a comment mark and a line end
  enum Class : std::uint8_t { normal, blank, delimiting, newline };
  // The next lines, as far as the window has them whole.
  struct Glance {
    std::uint64_t fields = 0;  // of the first line, also where the window ends in it
    std::uint64_t lines = 0;
    bool same = true;         // number of fields
    bool columns = true;      // whether each line has several
    bool pairs = true;        // whether each may be a number with a decimal comma
    std::size_t numbers = 0;  // of those in `first`
    bool ends_empty = false;  // whether the first or last field of the first line is empty
    std::vector<std::string> first;
  };
  // Reads a window's bytes with the settings of `like`.
  TextFields(Reader reader, const TextFields& like);

  void set_delimiter(const SourceOptions& options);
  void set_class(std::string_view characters, Class kind);
  void decide(const std::string& decimal);
  [[nodiscard]] std::string delimiter_name() const;
  [[nodiscard]] std::size_t closing_quote(std::string_view text, std::size_t quote, bool across_lines) const;
  [[nodiscard]] Glance glance();

  [[nodiscard]] Class class_of(char c) const noexcept { return classes_[static_cast<unsigned char>(c)]; }
  [[nodiscard]] std::uint64_t position() const noexcept {
    return reader_.position() + static_cast<std::uint64_t>(at_ - begin_);
  }
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  void need() {
    if (left() < least_window && !ended_) refill();
  }
  void refill(std::size_t least = least_window);
  void keep(Field& field);
  void keep_line();
  [[nodiscard]] const char* next_special(char special, const char*& cached) const noexcept;
  [[nodiscard]] bool comment_here(const char* at) const noexcept;
  bool begin_line();
  void end_line();
  void skip_line();
  bool take_quoted(Field& field);
  void take_long(Field& field, const char* stop);
  void finish(Field& field);
  [[nodiscard]] std::optional<std::uint64_t> line_start(std::uint64_t position);

  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  Reader reader_;
  const char* begin_ = nullptr;  // of the window, whose bytes the reader has not passed yet
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* quote_ = nullptr;   // the next quote, and the next carriage return, of the window; after at_: not looked
  const char* return_ = nullptr;  // for yet
  const char* odd_ = nullptr;     // the first of both
  bool keeps_lines_ = false;
  const char* line_from_ = nullptr;  // the bytes of the line that are still in the window
  std::string line_begin_;           // those in front of them
  bool ended_ = false;               // nothing follows the window
  std::array<Class, 256> classes_{};
  Class stops_ = delimiting;  // an entry ends at a character of this class or a later one
  char delimiter_ = '\0';
  bool decided_ = false;
  std::string comment_;
  bool hash_ = false;  // lines that begin with # are skipped
  bool header_ = false;
  bool row_names_ = false;
  std::vector<std::string> names_;
  std::string first_line_;
  std::vector<std::string> first_fields_;  // of it
  std::uint64_t columns_ = 0;              // and how many it has
  bool columns_known_ = true;              // else it has more
  std::size_t first_numbers_ = 0;          // of those in first_fields_
  bool has_columns_ = false;
  std::string kept_;  // the text of a field that is not in the window as it is
  std::uint64_t limit_ = no_limit;
  std::optional<std::uint64_t> next_part_;  // the beginning of the part after the limit, if no quotes are near
  std::uint64_t comment_lines_ = 0;
  std::uint64_t line_ = 1;
  std::uint64_t index_ = 0;
};

}  // namespace masu::io
