// SPDX-License-Identifier: Apache-2.0
// Text cut into lines and fields.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/reader.h"

namespace masu::io {

struct Field {
  enum Kind { entry, line_end, end };
  Kind kind = end;
  std::string_view text;    // valid until the next call
  std::uint64_t line = 1;   // from 1
  std::uint64_t index = 0;  // entry: in its line, from 0; line_end: how many entries the line had
  bool too_long = false;    // longer than the window; `text` is its beginning
};

class TextFields {
 public:
  TextFields(Reader reader, const SourceOptions& options);

  // Entries of a line, then its end; white space alone makes no entry, nor does a delimiter at the end of a line.
  Field next();
  // Reads the first line that has entries as the names of the columns.
  void read_header();
  // A name of the header, or a number from 1, as an index from 0. Throws invalid_argument.
  [[nodiscard]] std::uint64_t find_column(const std::string& column) const;

  struct Mark {
    std::uint64_t position = 0;
    std::uint64_t line = 1;
  };
  // Only between lines.
  [[nodiscard]] Mark mark() const noexcept { return {reader_.position(), line_}; }
  void go_to(const Mark& mark);
  // To the beginning of the first line at `position`, which is behind the header, or behind it; its number counts from
  // the line there is now.
  void go_to_line_at(std::uint64_t position);
  // How many lines end in front of a position.
  std::uint64_t lines_before(std::uint64_t position);
  [[nodiscard]] Reader& reader() noexcept { return reader_; }

 private:
  enum Class : std::uint8_t { normal, blank, delimiter, newline };
  [[nodiscard]] Class class_of(char c) const noexcept { return classes_[static_cast<unsigned char>(c)]; }
  [[nodiscard]] bool comment_at(std::string_view window) const noexcept {
    return !comment_.empty() && window.starts_with(comment_);
  }
  std::string_view window(std::size_t least);
  void skip_to_line_end();
  Field take_entry(std::string_view window);
  Field line_ended();

  Reader reader_;
  std::array<Class, 256> classes_{};
  bool blanks_split_ = true;  // white space ends an entry
  std::string comment_;
  std::vector<std::string> names_;
  bool header_ = false;
  std::uint64_t line_ = 1;
  std::uint64_t index_ = 0;
  bool filled_ = false;  // the entry in front of the next delimiter has been given
};

}  // namespace masu::io
