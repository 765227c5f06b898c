// SPDX-License-Identifier: Apache-2.0
// The terminal, and what a command says there: notes, progress, how long its parts took.
#pragma once

#include <masu/stream.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace masu::cli {

bool is_terminal(int descriptor);
// Columns of the terminal behind standard output, else $COLUMNS, else 80.
unsigned output_width();
// True when the user's locale can show characters beyond ASCII.
bool utf8_locale();
// What may be printed on a terminal: control characters, and bytes that are no UTF-8, as \x1b; but for those of `kept`.
std::string visible(std::string_view text, std::string_view kept = "");
// One line on standard error, or several with "\n" in `kept`. Control characters are made visible.
void note(std::string_view text, std::string_view kept = "");

// How far a command is, and how long its parts took.

// A bar on standard error for work over a second. It removes itself.
class Progress {
 public:
  // `mode` is auto (only on a terminal), always (from the first moment) or never.
  explicit Progress(const std::string& mode);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  // Starts a piece of work of that many bytes, if they are known.
  void start(const std::string& what, std::optional<std::uint64_t> bytes);
  void advance(std::uint64_t bytes);
  // Takes the bar away.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);
  bool enabled_ = false;
  bool at_once_ = false;
  bool shown_ = false;
  std::string what_;
  std::optional<std::uint64_t> total_;
  std::uint64_t done_ = 0;
  Clock::time_point began_;
  Clock::time_point drawn_;
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
