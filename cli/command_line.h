// SPDX-License-Identifier: Apache-2.0
// The command line, as main() and the subcommands see it. CLI11's header, which compiles for seconds, is read by
// command_line.cpp alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace masu::cli {

// An option that was added.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  // What its value is called in the help.
  const Option& type_name(const std::string& name) const;
  // Its heading in the help; "" hides it.
  const Option& group(const std::string& name) const;
  const Option& required() const;
  // Several values in one argument, with this between them.
  const Option& delimiter(char between) const;
  // Of an option that may be repeated: one value each time.
  const Option& one_value() const;
  const Option& range(unsigned least, unsigned most) const;

 private:
  CLI::Option* option_;
};

// A subcommand. What is added to it is written to the value when the command line is read.
class Subcommand {
 public:
  explicit Subcommand(CLI::App& app) : app_(&app) {}
  Option add_option(const std::string& names, std::string& value, const std::string& description = "") const;
  Option add_option(const std::string& names, std::vector<std::string>& values, const std::string& description) const;
  Option add_option(const std::string& names, unsigned& value, const std::string& description) const;
  Option add_option(const std::string& names, std::vector<unsigned>& values, const std::string& description) const;
  Option add_flag(const std::string& names, bool& value, const std::string& description) const;
  void footer(const std::string& text) const;
  [[nodiscard]] std::string name() const;

 private:
  CLI::App* app_;
};

// An option and a subcommand as the manual page and the shells' completions tell them.
struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; empty for a positional argument
  std::string argument;            // "FILE"; empty for a flag
  std::string description;         // in one line
  std::string group;
  bool repeatable = false;
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
  CommandLine(const std::string& name, std::string description, std::string version, const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Subcommand add(const std::string& name, const std::string& description, const std::string& alias = "");

  struct Parsed {
    enum class What { run, print, wrong_use };
    What what;
    std::string command;  // the subcommand's name; empty where none was named
    std::string text;     // to print, or what is wrong, in one line; of a command to run what was given
  };
  Parsed parse(int argc, char** argv);

  [[nodiscard]] const std::string& description() const { return description_; }
  // In the order of the help.
  [[nodiscard]] std::vector<CommandText> texts() const;

 private:
  std::string description_;
  std::string version_;
  std::unique_ptr<CLI::App> app_;
};

// The manual page and the shells' completions, made from the options that the command itself reads (shell/).
std::string manual(const CommandLine& line);
std::string bash_completion(const CommandLine& line);
std::string zsh_completion(const CommandLine& line);
std::string fish_completion(const CommandLine& line);

}  // namespace masu::cli
