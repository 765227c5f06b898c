// SPDX-License-Identifier: Apache-2.0
// The manual page and the shells' completions, made from the options that the command itself reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace masu::cli {

// An option of a subcommand as these files tell it.
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

// What a command's options are, in the order of its help.
std::vector<CommandText> command_texts(const CLI::App& root);

std::string manual(const CLI::App& root);
std::string bash_completion(const CLI::App& root);
std::string zsh_completion(const CLI::App& root);
std::string fish_completion(const CLI::App& root);

// One of "man", "bash", "zsh", "fish"; nothing for any other name.
std::optional<std::string> shell_file(const CLI::App& root, std::string_view what);

}  // namespace masu::cli
