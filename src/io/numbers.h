// SPDX-License-Identifier: Apache-2.0
// Numbers of every dtype as text, without an allocation.
#pragma once

#include "io/reader.h"

#include <masu/dtype.h>

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace masu::io {

// Enough for any number.
inline constexpr std::size_t number_room = 40;

// Writes the shortest form and returns its length.
std::size_t put_number(char* target, std::size_t room, Half value) noexcept;
std::size_t put_number(char* target, std::size_t room, float value) noexcept;
std::size_t put_number(char* target, std::size_t room, double value) noexcept;
template <std::integral T>
std::size_t put_number(char* target, std::size_t room, T value) noexcept {
  return static_cast<std::size_t>(std::to_chars(target, target + room, +value).ptr - target);
}

// A number in text, as a value of a dtype or as what the text itself says it is.

// Whether a text is a number, and whether the dtype holds it. A float holds what rounding does not make infinite; an
// integer type holds whole numbers of its range, in any notation.
enum class Fit { number, misfit, no_number };

template <class T>
Fit parse_number(std::string_view text, T& value);

// A number of a column whose dtype its numbers decide.
struct TextNumber {
  enum Kind { no_number, whole, decimal, beyond_f64, beyond_64_bits };
  Kind kind = no_number;
  bool negative = false;        // whole, also of -0
  std::uint64_t magnitude = 0;  // whole: at most 2^63 of negative ones
  double value = 0;             // decimal: what has a point, an exponent, or a name (nan, inf)
};
TextNumber parse_any_number(std::string_view text);

// Text cut into lines and fields.

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
