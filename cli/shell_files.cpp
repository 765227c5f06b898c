// SPDX-License-Identifier: Apache-2.0
#include "shell_files.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

namespace masu::cli {
namespace {

std::string one_shell_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  const bool flag = option.get_items_expected_max() == 0;
  if (!flag) text.argument = option.get_positional() ? option.get_name(true) : option.get_type_name();
  text.description = one_shell_line(option.get_description());
  text.group = option.get_group();
  text.repeatable = option.get_items_expected_max() > 1;
  return text;
}

}  // namespace

std::vector<CommandText> command_texts(const CLI::App& root) {
  std::vector<CommandText> commands;
  for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; })) {
    CommandText command;
    command.names.push_back(app->get_name());
    command.names.insert(command.names.end(), app->get_aliases().begin(), app->get_aliases().end());
    command.description = one_shell_line(app->get_description());
    command.examples = app->get_footer();
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_group().empty()) continue;  // hidden
      auto& list = option->get_positional() ? command.positionals : command.options;
      list.push_back(option_text(*option));
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

std::optional<std::string> shell_file(const CLI::App& root, std::string_view what) {
  if (what == "man") return manual(root);
  if (what == "bash") return bash_completion(root);
  if (what == "zsh") return zsh_completion(root);
  if (what == "fish") return fish_completion(root);
  return std::nullopt;
}

}  // namespace masu::cli
