// SPDX-License-Identifier: Apache-2.0
// What a benchmark is to measure, as options tell it. The command reads these options too, so this includes little.
#pragma once

#include "cli/program.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::bench {

using Names = std::vector<std::string_view>;

inline constexpr std::array<std::string_view, 13> suite_names = {
    "histogram", "weighted", "sort",   "unique", "search", "topk", "quantile",
    "transpose", "convert",  "gather", "sum",    "reduce", "scan"};

// What was asked for; what is empty (or 0) is chosen by the suite.
struct Selection {
  std::vector<std::string> size_texts;
  std::vector<std::string> count_texts;
  std::vector<std::string> cases;
  std::vector<std::string> distributions;
  std::vector<unsigned> threads;
  unsigned repeats = 0;
  bool quick = false;  // small inputs, each measured once: to see that it works

  // The sizes in bytes; `otherwise` when none was named, 64Ki when it shall be quick. Throws invalid_argument.
  [[nodiscard]] std::vector<std::uint64_t> sizes(std::string_view otherwise) const;
  // The elements of `element_bytes` bytes each: --count, or as many as --size holds; `otherwise` when nothing was
  // named, 4Ki when it shall be quick. Throws invalid_argument.
  [[nodiscard]] std::vector<std::uint64_t> counts(std::size_t element_bytes,
                                                  std::span<const std::string_view> otherwise) const;
  [[nodiscard]] std::vector<unsigned> threads_or_default() const;
  [[nodiscard]] unsigned repeats_or(unsigned otherwise) const;
  // The names that are wanted, in the order of `known`; all of them for "all", `usual` for nothing. Throws
  // invalid_argument for one that is not known.
  static Names chosen(std::string_view option, const std::vector<std::string>& wanted,
                      std::span<const std::string_view> known, std::span<const std::string_view> usual);
  static Names chosen(std::string_view option, const std::vector<std::string>& wanted,
                      std::span<const std::string_view> known) {
    return chosen(option, wanted, known, known);
  }

  // Of a suite's cases (with a `name`, and whether they are `usual`) those that are named, all for "all", the usual
  // ones for nothing.
  template <class Case>
  [[nodiscard]] std::vector<Case> chosen_cases(std::span<const Case> known) const {
    Names names;
    Names usual;
    for (const Case& one : known) {
      names.push_back(one.name);
      if (one.usual) usual.push_back(one.name);
    }
    const Names wanted = chosen("--case", cases, names, usual);
    std::vector<Case> result;
    for (const Case& one : known) {
      for (const std::string_view name : wanted) {
        if (one.name == name) result.push_back(one);
      }
    }
    return result;
  }
};

// Its options.
void add_selection(const cli::Subcommand& app, Selection& selection);

// The options of `masu bench`.
struct Options {
  std::string suite;
  std::string table;  // whose constants are fitted, where the suite is "tune"
  std::vector<std::string> devices;
  std::vector<std::string> strategies;
  std::vector<std::string> kinds;
  bool ladder = false;
  Selection selection;
  std::string output = "-";
  std::string chart;
  bool json = false;
};

}  // namespace masu::bench
