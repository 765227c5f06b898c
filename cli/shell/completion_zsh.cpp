// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/shell_files.h"
#include "value_names.h"

#include <fmt/format.h>

#include <string_view>

namespace masu::cli {
namespace {

// A text inside '…' of which `special` characters mean something to _arguments.
std::string literal(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') result += "'\\''";
    else if (special.find(c) != std::string_view::npos) result += std::string("\\") + c;
    else result += c;
  }
  return result;
}

std::string action(const std::string& argument) {
  const Candidates values = candidates(argument);
  std::string words;
  for (const std::string& word : values.words) words += (words.empty() ? "" : " ") + literal(word, ":");
  if (values.folder) return "_files -/";
  if (values.file && !words.empty()) return "{ compadd -S \"\" -- " + words + "; _files }";
  if (values.file) return "_files";
  return words.empty() ? " " : "(" + words + ")";
}

std::string specification(const OptionText& option) {
  const std::string argument =
      option.argument.empty() ? "" : ":" + literal(option.argument, ":\\") + ":" + action(option.argument);
  const std::string description = "[" + literal(option.description, "[]\\") + "]";
  std::string text;
  for (const std::string& name : option.names) {
    const char* const equals = option.argument.empty() ? "" : name.starts_with("--") ? "=" : "+";
    text += fmt::format(" \\\n        '{}{}{}{}{}'", option.repeatable ? "*" : "", name, equals, description, argument);
  }
  return text;
}

}  // namespace

std::string zsh_completion(const CommandLine& line) {
  const std::vector<CommandText> commands = line.texts();
  std::string text = R"(#compdef masu
# zsh completion of masu, made by masu --print zsh
_masu() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C '(- *)--help[Print a help message and exit]' '(- *)--version[Print the version and exit]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
  command)
    local -a commands
    commands=(
)";
  for (const CommandText& command : commands) {
    text += fmt::format("      '{}:{}'\n", command.names.front(), literal(command.description, ":\\"));
  }
  text += "    )\n    _describe command commands\n    ;;\n  argument)\n    case $line[1] in\n";
  for (const CommandText& command : commands) {
    std::string names;
    for (const std::string& name : command.names) names += (names.empty() ? "" : "|") + name;
    text += fmt::format("    {})\n      _arguments -s", names);
    for (const OptionText& option : command.options) text += specification(option);
    for (const OptionText& positional : command.positionals) {
      text += fmt::format(" \\\n        '{}:{}:{}'", positional.repeatable ? "*" : "1",
                          literal(positional.argument, ":\\"), action(positional.argument));
    }
    text += "\n      ;;\n";
  }
  return text + "    esac\n    ;;\n  esac\n}\n_masu \"$@\"\n";
}

}  // namespace masu::cli
