// SPDX-License-Identifier: Apache-2.0
// What commands print: elements and results as text and JSON, and on the terminal notes, progress, how long parts took.
#pragma once

#include "program.h"

#include <fmt/format.h>
#include <masu/dtype.h>
#include <masu/io.h>
#include <masu/stream.h>
#include <masu/sum.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace masu::cli {

// Errors with a formatted text: wrong use, the fault of an input, --verify that found another result.
template <class... Values>
requires(sizeof...(Values) > 0) [[noreturn]] void usage_error(fmt::format_string<Values...> text, Values&&... values) {
  usage_error(fmt::format(text, std::forward<Values>(values)...));
}
template <class... Values>
[[noreturn]] void data_error(fmt::format_string<Values...> text, Values&&... values) {
  throw Error(ErrorCode::io, fmt::format(text, std::forward<Values>(values)...));
}
template <class... Values>
[[noreturn]] void differs(fmt::format_string<Values...> text, Values&&... values) {
  throw Differs(fmt::format(text, std::forward<Values>(values)...));
}

// Takes the text of a result, piece by piece.
using Sink = std::function<void(std::string_view)>;

// Gathers small pieces of text before they go to a sink: results may have 2^31 entries and are never held as a text.
class TextSink {
 public:
  explicit TextSink(const Sink& sink) : sink_(sink) {}
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;

  void add(std::string_view text) {
    text_ += text;
    if (text_.size() > 1 << 16) flush();
  }
  void flush() {
    sink_(text_);
    text_.clear();
  }
  // A list of JSON of `count` entries; entry(i) is a text, or adds it.
  template <class Entry>
  void list(std::uint64_t count, const Entry& entry) {
    add("[");
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0) add(",");
      if constexpr (std::is_void_v<std::invoke_result_t<const Entry&, std::uint64_t>>) entry(i);
      else add(entry(i));
    }
    add("]");
  }

 private:
  const Sink& sink_;
  std::string text_;
};

// A text as a JSON string, quotes included; bytes that are not UTF-8 are replaced.
std::string json_string(std::string_view text);
// A text as a field of CSV, in quotes where RFC 4180 wants them.
std::string csv_field(std::string_view text);
// A number in the shortest form of its dtype; "NaN", "Infinity", "-Infinity" as strings.
std::string json_number(double value, Dtype dtype = Dtype::f64);

// Single elements of any dtype.

// The bits of an element.
std::uint64_t bits_of(const ArrayView& data, std::uint64_t i);
// Those of a total of a row.
std::uint64_t bits_of(const SumResult& found, std::uint64_t row = 0);
// The bits of a number that the dtype, a float, holds exactly.
std::uint64_t bits_of(double value, Dtype dtype);
bool is_nan(const ArrayView& data, std::uint64_t i);
// Rounded to f64 where it has 64 bits.
double number_at(const ArrayView& data, std::uint64_t i);

// Elements of any dtype as text.

// The shortest form that reads back to the same value of the dtype; nan, inf, -inf.
std::string element_text(const ArrayView& array, std::uint64_t index);

// How many significant digits floats have in tables and lines, for this process; 0 is the shortest form that reads
// back.
void set_table_digits(int digits);
// A number with these, or where they are not set with `usual`; whole numbers have no exponent up to 2^53.
std::string table_number(double value, int usual = 0, Dtype dtype = Dtype::f64);
// An element of a table: floats with these digits, all else as element_text().
std::string table_element(const ArrayView& array, std::uint64_t index);
// The same of values that may stand for something else; null: they are numbers.
std::string value_text(const ArrayView& array, std::uint64_t index, const io::ValueNames* names);
// "text", "instant", or the dtype of numbers.
std::string_view type_name(const io::SourceInfo& info);
// Such a text as JSON has it: "NaN", "Infinity" and "-Infinity" in quotes.
std::string json_of_text(std::string text);
// The same without the quotes.
std::string bare(std::string value);
// Both.
std::string json_element(const ArrayView& array, std::uint64_t index, const io::ValueNames* names = nullptr);

// The terminal.

bool is_terminal(int descriptor);
// Columns of the terminal that standard output is, else $COLUMNS, else 80.
unsigned output_width();
// Columns that a text takes there: every character is one wide.
inline std::size_t columns_of_text(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}
// Whether charts may have block characters: a console (TERM=linux) and TERM=dumb lack them.
bool block_characters();
// Whether it may have colours: a terminal, but for TERM=dumb and where NO_COLOR is set.
bool colours();
// On standard output. Throws io where it cannot be written.
void print_text(std::string_view text);
// What may be printed on a terminal: control characters, and bytes that are no UTF-8, as \x1b; but for those of `kept`.
std::string visible(std::string_view text, std::string_view kept = "");
// One line on standard error, or several with "\n" in `kept`. Control characters are made visible.
void note(std::string_view text, std::string_view kept = "");

// How far a command is, and how long its parts took.

// A bar on standard error for work over half a second since the command began; the command has one line for all of
// them. It removes itself, also before anything else is printed.
class Progress {
 public:
  // `mode` is auto (only on a terminal), always (from the first moment) or never.
  explicit Progress(const std::string& mode);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  // Starts a piece of work of that many bytes, if they are known.
  void start(const std::string& what, std::optional<std::uint64_t> bytes);
  void advance(std::uint64_t bytes) { show(what_, done_ + bytes, total_); }
  // The same, where `done` bytes of one piece of work are done.
  void show(const std::string& what, std::uint64_t done, std::optional<std::uint64_t> bytes);
  // Takes the bar away.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now) const;
  bool enabled_ = false;
  bool at_once_ = false;
  std::string what_;
  std::optional<std::uint64_t> total_;
  std::uint64_t done_ = 0;
  Clock::time_point began_;
};

// How long the parts of a command took.

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

inline Times& operator+=(Times& sum, const Times& more) {
  sum.transfer += more.transfer;
  sum.compute += more.compute;
  return sum;
}

struct Seconds {
  double read = 0;
  double transfer = 0;
  double compute = 0;
  double total = 0;
};

// `"seconds":{…}` of JSON.
std::string json_seconds(const Seconds& seconds);
// What --time says of work on so many bytes, on standard error.
void note_times(const Seconds& seconds, std::uint64_t bytes);

}  // namespace masu::cli
