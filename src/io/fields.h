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

struct Field {
  std::string_view text;    // without its quotes; valid until the next call
  std::uint64_t line = 1;   // where it begins, from 1
  std::uint64_t index = 0;  // in its line, from 0
  bool last = false;        // of its line
  bool too_long = false;    // longer than longest_entry; `text` is its beginning
  bool quoted = false;
  bool odd = false;  // other characters than blanks follow its closing quote
};

class TextFields {
 public:
  // Skips empty lines and comments, and takes the delimiter from the first other line.
  TextFields(Reader reader, const SourceOptions& options);

  // Takes the next field; false after the last line, or at the limit. Skips empty lines and comments. Throws io where a
  // quote is never closed.
  bool next(Field& field);

  // Reads the first line as the names of the columns.
  void read_header();
  [[nodiscard]] std::uint64_t names() const noexcept { return names_.size(); }
  // Whether the header has one name less than the lines have fields: the first field of each is no column.
  [[nodiscard]] bool row_names() const noexcept { return row_names_; }
  // A name of the header, or a number from 1, as an index from 0. Throws invalid_argument.
  [[nodiscard]] std::uint64_t find_column(const std::string& column) const;

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

  // The lines after the header may be read in parts. A line end inside quotes is no border of parts, so where a quote
  // is near a border, all lines before it are read.

  // Goes to the first line that begins at `position` or after it. False where the number of that line is not known.
  bool go_to_line_at(std::uint64_t position);
  // Ends the part before the first line that begins at `position` or after it.
  void end_at(std::uint64_t position);
  // The same for lines that are read again; ~0 removes the limit.
  void set_limit(std::uint64_t position) noexcept { limit_ = position; }
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
    bool ends_empty = false;  // whether the first or last field of the first line is empty
    std::vector<std::string> first;
  };
  // Reads a window's bytes with the settings of `like`.
  TextFields(Reader reader, const TextFields& like);

  void set_delimiter(const SourceOptions& options);
  void set_class(std::string_view characters, Class kind);
  void decide(const std::string& decimal);
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
  bool ended_ = false;  // nothing follows the window
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
  std::string kept_;  // the text of a field that is not in the window as it is
  std::uint64_t limit_ = no_limit;
  std::optional<std::uint64_t> next_part_;  // the beginning of the part after the limit, if no quotes are near
  std::uint64_t comment_lines_ = 0;
  std::uint64_t line_ = 1;
  std::uint64_t index_ = 0;
};

}  // namespace masu::io
