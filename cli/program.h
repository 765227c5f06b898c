// SPDX-License-Identifier: Apache-2.0
// Programs of subcommands: their command lines, and how they end. CLI11's header, which compiles for seconds, is read
// by command_line.cpp alone.
#pragma once

#include <masu/error.h>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace masu::bench {
struct Options;
}

namespace masu::cli {

// The exit status of the command.
enum class Exit : int {
  done = 0,
  failed = 1,         // a file, its data, an absent device, memory
  usage = 2,          // options, values, unknown names
  differs = 3,        // checked and found otherwise
  interrupted = 130,  // by SIGINT
};

// How it ended, with what is said of it in one line; nothing where all is well. Of line ends and the like, those in
// `kept` are printed as they are.
struct Ending {
  Exit status = Exit::done;
  std::string message;
  std::string kept;
};

// Wrong use of the command: exit status 2.
[[noreturn]] inline void usage_error(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

// Runs `work`, whose options were checked before: what it calls an invalid argument is the fault of the data `name`.
template <class Work>
auto with_data(const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    throw Error(ErrorCode::io, name + ": " + error.what());
  }
}

// --verify found another result: exit status 3.
struct Differs : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An option that was added.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  const Option& required() const;
  // Several values in one argument, with this between them.
  const Option& delimiter(char between) const;
  // The option may be repeated, with one value each time.
  const Option& one_value() const;
  const Option& range(unsigned least, unsigned most) const;

 private:
  CLI::Option* option_;
};

// A subcommand. What is added to it is written to the value when the command line is read.
class Subcommand {
 public:
  explicit Subcommand(CLI::App& app, std::string group = "Options") : app_(&app), group_(std::move(group)) {}
  // The same, whose options have that heading in the help; "" hides them.
  [[nodiscard]] Subcommand group(const std::string& name) const { return Subcommand(*app_, name); }
  // The same, whose options are left to --help-all: --help has what everybody needs first.
  [[nodiscard]] Subcommand more() const { return Subcommand(*app_, group_ + more_mark); }
  // `type`: what the value is called in the help.
  template <class Value>
  Option add_option(const std::string& names, Value& value, const std::string& type,
                    const std::string& description) const;
  void add_flag(const std::string& names, bool& value, const std::string& description) const;
  void footer(const std::string& text) const;

 private:
  friend class CommandLine;
  static constexpr char more_mark = '+';  // at the end of a heading

  CLI::App* app_;
  std::string group_;
};

// An option and a subcommand as the manual page and the shells' completions tell them.
struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; empty for a positional argument
  std::string argument;            // "FILE"; empty for a flag
  std::string description;         // in one line
  std::string group;
  bool more = false;  // for --help-all
  bool repeatable = false;
  bool required = false;
};
struct CommandText {
  std::vector<std::string> names;  // with its aliases
  std::string description;
  std::string examples;
  std::vector<OptionText> options;
  std::vector<OptionText> positionals;
};

class CommandLine {
 public:
  // `more`: what follows the list of commands.
  CommandLine(std::string name, std::string description, std::string version, std::string more);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // `run`: what the subcommand does when it was chosen.
  Subcommand add(const std::string& name, const std::string& description, std::function<Exit()> run,
                 const std::string& alias = "");

  struct Parsed {
    enum class What { run, print, wrong_use };
    What what;
    std::string command;       // the subcommand's name; empty where none was named
    std::string text;          // to print, or what is wrong, in one line; of a command to run what was given
    Exit status = Exit::done;  // after printing
  };
  Parsed parse(int argc, char** argv);
  [[nodiscard]] Exit run(const Parsed& parsed) const { return runs_.at(parsed.command)(); }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] const std::string& more() const { return more_; }
  // In the order of the help.
  [[nodiscard]] std::vector<CommandText> texts() const;

 private:
  // The arguments without the program's name; throws what CLI11 does.
  void parse_arguments(const std::vector<std::string>& arguments);
  [[nodiscard]] const CLI::App& chosen() const;

  std::string name_;
  std::string description_;
  std::string version_;
  std::string more_;
  std::unique_ptr<CLI::App> app_;
  std::map<std::string, std::function<Exit()>> runs_;  // by name
};

// The help, made from the options that the command itself reads (help.cpp).
inline constexpr const char* help_group = "Help";  // the heading of --help and --version
std::string program_help(const CommandLine& line);
std::string command_help(const std::string& program, const CommandText& command, bool all);
// "masu sort INPUT... [options]".
std::string synopsis(const std::string& program, const CommandText& command);
// The headings of the options, in the order of the help.
std::vector<std::string> option_groups(const CommandText& command);
// What stands below "Examples:", a command a line.
std::vector<std::string> example_lines(const CommandText& command);

// The manual pages and the shells' completions, made from the same options (shell/).
std::string manual(const CommandLine& line);
std::string manual(const CommandLine& line, const CommandText& command);
std::string bash_completion(const CommandLine& line);
std::string zsh_completion(const CommandLine& line);
std::string fish_completion(const CommandLine& line);

// These add a subcommand; the one for single reductions adds sum, mean, min, max, median and count.
void add_bench(CommandLine& line);
void add_cache(CommandLine& line);
void add_convert(CommandLine& line);
void add_devices(CommandLine& line);
void add_formats(CommandLine& line);
void add_dot(CommandLine& line);
void add_histogram(CommandLine& line);
void add_quantile(CommandLine& line);
void add_reduce(CommandLine& line);
void add_run(CommandLine& line);
void add_scan(CommandLine& line);
void add_selftest(CommandLine& line);
void add_single_reductions(CommandLine& line);
void add_sort(CommandLine& line);
void add_topk(CommandLine& line);
void add_transpose(CommandLine& line);
void add_unique(CommandLine& line);

// What `masu bench` does: it runs the program masu-bench, which lies beside this one and has another run_bench(), one
// that measures (bench/command.cpp).
Exit run_bench(const bench::Options& options);

// A program of subcommands: finds the one that was asked for, runs it, and turns what went wrong into one line and an
// exit status.
struct CommandProgram {
  std::string name;
  std::string description;
  std::span<void (*const)(CommandLine& line)> commands;
  std::string more;                   // after the help
  const char* interrupted = nullptr;  // a line that says that a signal has ended it
};

int run_program(const CommandProgram& program, int argc, char** argv);

inline constexpr const char* exit_statuses =
    "Exit status: 0 done, 1 failed, 2 wrong usage, 3 checked and found otherwise, 130 interrupted.";

// This process's program and arguments, the program's name first. Both throw io where /proc does not tell.
std::string own_program();
std::vector<std::string> command_line();

}  // namespace masu::cli
