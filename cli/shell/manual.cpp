// SPDX-License-Identifier: Apache-2.0
// The manual pages, in the man macros of roff: one of the program, and one of each command.
#include "cli/program.h"

#include <masu/version.h>

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>
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

// Where a text ends without a full stop, one.
std::string sentence(const std::string& text) {
  return roff(text) + (text.ends_with('.') ? "\n" : ".\n");
}

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array<Pair, 5> statuses{{{"0", "Done; also when the reader of a pipe went away."},
                                        {"1", "Failed: a file, its data, an absent device, memory."},
                                        {"2", "Wrong usage: options, values, unknown names."},
                                        {"3", "Checked and found otherwise (--verify, sort --is-sorted, selftest)."},
                                        {"130", "Interrupted; no partial file is left."}}};
constexpr std::array<Pair, 6> variables{
    {{"MASU_DEVICE", "The device where --device is not given."},
     {"MASU_THREADS", "The number of threads on the CPU where --threads is not given."},
     {"MASU_CACHE", "off: no compiled kernels are kept on disk."},
     {"XDG_CACHE_HOME", "Where they are kept, in the folder masu."},
     {"TMPDIR", "Where temporary files are made, where --tmpdir is not given."},
     {"COLUMNS", "How wide a chart is that does not go to a terminal."}}};
constexpr std::array<Pair, 2> files{{{"~/.cache/masu", "Compiled kernels; may be deleted."},
                                     {"lib/masu/kernels", "Kernels of GPUs that came compiled, beside the library."}}};

std::string list(std::string_view title, std::span<const Pair> pairs) {
  std::string text = fmt::format(".SH {}\n", title);
  for (const auto& [name, meaning] : pairs) text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(name), roff(meaning));
  return text;
}

std::string title(const std::string& page, std::string_view description) {
  std::string capitals = page;
  for (char& c : capitals) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return fmt::format(
      ".\\\" Made by masu --print man.\n.TH {} 1 \"\" \"masu {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
      roff(capitals), masu::version(), roff(page), roff(description));
}

std::string see_also(const CommandLine& line, const std::string& but) {
  std::string text = ".SH SEE ALSO\n";
  if (!but.empty()) text += ".BR masu (1),\n";
  for (const CommandText& command : line.texts()) {
    if (command.names.front() != but) text += ".BR masu\\-" + command.names.front() + " (1),\n";
  }
  return text + ".BR masu\\-mpi (1)\n";
}

}  // namespace

std::string manual(const CommandLine& line, const CommandText& command) {
  const std::string& name = command.names.front();
  std::string text = title(line.name() + "-" + name, command.description);
  text += ".SH SYNOPSIS\n" + roff(synopsis(line.name(), command)) + "\n";
  text += ".SH DESCRIPTION\n" + sentence(command.description);
  for (std::size_t i = 1; i < command.names.size(); ++i) {
    text += "\\fB" + roff(command.names[i]) + "\\fR is another name for it.\n";
  }
  for (const OptionText& positional : command.positionals) text += entry(positional);
  text += ".SH OPTIONS\n";
  for (const std::string& group : option_groups(command)) {
    text += ".SS " + roff(group) + "\n";
    for (const OptionText& option : command.options) {
      if (option.group == group) text += entry(option);
    }
  }
  text += list("EXIT STATUS", statuses) + list("ENVIRONMENT", variables) + list("FILES", files);
  text += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : example_lines(command)) text += roff(example) + "\n";
  return text + ".fi\n" + see_also(line, name);
}

std::string manual(const CommandLine& line) {
  std::string text = title(line.name(), "count, order and sum data, with the same bits on every processor");
  text += ".SH SYNOPSIS\n.B masu\n\\fICOMMAND\\fR [\\fIINPUT\\fR...] [\\fIoptions\\fR]\n.br\n";
  text += ".B masu help\n[\\fICOMMAND\\fR]\n.br\n.B masu \\-\\-version\n";
  text += ".SH DESCRIPTION\n" + roff(line.description()) +
          "\nResults go to standard output, or whole or not at all to a file; everything else goes to standard error.\n"
          "Numbers take the suffixes Ki Mi Gi Ti (powers of 1024) and k M G T (powers of 1000).\n"
          "Without arguments \\fBmasu\\fR lists its commands, with the exit status 1.\n";
  text += ".SH COMMANDS\n";
  for (const CommandText& command : line.texts()) {
    text += ".TP\n.BR masu\\-" + command.names.front() + " (1)\n" + sentence(command.description);
  }
  text += list("EXIT STATUS", statuses) + list("ENVIRONMENT", variables) + list("FILES", files);
  text += ".SH EXAMPLES\n.nf\n";
  for (const CommandText& command : line.texts()) {
    const std::vector<std::string> examples = example_lines(command);
    if (!examples.empty()) text += roff(examples.front()) + "\n";
  }
  return text + ".fi\n" + see_also(line, "");
}

}  // namespace masu::cli
