// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/shell_files.h"
#include "value_names.h"

#include <fmt/format.h>

#include <string_view>

namespace masu::cli {
namespace {

std::string literal(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result + "'";
}

std::string words_argument(const Candidates& values) {
  std::string words;
  for (const std::string& word : values.words) words += (words.empty() ? "" : " ") + word;
  if (values.folder) words += std::string(words.empty() ? "" : " ") + "(__fish_complete_directories)";
  return words.empty() ? "" : " -a " + literal(words);
}

std::string option_line(const OptionText& option, const std::string& begin) {
  std::string text = begin;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.argument.empty()) {
    const Candidates values = candidates(option.argument);
    text += (values.file ? " -r -F" : " -x") + words_argument(values);
  }
  return text + " -d " + literal(option.description) + "\n";
}

}  // namespace

std::string fish_completion(const CommandLine& line) {
  std::string text = "# fish completion of masu, made by masu --print fish\ncomplete -c masu -f\n";
  text += "complete -c masu -n __fish_use_subcommand -l help -d 'Print a help message and exit'\n";
  text += "complete -c masu -n __fish_use_subcommand -l version -d 'Print the version and exit'\n";
  for (const CommandText& command : line.texts()) {
    text += fmt::format("complete -c masu -n __fish_use_subcommand -a {} -d {}\n", command.names.front(),
                        literal(command.description));
    std::string names;
    for (const std::string& name : command.names) names += " " + name;
    const std::string begin = "complete -c masu -n " + literal("__fish_seen_subcommand_from" + names);
    for (const OptionText& option : command.options) text += option_line(option, begin);
    for (const OptionText& positional : command.positionals) {
      const Candidates values = candidates(positional.argument);
      if (values.file || !values.words.empty())
        text += begin + (values.file ? " -F" : "") + words_argument(values) + "\n";
    }
  }
  return text;
}

}  // namespace masu::cli
