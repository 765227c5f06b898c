// SPDX-License-Identifier: Apache-2.0
// The completions of bash, zsh and fish.
#include "cli/program.h"
#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace masu::cli {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

// The lines of a case that set `words`, `files` and `folders`.
std::string settings(const Candidates& values) {
  std::string text = fmt::format("words='{}'", joined(values.words, " "));
  if (values.file) text += " files=1";
  if (values.folder) text += " folders=1";
  return text;
}

bool takes_column(const OptionText& option) {
  return option.argument.starts_with("NAME|N") || option.argument.starts_with("COLUMN");
}

std::string command_cases(const CommandText& command) {
  std::string text = fmt::format("    {})\n      case $option in\n", joined(command.names, "|"));
  for (const OptionText& option : command.options) {
    if (option.argument.empty()) continue;
    text += fmt::format("        {}) {}{}; known=1 ;;\n", joined(option.names, "|"),
                        settings(candidates(option.argument)), takes_column(option) ? " columns=1" : "");
  }
  text += "      esac\n      if [[ -z $known && $current == -* ]]; then\n        words='";
  std::vector<std::string> names;
  for (const OptionText& option : command.options) {
    for (const std::string& name : option.names) {
      if (name.starts_with("--") || option.names.size() == 1) names.push_back(name);
    }
  }
  text += joined(names, " ") + "'\n";
  if (!command.positionals.empty()) {
    text += fmt::format("      elif [[ -z $known ]]; then\n        {}\n",
                        settings(candidates(command.positionals.front().argument)));
  }
  return text + "      fi\n      ;;\n";
}

// The words are taken from the line itself: bash parts them at '=' and ':' too.
constexpr std::string_view head = R"(# bash completion of masu, made by masu --print bash
_masu() {
  local line=${COMP_LINE:0:COMP_POINT} words='' files='' folders='' columns='' known='' command='' option='' i
  local -a typed
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  local last=$((${#typed[@]} - 1))
  local current=${typed[last]} value=${typed[last]} prefix=''
  for ((i = 1; i < last; ++i)); do
    if [[ ${typed[i]} != -* ]]; then command=${typed[i]}; break; fi
  done
  if [[ $current == --*=* ]]; then
    option=${current%%=*} value=${current#*=}
    [[ $COMP_WORDBREAKS == *=* ]] || prefix=$option=
  elif ((last > 1)) && [[ ${typed[last - 1]} == -* ]]; then
    option=${typed[last - 1]}
  fi
  case $command in
)";

constexpr std::string_view tail = R"bash(  esac
  COMPREPLY=()
  local reply list=''
  # The last word of a list is completed.
  [[ -n $known && -z $files && $value == *,* ]] && list=${value%,*},
  while IFS= read -r reply; do COMPREPLY+=("$prefix$list$reply"); done < <(compgen -W "$words" -- "${value#"$list"}")
  # The names of columns are those of the first file.
  for ((i = 2; i < last; ++i)); do
    [[ -n $columns && -f ${typed[i]} ]] || continue
    while IFS= read -r reply; do
      [[ $list$reply == "$value"* ]] && COMPREPLY+=("$prefix$list$(printf %q "$reply")")
    done < <("${typed[0]}" --print columns "${typed[i]}" 2>/dev/null)
    break
  done
  if [[ -n $files ]]; then
    while IFS= read -r reply; do COMPREPLY+=("$prefix$reply"); done < <(compgen -f -- "$value")
    compopt -o filenames 2>/dev/null
  elif [[ -n $folders ]]; then
    while IFS= read -r reply; do COMPREPLY+=("$prefix$reply"); done < <(compgen -d -- "$value")
    compopt -o filenames 2>/dev/null
  fi
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]]; then compopt -o nospace 2>/dev/null; fi
  # What stands before the last ':' is a word of its own to bash.
  if [[ $value == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local before=${value%"${value##*:}"}
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$before"}; done
  fi
  return 0
}
complete -F _masu masu
)bash";

}  // namespace

std::string bash_completion(const CommandLine& line) {
  std::string text(head);
  std::vector<std::string> names;
  for (const CommandText& command : line.texts()) {
    text += command_cases(command);
    names.push_back(command.names.front());
  }
  text += fmt::format("    help) words='{}' ;;\n", joined(names, " "));
  text += fmt::format("    '') words='{} help --help --version' ;;\n", joined(names, " "));
  return text + std::string(tail);
}

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
  const std::string words = literal(joined(values.words, " "), ":");
  if (values.folder) return "_files -/";
  if (values.file && !words.empty()) return "{ compadd -S \"\" -- " + words + "; _files }";
  if (values.file) return "_files";
  return words.empty() ? " " : "(" + words + ")";
}

std::string specification(const OptionText& option) {
  const std::string argument = option.argument.empty()
                                   ? ""
                                   : ":" + literal(option.argument, ":\\") + ":" +
                                         (takes_column(option) ? "_masu_columns" : action(option.argument));
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
# The names of columns are those of the first file; the last word of a list is completed.
_masu_columns() {
  local file
  local -a names
  for file in ${(Q)words[2,-1]}; do
    [[ -f $file ]] || continue
    names=("${(@f)$(masu --print columns "$file" 2>/dev/null)}")
    break
  done
  compset -P '*,'
  compadd -S '' -- $names
}
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
  text += "      'help:Tell what everybody needs first of a command'\n";
  text += "    )\n    _describe command commands\n    ;;\n  argument)\n    case $line[1] in\n    help) _values command";
  for (const CommandText& command : commands) text += " " + command.names.front();
  text += " ;;\n";
  for (const CommandText& command : commands) {
    text += fmt::format("    {})\n      _arguments -s", joined(command.names, "|"));
    for (const OptionText& option : command.options) text += specification(option);
    for (const OptionText& positional : command.positionals) {
      text += fmt::format(" \\\n        '{}:{}:{}'", positional.repeatable ? "*" : "1",
                          literal(positional.argument, ":\\"), action(positional.argument));
    }
    text += "\n      ;;\n";
  }
  return text + "    esac\n    ;;\n  esac\n}\n_masu \"$@\"\n";
}

namespace {

std::string literal(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result + "'";
}

std::string words_argument(const Candidates& values) {
  std::string words = joined(values.words, " ");
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
    if (takes_column(option)) text += " -x -a '(__masu_columns)'";
    else text += (values.file ? " -r -F" : " -x") + words_argument(values);
  }
  return text + " -d " + literal(option.description) + "\n";
}

constexpr std::string_view fish_columns = R"(
# The names of columns are those of the first file; the last word of a list is completed.
function __masu_columns
    set -l list (commandline -ct | string replace -r '^--[a-z-]*=' '' | string match -r '.*,')
    for file in (commandline -opc)[2..-1]
        test -f "$file"; or continue
        for name in (masu --print columns $file 2>/dev/null)
            echo "$list$name"
        end
        break
    end
end
)";

}  // namespace

std::string fish_completion(const CommandLine& line) {
  std::string text =
      "# fish completion of masu, made by masu --print fish\n" + std::string(fish_columns) + "complete -c masu -f\n";
  text += "complete -c masu -n __fish_use_subcommand -l help -d 'Print a help message and exit'\n";
  text += "complete -c masu -n __fish_use_subcommand -l version -d 'Print the version and exit'\n";
  text += "complete -c masu -n __fish_use_subcommand -a help -d 'Tell what everybody needs first of a command'\n";
  for (const CommandText& command : line.texts()) {
    text += "complete -c masu -n '__fish_seen_subcommand_from help' -a " + command.names.front() + "\n";
    text += fmt::format("complete -c masu -n __fish_use_subcommand -a {} -d {}\n", command.names.front(),
                        literal(command.description));
    const std::string begin =
        "complete -c masu -n " + literal("__fish_seen_subcommand_from " + joined(command.names, " "));
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
