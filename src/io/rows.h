// SPDX-License-Identifier: Apache-2.0
// A text row by row: the wanted fields as bytes, and the whole line.
#pragma once

#include "io/fields.h"
#include "io/numbers.h"
#include "io/sources.h"

#include <masu/io.h>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::io {

// Reads what io::open reads as text: files, "-", compressed ones; of JSON keys, without lines. Lines are cut, and left
// out, by the rules that hold for numbers: empty lines and comments are skipped; a line with another number of fields
// than the header has names, or without a wanted column, is left out and counted, as is one with a wanted field beyond
// 32 KiB; SourceOptions::strict and needed_by make it an error. No row needs an allocation.
class Rows {
 public:
  // `columns`: names or numbers, as SourceOptions::column takes them; one may occur twice, and there may be none.
  // `lines`: text() and header() are asked for. Of `options`, column, dtype and places have no meaning. Throws io for
  // what is no text, invalid_argument for a column that is not there.
  Rows(const std::string& input, const SourceOptions& options, std::span<const std::string> columns, bool lines = false)
      : Rows(open_rows(input, options, columns, lines), lines) {}
  Rows(Reader reader, const SourceOptions& options, std::span<const std::string> columns, bool lines = false);

  // Goes to the next row; false after the last one. Throws io.
  bool next() {
    if (!started_ || !fields_.next_plain(text_)) return next_any();
    plain_ = true;
    any_odd_ = false;
    line_ = fields_.mark().line - 1;
    const bool complete = whole_lines_ || cut_plain(text_);
    ++rows_;
    return complete || next_any();
  }

  // The rest is valid until the next call of next().

  // The wanted fields, as `columns` lists them, without their quotes.
  [[nodiscard]] std::span<const std::string_view> fields() const noexcept { return texts_; }
  // A wanted field as a number, by the rule for numbers of a text. The first form keeps the kind that the text has.
  [[nodiscard]] TextNumber number(std::size_t field);
  template <class T>
  [[nodiscard]] Fit number(std::size_t field, T& value) {
    if (is_odd(field)) return Fit::no_number;
    return parse_number(number_text(texts_[field], comma_, pointed_), value);
  }
  // The line where the row begins, from 1. In a part of a file it counts from the part's beginning: see report().
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }
  // The row's place in the text: data rows from 0, with those that were left out.
  [[nodiscard]] std::uint64_t place() const noexcept { return rows_ - 1; }
  // The line as it stands in the file, without its end; the line ends inside its quotes belong to it.
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  // The position in the (decompressed) text after this row.
  [[nodiscard]] std::uint64_t position() const noexcept { return fields_.mark().position; }

  // Counts this row as left out because of that field, which is no number; an error with strict and needed_by.
  void leave_out(std::size_t field) { leave_out(texts_[field], "a number"); }
  // The same because of an entry that is empty, or not what is wanted.
  void leave_out(std::string_view entry, std::string_view wanted) { leave_out(entry, wanted, left_out_); }
  // The same, counted where a column of several has its counts.
  void leave_out(std::string_view entry, std::string_view wanted, LeftOutCounts& counts);
  // Throws io: "NAME: line N: …".
  template <class... Values>
  [[noreturn]] void fail(fmt::format_string<Values...> reason, Values&&... values) {
    const std::uint64_t line = true_line();
    fields_.reader().fail("line {}: {}", line, fmt::format(reason, std::forward<Values>(values)...));
  }

  // Back to the first row. A stream is kept for it from the first next() on where keep_for_rewind() was called before.
  void keep_for_rewind() noexcept { keep_ = true; }
  void rewind();

  // The header's line as text() gives lines; empty without one.
  [[nodiscard]] const std::string& header() const noexcept { return header_; }
  // The names in the header.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return fields_.column_names(); }
  // Throws io for a choice of columns where none was made.
  [[noreturn]] void refuse_columns() const { fields_.refuse_columns(); }
  // "\n" or "\r\n", as the first line ends.
  [[nodiscard]] std::string_view line_end() const noexcept { return crlf_ ? "\r\n" : "\n"; }
  [[nodiscard]] const std::string& name() noexcept { return fields_.reader().name(); }
  // '\0': runs of white space.
  [[nodiscard]] char delimiter() const noexcept { return fields_.delimiter(); }
  // After the last use of the rows: the text may be read again, where it was kept for rewind().
  [[nodiscard]] Reader& reader() noexcept { return fields_.reader(); }
  // Bytes of the text, where they are known.
  [[nodiscard]] std::optional<std::uint64_t> size() { return fields_.reader().size(); }
  [[nodiscard]] TextReport report() const;

 private:
  Rows(TextRows from, bool lines) : Rows(std::move(from.reader), from.options, from.columns, lines) {}
  struct Wanted {
    std::uint64_t index = 0;  // of the column, from 0
    std::size_t slot = 0;     // in texts_
  };
  void find_columns(std::span<const std::string> columns);
  bool next_any();
  bool step();
  bool cut_plain(std::string_view line);
  std::optional<bool> take_fields();
  bool is_complete(std::uint64_t fields, std::size_t found, bool too_long);
  [[nodiscard]] bool is_odd(std::size_t field) const noexcept { return any_odd_ && odd_[field] != 0; }
  template <class Say>
  void bad(LeftOut reason, const Say& say, LeftOutCounts& counts);
  [[nodiscard]] std::uint64_t true_line();

  SourceOptions options_;
  bool lines_;
  bool whole_lines_;  // no fields are cut or counted
  bool comma_;        // the decimal mark
  bool keep_ = false;
  bool started_ = false;
  bool lines_known_ = true;
  bool crlf_ = false;
  bool plain_ = false;  // this row lies in the reader's window
  TextFields fields_;
  TextFields::Mark start_;
  std::string header_;
  std::vector<Wanted> wanted_;  // by index
  std::vector<std::string_view> texts_;
  std::vector<char> odd_;
  bool any_odd_ = false;             // in this row
  std::string held_;                 // texts of fields that were not taken from the window as they are
  std::vector<std::size_t> places_;  // of the wanted ones in it
  std::string_view text_;
  std::string pointed_;
  std::uint64_t line_ = 1;
  std::uint64_t rows_ = 0;
  LeftOutCounts left_out_;
};

}  // namespace masu::io
