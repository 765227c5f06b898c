// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/shell_files.h"
#include "value_names.h"

#include <fmt/format.h>

#include <string_view>

namespace masu::cli {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

// The lines of a case that set `words`, `files` and `folders`.
std::string settings(const Candidates& values) {
  std::string text = fmt::format("words='{}'", joined(values.words, " "));
  if (values.file) text += " files=1";
  if (values.folder) text += " folders=1";
  return text;
}

std::string command_cases(const CommandText& command) {
  std::string text = fmt::format("    {})\n      case $option in\n", joined(command.names, "|"));
  for (const OptionText& option : command.options) {
    if (option.argument.empty()) continue;
    text +=
        fmt::format("        {}) {}; known=1 ;;\n", joined(option.names, "|"), settings(candidates(option.argument)));
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
  local line=${COMP_LINE:0:COMP_POINT} words='' files='' folders='' known='' command='' option='' i
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

constexpr std::string_view tail = R"(  esac
  COMPREPLY=()
  local reply
  while IFS= read -r reply; do COMPREPLY+=("$prefix$reply"); done < <(compgen -W "$words" -- "$value")
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
)";

}  // namespace

std::string bash_completion(const CommandLine& line) {
  std::string text(head);
  std::vector<std::string> names;
  for (const CommandText& command : line.texts()) {
    text += command_cases(command);
    names.push_back(command.names.front());
  }
  text += fmt::format("    '') words='{} --help --version' ;;\n", joined(names, " "));
  return text + std::string(tail);
}

}  // namespace masu::cli
