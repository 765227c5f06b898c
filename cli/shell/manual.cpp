// SPDX-License-Identifier: Apache-2.0
// The manual page, in the man macros of roff.
#include "cli/command_line.h"

#include <fmt/format.h>
#include <masu/version.h>
#include <algorithm>
#include <utility>

namespace masu::cli {
namespace {

// A text as roff shows it literally, also at the beginning of a line.
std::string roff(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') result += "\\e";
    else if (c == '-') result += "\\-";
    else if (c == '\'') result += "\\(aq";
    else if (c == '^') result += "\\(ha";
    else if (c == '~') result += "\\(ti";
    else if (c == '`') result += "\\(ga";
    else if (text.substr(i).starts_with("…")) {
      result += "...";
      i += std::string_view("…").size() - 1;
    } else {
      result += c;
    }
  }
  return result;
}

std::string entry(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "\\fB" : "\\fR, \\fB") + roff(name);
  std::string head = names;
  if (names.empty()) head = "\\fI" + roff(option.argument) + "\\fR";
  else head += option.argument.empty() ? "\\fR" : "\\fR \\fI" + roff(option.argument) + "\\fR";
  return ".TP\n" + head + "\n" + roff(option.description) +
         (option.repeatable && !option.names.empty() ? " (repeatable)" : "") + "\n";
}

std::string synopsis(const CommandText& command) {
  std::string text = "masu " + command.names.front();
  for (const OptionText& positional : command.positionals) {
    text += " " + positional.argument + (positional.repeatable ? "..." : "");
  }
  return text + " [options]";
}

std::string section(const CommandText& command) {
  std::string text = ".SS " + roff(synopsis(command)) + "\n" + roff(command.description) + ".\n";
  for (std::size_t i = 1; i < command.names.size(); ++i) {
    text += "\\fB" + roff(command.names[i]) + "\\fR is another name for it.\n";
  }
  for (const OptionText& positional : command.positionals) text += entry(positional);
  std::vector<std::string> groups;
  for (const OptionText& option : command.options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  // --help brings its own group first; what it has in common with other commands comes last.
  std::rotate(groups.begin(), groups.begin() + 1, groups.end());
  for (const std::string& group : groups) {
    text += ".PP\n\\fI" + roff(group) + ":\\fR\n";
    for (const OptionText& option : command.options) {
      if (option.group == group) text += entry(option);
    }
  }
  return text;
}

using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

std::string list(std::string_view title, const Pairs& pairs) {
  std::string text = fmt::format(".SH {}\n", title);
  for (const auto& [name, meaning] : pairs) text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(name), roff(meaning));
  return text;
}

// The lines below "Examples:".
std::string example_lines(const CommandText& command) {
  std::string text;
  std::size_t begin = command.examples.find('\n');
  while (begin != std::string::npos && begin + 1 < command.examples.size()) {
    const std::size_t end = std::min(command.examples.find('\n', begin + 1), command.examples.size());
    std::string_view line = std::string_view(command.examples).substr(begin + 1, end - begin - 1);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    text += roff(line) + "\n";
    begin = end;
  }
  return text;
}

}  // namespace

std::string manual(const CommandLine& line) {
  const std::vector<CommandText> commands = line.texts();
  std::string text = "'\\\" t\n.\\\" Made by masu --print man.\n";
  text += fmt::format(".TH MASU 1 \"\" \"masu {}\" \"User Commands\"\n", masu::version());
  text += ".SH NAME\nmasu \\- " + roff("count, order and sum data, with the same bits on every processor") + "\n";
  text += ".SH SYNOPSIS\n.B masu\n\\fICOMMAND\\fR [\\fIINPUT\\fR...] [\\fIoptions\\fR]\n";
  text += ".SH DESCRIPTION\n" + roff(line.description()) +
          "\nResults go to standard output, or whole or not at all to a file; everything else goes to standard error.\n"
          "Numbers take the suffixes Ki Mi Gi Ti (powers of 1024) and k M G T (powers of 1000).\n";
  text += ".SH COMMANDS\n";
  for (const CommandText& command : commands) text += section(command);
  text += list("EXIT STATUS", {{"0", "Done; also when the reader of a pipe went away."},
                               {"1", "Failed: a file, its data, an absent device, memory."},
                               {"2", "Wrong usage: options, values, unknown names."},
                               {"3", "Checked and found otherwise (--verify, sort --is-sorted, selftest)."},
                               {"130", "Interrupted; no partial file is left."}});
  text += list("ENVIRONMENT", {{"MASU_DEVICE", "The device where --device is not given."},
                               {"MASU_THREADS", "The number of threads on the CPU where --threads is not given."},
                               {"TMPDIR", "Where temporary files are made, where --tmpdir is not given."},
                               {"COLUMNS", "How wide a chart is that does not go to a terminal."}});
  text += ".SH EXAMPLES\n.nf\n";
  for (const CommandText& command : commands) text += example_lines(command);
  return text + ".fi\n";
}

}  // namespace masu::cli
