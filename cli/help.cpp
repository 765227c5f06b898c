// SPDX-License-Identifier: Apache-2.0
// The help of the program and of its commands, in lines of at most 80 columns.
#include "program.h"
#include "text.h"

#include <fmt/format.h>
#include <algorithm>
#include <string_view>

namespace masu::cli {
namespace {

constexpr std::size_t width = 80;
constexpr std::size_t description_column = 24;
constexpr std::size_t shown_examples = 3;  // without --help-all

// Appends the words of a text to the last line of another, going on in lines that begin with `indent` blanks. A line
// that goes on ends with `more`.
void append_words(std::string& to, std::string_view words, std::size_t indent, std::string_view more = "") {
  std::size_t at = columns_of_text(std::string_view(to).substr(to.rfind('\n') + 1));  // npos + 1 is 0
  bool first = true;
  while (true) {
    words.remove_prefix(std::min(words.find_first_not_of(" \n"), words.size()));
    if (words.empty()) break;
    const std::string_view word = words.substr(0, words.find_first_of(" \n"));
    words.remove_prefix(word.size());
    const bool last = words.find_first_not_of(" \n") == std::string_view::npos;
    if (!first && at + 1 + columns_of_text(word) + (last ? 0 : more.size()) > width) {
      to.append(more).append("\n").append(indent, ' ');
      at = indent;
    } else if (!first) {
      to += ' ';
      ++at;
    }
    to += word;
    at += columns_of_text(word);
    first = false;
  }
  to += '\n';
}

// "  NAMES     description".
void append_entry(std::string& to, const std::string& names, const std::string& description) {
  to += "  " + names;
  if (const std::size_t at = columns_of_text(names) + 2; at + 2 > description_column) {
    to.append("\n").append(description_column, ' ');
  } else {
    to.append(description_column - at, ' ');
  }
  append_words(to, description, description_column);
}

void append_entry(std::string& to, const OptionText& option) {
  std::string names = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.argument.empty()) names += (names.empty() ? "" : " ") + option.argument;
  std::string description = option.description;
  if (!option.names.empty() && option.required) description += " (required)";
  if (!option.names.empty() && option.repeatable) description += " (repeatable)";
  append_entry(to, names, description);
}

void append_group(std::string& to, const CommandText& command, const std::string& group, bool all) {
  bool first = true;
  for (const OptionText& option : command.options) {
    if (option.group != group || (option.more && !all)) continue;
    if (first) to += "\n" + group + ":\n";
    append_entry(to, option);
    first = false;
  }
}

void append_examples(std::string& to, const CommandText& command, bool all) {
  const std::vector<std::string> lines = example_lines(command);
  if (lines.empty()) return;
  to += "\nExamples:\n";
  for (std::size_t i = 0; i < (all ? lines.size() : std::min(lines.size(), shown_examples)); ++i) {
    to += "  ";
    append_words(to, lines[i], 6, " \\");
  }
}

}  // namespace

std::vector<std::string> option_groups(const CommandText& command) {
  std::vector<std::string> groups;
  for (const OptionText& option : command.options) {
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  }
  // --help brings its own group first.
  if (!groups.empty()) std::rotate(groups.begin(), groups.begin() + 1, groups.end());
  return groups;
}

std::vector<std::string> example_lines(const CommandText& command) {
  std::vector<std::string> lines;
  std::string_view rest = command.examples;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with("  ")) lines.emplace_back(line.substr(2));  // not the heading
  }
  return lines;
}

std::string synopsis(const std::string& program, const CommandText& command) {
  std::string text = program + " " + command.names.front();
  for (const OptionText& positional : command.positionals) {
    const std::string name = positional.argument + (positional.repeatable ? "..." : "");
    text += positional.required ? " " + name : " [" + name + "]";
  }
  return text + " [options]";
}

std::string command_help(const std::string& program, const CommandText& command, bool all) {
  std::string text = "Usage: " + synopsis(program, command) + "\n";
  append_words(text, command.description + ".", 0);
  if (!command.positionals.empty()) text += "\n";
  for (const OptionText& positional : command.positionals) append_entry(text, positional);
  for (const std::string& group : option_groups(command)) {
    if (group != help_group || all) append_group(text, command, group, all);
  }
  append_examples(text, command, all);
  text += "\n";
  const std::string name = program + " " + command.names.front();
  const auto hidden = std::ranges::count_if(
      command.options, [](const OptionText& option) { return option.more && option.group != help_group; });
  if (all) append_words(text, "man masu-" + command.names.front() + " has this as a page.", 0);
  else if (hidden == 0) text.pop_back();
  else append_words(text, name + " --help-all has " + std::to_string(hidden) + " more options.", 0);
  return text;
}

std::string program_help(const CommandLine& line) {
  std::string text = "Usage: " + line.name() + " COMMAND [INPUT...] [options]\n";
  append_words(text, line.description(), 0);
  text += "\nCommands:\n";
  for (const CommandText& command : line.texts()) {
    append_entry(text, fmt::format("{}", fmt::join(command.names, ", ")), command.description);
  }
  text += "\n";
  append_words(text, line.more(), 0);
  return text;
}

}  // namespace masu::cli
