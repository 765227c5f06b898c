// SPDX-License-Identifier: Apache-2.0
#include "suggest.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

namespace masu::cli {
namespace {

// How many letters must be inserted, removed or replaced to turn one word into the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = word.size() / 3 + 2;  // farther than that is no likely slip
  for (const std::string& name : known) {
    if (const std::size_t d = distance(word, name); d < least) {
      least = d;
      best = name;
    }
  }
  return best.empty() ? "" : "; did you mean " + best + "?";
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
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

}  // namespace

std::string usage_message(const CLI::ParseError& error, const CLI::App& app) {
  const std::vector<std::string> remaining = app.remaining(true);
  const bool root = app.get_parent() == nullptr;
  if (root && (remaining.empty() || remaining.front().starts_with('-')) && error.get_name() == "RequiredError") {
    if (remaining.empty()) return "a command is required; masu --help lists them";
  }
  if (remaining.empty()) {
    const std::string text = error.what();
    return text == "INPUT is required" ? "an INPUT is required; masu " + app.get_name() + " --help tells more" : text;
  }
  const std::string& first = remaining.front();
  if (first.starts_with('-')) {
    const std::string name = first.substr(0, first.find('='));
    return "unknown option " + name + nearest(name, option_names(app));
  }
  if (root) return "unknown command " + first + nearest(first, command_names(app));
  return "unexpected argument " + first;
}

}  // namespace masu::cli
