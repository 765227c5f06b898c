// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

namespace masu::cli {
namespace {

// How many letters must be inserted, removed, replaced or exchanged with the next to turn one word into the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> next(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = std::exchange(row, std::move(next));
  }
  return row.back();
}

// "; did you mean NAME?" with the known name nearest to the word; nothing where none is near. A third of the letters
// may be wrong, or missing at the end.
std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view dashes = word.substr(0, std::min(word.find_first_not_of('-'), word.size()));
  const std::size_t letters = word.size() - dashes.size();
  std::string best;
  std::size_t least = std::max<std::size_t>(letters / 3, 1) + 1;
  for (const std::string& name : known) {
    const bool begins = letters >= 3 && name.starts_with(word);
    if (const std::size_t d = begins ? 1 : distance(word, name); d < least && d < letters) {
      least = d;
      best = name;
    }
  }
  return best.empty() ? "" : "; did you mean " + best + "?";
}

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : subcommands(app)) names.push_back(command->get_name());
  return names;
}

bool lacks_input(const CLI::ParseError& error) {
  return error.what() == std::string_view("INPUT is required");
}

// A value that is missing or one too many, in words of ours.
std::string mismatch(const CLI::ParseError& error, const CLI::App& app) {
  std::string text = error.what();
  const std::string name = text.substr(0, text.find(':'));
  const auto options = app.get_options();
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const CLI::Option* option) { return option->get_name() == name; });
  if (found == options.end()) return text;
  if ((*found)->count() > 1) return name + " is given twice";
  return name + " needs a value: " + (*found)->get_type_name();
}

// What to say about arguments that were refused, with the nearest known name where one is near.
std::string usage_message(const CLI::ParseError& error, const CLI::App& app) {
  const std::vector<std::string> remaining = app.remaining(true);
  if (remaining.empty()) {
    if (error.get_name() == "ArgumentMismatch") return mismatch(error, app);
    if (!lacks_input(error)) return error.what();
    return "an INPUT is required; " + app.get_parent()->get_name() + " " + app.get_name() + " --help says more";
  }
  const std::string& first = remaining.front();
  if (!first.starts_with('-')) return "unexpected argument " + first;
  const std::string name = first.substr(0, first.find('='));
  return "unknown option " + name + nearest(name, option_names(app));
}

// An empty text means "none" to these; elsewhere it is a shell variable that was never set.
bool may_be_empty(const CLI::Option& option) {
  return option.check_lname("comment") || option.check_lname("device") || option.check_lname("options");
}

// What may be another on each of the ranks that run a command together.
bool is_of_the_process(const CLI::Option& option) {
  return option.check_lname("device") || option.check_lname("threads") || option.check_lname("memory") ||
         option.check_lname("tmpdir");
}

// The command with its options in the order of the help, whatever the order and the names in which they were given.
std::string given_text(const CLI::App& app) {
  std::string text = app.get_name();
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || is_of_the_process(*option)) continue;
    if (!option->get_positional()) text += " " + option->get_name();
    if (option->get_items_expected_max() == 0) continue;  // a flag
    for (const std::string& value : option->results()) text += " " + value;
  }
  return text;
}

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  const bool flag = option.get_items_expected_max() == 0;
  if (!flag) text.argument = option.get_positional() ? option.get_name(true) : option.get_type_name();
  text.description = in_one_line(option.get_description());
  text.group = option.get_group();
  text.required = option.get_required();
  text.repeatable = option.get_items_expected_max() > 1;
  return text;
}

}  // namespace

const Option& Option::required() const {
  option_->required();
  return *this;
}
const Option& Option::delimiter(char between) const {
  option_->delimiter(between);
  return *this;
}
const Option& Option::one_value() const {
  option_->allow_extra_args(false);
  return *this;
}
const Option& Option::range(unsigned least, unsigned most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}

template <class Value>
Option Subcommand::add_option(const std::string& names, Value& value, const std::string& type,
                              const std::string& description) const {
  return Option(app_->add_option(names, value, description)->type_name(type)->group(group_));
}
template Option Subcommand::add_option(const std::string&, std::string&, const std::string&, const std::string&) const;
template Option Subcommand::add_option(const std::string&, std::optional<std::string>&, const std::string&,
                                       const std::string&) const;
template Option Subcommand::add_option(const std::string&, std::vector<std::string>&, const std::string&,
                                       const std::string&) const;
template Option Subcommand::add_option(const std::string&, unsigned&, const std::string&, const std::string&) const;
template Option Subcommand::add_option(const std::string&, std::vector<unsigned>&, const std::string&,
                                       const std::string&) const;
void Subcommand::add_flag(const std::string& names, bool& value, const std::string& description) const {
  app_->add_flag(names, value, description)->group(group_);
}
void Subcommand::footer(const std::string& text) const {
  app_->footer(text);
}

CommandLine::CommandLine(std::string name, std::string description, std::string version, std::string more)
    : name_(std::move(name)),
      description_(std::move(description)),
      version_(std::move(version)),
      more_(std::move(more)),
      app_(std::make_unique<CLI::App>(description_, name_)) {
  app_->set_help_flag("-h,--help", "What everybody needs first, and exit");
  app_->set_help_all_flag("--help-all", "All of the options, and exit");
  app_->set_version_flag("-V,--version", version_, "The version, and exit");
  app_->require_subcommand(1);
}
CommandLine::~CommandLine() = default;

Subcommand CommandLine::add(const std::string& name, const std::string& description, std::function<Exit()> run,
                            const std::string& alias) {
  CLI::App* app = app_->add_subcommand(name, description);
  if (!alias.empty()) app->alias(alias);
  app->set_version_flag("--version", version_, "The version, and exit");
  for (CLI::Option* option : app->get_options()) option->group(std::string(help_group) + Subcommand::more_mark);
  runs_[name] = std::move(run);
  return Subcommand(*app);
}

const CLI::App& CommandLine::chosen() const {
  const auto list = subcommands(*app_);
  const auto found = std::find_if(list.begin(), list.end(), [](const CLI::App* app) { return app->parsed(); });
  return found == list.end() ? *app_ : **found;
}

void CommandLine::parse_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
  try {
    app_->parse(reversed);
  } catch (const CLI::RequiredError& error) {
    // Launchers give ranks a pipe where they have a terminal.
    if (!lacks_input(error) || name_ == "masu-mpi" || ::isatty(STDIN_FILENO) != 0) throw;
    reversed.assign(arguments.rbegin(), arguments.rend());
    reversed.insert(reversed.end() - 1, "-");
    app_->parse(reversed);
  }
}

CommandLine::Parsed CommandLine::parse(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (arguments.empty()) return {Parsed::What::print, "", program_help(*this), Exit::failed};
  if (arguments.front() == "help") {
    if (arguments.size() > 2) return {Parsed::What::wrong_use, "", "help takes one COMMAND"};
    arguments.erase(arguments.begin());
    // What the machine reads is what is asked about it.
    if (arguments != std::vector<std::string>{"formats"}) arguments.emplace_back("--help");
  }
  if (arguments.size() == 1 && (arguments.front() == "version" || arguments.front() == "-v")) {
    return {Parsed::What::print, "", version_ + "\n"};
  }
  const std::string& first = arguments.front();
  const auto list = subcommands(*app_);
  const bool known = std::any_of(list.begin(), list.end(), [&](const CLI::App* app) { return app->check_name(first); });
  if (!known && !first.starts_with('-')) {
    return {Parsed::What::wrong_use, "", "unknown command " + first + nearest(first, command_names(*app_))};
  }
  const auto help = [&](bool all) {
    const std::vector<CommandText> commands = texts();
    const auto found = std::find_if(commands.begin(), commands.end(), [&](const CommandText& command) {
      return command.names.front() == chosen().get_name();
    });
    return found == commands.end() ? program_help(*this) : command_help(name_, *found, all);
  };
  try {
    parse_arguments(arguments);
  } catch (const CLI::CallForHelp&) {
    return {Parsed::What::print, "", help(false)};
  } catch (const CLI::CallForAllHelp&) {
    return {Parsed::What::print, "", help(true)};
  } catch (const CLI::CallForVersion&) {
    return {Parsed::What::print, "", version_ + "\n"};
  } catch (const CLI::ParseError& error) {
    const CLI::App& app = chosen();
    const std::string text = in_one_line(usage_message(error, app));
    return {Parsed::What::wrong_use, &app == app_.get() ? "" : app.get_name(), text};
  }
  const std::string name = chosen().get_name();
  for (const CLI::Option* option : chosen().get_options()) {
    const auto& values = option->results();
    if (may_be_empty(*option) || std::find(values.begin(), values.end(), "") == values.end()) continue;
    return {Parsed::What::wrong_use, name, option->get_name() + " got an empty value"};
  }
  return {Parsed::What::run, name, given_text(chosen())};
}

std::vector<CommandText> CommandLine::texts() const {
  std::vector<CommandText> commands;
  for (const CLI::App* app : subcommands(*app_)) {
    CommandText command;
    command.names.push_back(app->get_name());
    command.names.insert(command.names.end(), app->get_aliases().begin(), app->get_aliases().end());
    command.description = in_one_line(app->get_description());
    command.examples = app->get_footer();
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_group().empty()) continue;  // hidden
      auto& list = option->get_positional() ? command.positionals : command.options;
      OptionText& text = list.emplace_back(option_text(*option));
      text.more = text.group.ends_with(Subcommand::more_mark);
      if (text.more) text.group.pop_back();
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace masu::cli
