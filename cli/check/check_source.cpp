// SPDX-License-Identifier: Apache-2.0
// What --check reads in a kernel's source: calls of printf, and conversions from floating-point numbers to integers.
#include "cli/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace masu::cli {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The place behind a literal, or a comment, that begins at `at`; `at` where there is none.
std::size_t behind_literal(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  const auto end = [&](std::string_view word) {
    const auto found = text.find(word, at + 2);
    return found == std::string_view::npos ? text.size() : found + word.size();
  };
  if (rest.starts_with("//")) return end("\n") - (end("\n") == text.size() ? 0 : 1);
  if (rest.starts_with("/*")) return end("*/");
  if (rest.empty() || (rest.front() != '"' && rest.front() != '\'')) return at;
  std::size_t i = at + 1;
  while (i < text.size() && text[i] != rest.front()) i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

// The arguments of a call.
std::vector<std::string_view> arguments_of(std::string_view text) {
  std::vector<std::string_view> result;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t next = behind_literal(text, i); next != i) {
      i = next;
      continue;
    }
    const char c = text[i];
    depth += static_cast<int>(c == '(' || c == '[' || c == '{') - static_cast<int>(c == ')' || c == ']' || c == '}');
    if (c == ',' && depth == 0) {
      result.push_back(without_blanks(text.substr(begin, i - begin)));
      begin = i + 1;
    }
    ++i;
  }
  result.push_back(without_blanks(text.substr(begin)));
  return result;
}

// What literals that stand side by side say together, with their escapes; none where anything else is there.
std::optional<std::string> literal(std::string_view text) {
  std::string result;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::size_t end = text.front() == '"' ? behind_literal(text, 0) : 0;
    if (end < 2) return std::nullopt;
    result += text.substr(1, end - 2);
    text = without_blanks(text.substr(end));
  }
  return result;
}

// Reads one conversion of a format behind its %.
class Conversion {
 public:
  explicit Conversion(std::string_view text) : text_(text) {}

  // What is wrong with it, or "". `argument` is the number of its argument, and then of the next one's.
  std::string complaint(const std::vector<std::string_view>& arguments, std::size_t& argument) {
    skip("-+ #0'");
    const bool grouped = text_.substr(0, at_).find('\'') != std::string_view::npos;
    std::size_t from_arguments = number() ? 1 : 0;
    if (peek() == '$') return said("the format alone gives the order of the arguments");
    if (peek() == '.') {
      ++at_;
      from_arguments += number() ? 1 : 0;
    }
    const bool vector = peek() == 'v';
    std::string_view elements;
    if (vector) {
      const std::size_t begin = ++at_;
      skip("0123456789");
      elements = text_.substr(begin, at_ - begin);
    }
    const std::size_t begin = at_;
    skip("hljztLqI");
    if (text_.substr(begin, at_ - begin).ends_with('I')) skip("0123456789");
    const std::string_view length = text_.substr(begin, at_ - begin);
    const char letter = peek();
    if (letter != '\0') ++at_;
    if (letter == '%' || letter == '\0') return "";
    argument += from_arguments;
    const std::size_t own = argument++;
    if (from_arguments != 0) return said("a width or precision stands in the format, not among the arguments");
    if (grouped) return said("there is no flag '");
    constexpr std::array<std::string_view, 5> lengths{"", "hh", "h", "hl", "l"};
    if (std::ranges::find(lengths, length) == lengths.end()) {
      const std::string_view instead = length == "L" ? " (a double needs none)"
                                       : length == "z" || length == "ll" || length == "j" || length == "t"
                                           ? " (l is for 64 bits)"
                                           : "";
      return said(fmt::format("there is no length modifier {}{}", length, instead));
    }
    constexpr std::array<std::string_view, 5> widths{"2", "3", "4", "8", "16"};
    if (vector && std::ranges::find(widths, elements) == widths.end()) {
      return said("a vector has 2, 3, 4, 8 or 16 elements");
    }
    constexpr std::string_view letters = "diouxXfFeEgGaAcsp";
    if (letters.find(letter) == std::string_view::npos) return said(fmt::format("there is no conversion {}", letter));
    const bool text = letter == 's' && own < arguments.size();
    if (text && arguments[own].find('"') == std::string_view::npos) {
      return fmt::format("%s takes a string literal in OpenCL C, got {}", arguments[own].substr(0, 60));
    }
    return "";
  }

  [[nodiscard]] std::size_t end() const { return at_; }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip(std::string_view characters) {
    while (at_ < text_.size() && characters.find(text_[at_]) != std::string_view::npos) ++at_;
  }
  // Whether it is a *, which takes an argument.
  bool number() {
    if (peek() == '*') return ++at_, true;
    skip("0123456789");
    return false;
  }
  [[nodiscard]] std::string said(std::string_view rule) const {
    return fmt::format("OpenCL C has no %{}: {}", text_.substr(0, at_), rule);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// The next line, taken off the front of the text, with its end.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
  text.remove_prefix(line.size());
  return line;
}

constexpr std::string_view warning_word = ": warning: ";
constexpr std::string_view implicit_conversion = "implicit conversion turns floating-point number into integer";

// The name of an integer type of OpenCL C, scalar or vector.
bool is_integer_type(std::string_view name) {
  constexpr std::array<std::string_view, 15> names{
      "char",   "uchar",     "short",  "ushort",   "int",          "uint",          "long",         "ulong",
      "size_t", "ptrdiff_t", "signed", "unsigned", "unsigned int", "unsigned char", "unsigned long"};
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::vector<std::string> printf_complaints(std::string_view arguments) {
  std::vector<std::string> result;
  const std::vector<std::string_view> list = arguments_of(arguments);
  const std::optional<std::string> format = literal(list.front());
  if (!format) return result;
  std::size_t argument = 1;
  for (std::size_t at = format->find('%'); at != std::string::npos; at = format->find('%', at)) {
    Conversion conversion(std::string_view(*format).substr(at + 1));
    std::string complaint = conversion.complaint(list, argument);
    if (!complaint.empty()) result.push_back("printf: " + std::move(complaint));
    at += 1 + conversion.end();
  }
  return result;
}

std::string without_notes(std::string_view log) {
  std::string result;
  bool note = false;
  while (!log.empty()) {
    const std::string_view line = take_line(log);
    if (const auto at = line.find(warning_word); at != std::string_view::npos) {
      const std::string_view text = line.substr(at + warning_word.size());
      note = text.starts_with('"') || text.starts_with(implicit_conversion);
    } else if (line.find(": error: ") != std::string_view::npos || line.starts_with("error: ")) {
      note = false;
    }
    if (!note) result += line;
  }
  return result;
}

std::vector<Place> conversions(const CheckFacts& facts, const SourceName& name) {
  constexpr std::size_t most = 8;
  std::vector<Place> result;
  const auto add = [&](Place place) {
    const auto same = [&](const Place& other) {
      return other.file == place.file && other.line == place.line && other.column == place.column;
    };
    if (result.size() < most && std::ranges::none_of(result, same)) result.push_back(std::move(place));
  };
  std::string_view log = facts.build_log;
  while (!log.empty()) {
    std::string_view line = take_line(log);
    const auto at = line.find(warning_word);
    if (at == std::string_view::npos || !line.substr(at + warning_word.size()).starts_with(implicit_conversion)) {
      continue;
    }
    add(place_before(line.substr(0, at), name).value_or(Place{}));
  }
  // Casts and calls of convert_T in the text. Those of integers are among them, but for what get_global_id and the like
  // return.
  const std::string_view text = facts.source;
  Place here{name.file, 1, 1, {}};
  for (std::size_t i = 0; i < text.size();) {
    std::size_t next = behind_literal(text, i);
    if (next == i) {
      const std::string_view rest = text.substr(i);
      const bool begins = i == 0 || !is_word(text[i - 1]);
      if (rest.front() == '(') {
        const std::size_t close = rest.find(')');
        const bool cast = close != std::string_view::npos && is_integer_type(without_blanks(rest.substr(1, close - 1)));
        const std::string_view operand = cast ? without_blanks(rest.substr(close + 1)) : std::string_view();
        if (!operand.empty() && (is_word(operand.front()) || operand.front() == '(' || operand.front() == '-') &&
            !operand.starts_with("get_")) {
          add(here);
        }
      } else if (begins && rest.starts_with("convert_") && !rest.starts_with("convert_float") &&
                 !rest.starts_with("convert_double") &&
                 rest.substr(0, rest.find('(')).find("_sat") == std::string_view::npos) {
        add(here);
      }
      next = i + 1;
    }
    for (; i < next; ++i) {
      here.column = text[i] == '\n' ? 1 : here.column + 1;
      here.line += text[i] == '\n' ? 1 : 0;
    }
  }
  std::ranges::stable_sort(result, {}, [](const Place& place) { return std::pair(place.line, place.column); });
  return result;
}

}  // namespace masu::cli
