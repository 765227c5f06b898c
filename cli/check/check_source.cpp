// SPDX-License-Identifier: Apache-2.0
// --check finds in a kernel's source: calls of printf, and conversions from floating-point numbers to integers.
#include "cli/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace masu::cli {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The place after a literal or a comment that begins at `at`; `at` where none begins.
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
      result.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
    ++i;
  }
  result.push_back(trimmed(text.substr(begin)));
  return result;
}

// The text of adjacent literals together, with their escapes; none where anything else is there.
std::optional<std::string> literal(std::string_view text) {
  std::string result;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::size_t end = text.front() == '"' ? behind_literal(text, 0) : 0;
    if (end < 2) return std::nullopt;
    result += text.substr(1, end - 2);
    text = trimmed(text.substr(end));
  }
  return result;
}

template <std::size_t n>
bool is_one_of(std::string_view text, const std::array<std::string_view, n>& words) {
  return std::ranges::find(words, text) != words.end();
}

// Adds the places of casts to integers and of calls of convert_T. Casts of integers are among them, except those of
// get_global_id() and similar functions.
void add_casts(std::string_view text, Place here, const std::function<void(const Place&)>& add) {
  constexpr std::array<std::string_view, 13> types{"char",   "uchar",    "short",       "ushort", "int",
                                                   "uint",   "long",     "ulong",       "size_t", "ptrdiff_t",
                                                   "signed", "unsigned", "unsigned int"};
  for (std::size_t i = 0; i < text.size();) {
    std::size_t next = behind_literal(text, i);
    const std::string_view rest = text.substr(i);
    if (next == i) {
      const std::string_view near = rest.substr(0, 40);  // no name is longer
      const std::size_t close = near.front() == '(' ? near.find(')') : std::string_view::npos;
      const bool cast = close != std::string_view::npos && is_one_of(trimmed(near.substr(1, close - 1)), types);
      const std::string_view operand = cast ? trimmed(rest.substr(close + 1, 80)) : std::string_view();
      const bool of_value = !operand.empty() && !operand.starts_with("get_") &&
                            (is_word(operand.front()) || operand.front() == '(' || operand.front() == '-');
      const std::string_view call = near.starts_with("convert_") ? near.substr(0, near.find('(')) : std::string_view();
      const bool converts =
          !call.empty() && (i == 0 || !is_word(text[i - 1])) && call.find("float") == std::string_view::npos &&
          call.find("double") == std::string_view::npos && call.find("_sat") == std::string_view::npos;
      if (of_value || converts) add(here);
      next = i + 1;
    }
    for (; i < next; ++i) {
      here.column = text[i] == '\n' ? 1 : here.column + 1;
      here.line += text[i] == '\n' ? 1 : 0;
    }
  }
}

}  // namespace

std::vector<std::string> printf_complaints(std::string_view call) {
  std::vector<std::string> result;
  const std::vector<std::string_view> arguments = arguments_of(call);
  const std::string format = literal(arguments.front()).value_or("");
  std::size_t argument = 1;
  for (std::size_t at = format.find('%'); at < format.size(); at = format.find('%', at + 1)) {
    const std::size_t begin = at++;
    const auto part = [&](std::string_view characters) {
      const std::size_t from = at;
      while (at < format.size() && characters.find(format[at]) != std::string_view::npos) ++at;
      return std::string_view(format).substr(from, at - from);
    };
    const std::string_view flags = part("-+ #0'"), width = part("*0123456789$."), vector = part("v0123456789");
    const std::string_view length = part("hljztLqI");
    if (at >= format.size()) break;
    if (format[at] == '%') continue;
    const auto stars = static_cast<std::size_t>(std::ranges::count(width, '*'));
    argument += stars;
    const std::size_t own = argument++;
    std::string rule;
    if (width.find('$') != std::string_view::npos) rule = "the format alone gives the order of the arguments";
    else if (stars != 0) rule = "a width or precision stands in the format, not among the arguments";
    else if (flags.find('\'') != std::string_view::npos) rule = "there is no flag '";
    else if (!is_one_of(length, std::array<std::string_view, 5>{"", "hh", "h", "hl", "l"})) {
      const bool wide = is_one_of(length, std::array<std::string_view, 4>{"z", "ll", "j", "t"});
      rule = fmt::format("there is no length modifier {}{}", length, wide ? " (l is for 64 bits)" : "");
    } else if (!is_one_of(vector, std::array<std::string_view, 6>{"", "v2", "v3", "v4", "v8", "v16"})) {
      rule = "a vector has 2, 3, 4, 8 or 16 elements";
    } else if (std::string_view("diouxXfFeEgGaAcsp").find(format[at]) == std::string_view::npos) {
      rule = fmt::format("there is no conversion {}", format[at]);
    } else if (format[at] == 's' && own < arguments.size() && arguments[own].find('"') == std::string_view::npos) {
      result.push_back(
          fmt::format("printf: %s takes a string literal in OpenCL C, got {}", arguments[own].substr(0, 60)));
    }
    if (!rule.empty()) {
      result.push_back(fmt::format("printf: OpenCL C has no {}: {}", format.substr(begin, at + 1 - begin), rule));
    }
  }
  return result;
}

std::vector<Place> conversions(const CheckFacts& facts, const SourceName& name) {
  constexpr std::size_t most = 8;
  std::vector<Place> result;
  const auto add = [&](const Place& place) {
    const auto same = [&](const Place& other) { return same_place(other, place); };
    if (result.size() < most && std::ranges::none_of(result, same)) result.push_back(place);
  };
  std::string_view log = facts.build_log;
  while (!log.empty()) {
    const std::string_view line = take_line(log);
    const auto at = line.find(implicit_conversion);
    const auto place = at == std::string_view::npos ? std::nullopt : place_before(line.substr(0, at), name);
    if (place) add(*place);
  }
  add_casts(facts.source, {name.file, 1, 1, {}}, add);
  std::ranges::stable_sort(result, {}, [](const Place& place) { return std::pair(place.line, place.column); });
  return result;
}

}  // namespace masu::cli
