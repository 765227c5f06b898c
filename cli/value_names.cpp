// SPDX-License-Identifier: Apache-2.0
#include "value_names.h"

#include "cli/arrays/reduce_job.h"

#include <masu/convert.h>
#include <masu/histogram.h>
#include <masu/quantile.h>
#include <masu/sort.h>
#include <algorithm>

namespace masu::cli {
namespace {

// The names of an enumeration's values from the first to `last`.
template <class Enumeration>
std::vector<std::string> names_to(Enumeration last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(to_string(static_cast<Enumeration>(i)));
  return names;
}

bool literal(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

const std::vector<ValueName>& value_names() {
  static const std::vector<ValueName> table = {
      {"DTYPE", ValueKind::words, names_to(Dtype::f64)},
      {"RULE", ValueKind::words, names_to(Estimator::sqrt)},
      {"ALGORITHM", ValueKind::words, names_to(SortAlgorithm::merge)},
      {"METHOD", ValueKind::words, names_to(QuantileMethod::nearest)},
      {"FLOAT", ValueKind::words, {"f64", "f32", "f16"}},
      {"OP", ValueKind::words, reduce_op_names()},
      {"ROUNDING", ValueKind::words, names_to(Rounding::down)},
      {"STRATEGY", ValueKind::words, names_to(Strategy::partitioned)},
      {"ID", ValueKind::words, {"auto", "cpu", "opencl", "opencl:0", "cuda", "cuda:0"}},
      {"FILE", ValueKind::file, {}},
      {"@FILE", ValueKind::other, {}},
      {"INPUT", ValueKind::file, {"random:", "iota:", "zeros:"}},
      {"DIR", ValueKind::folder, {}},
  };
  return table;
}

std::string words_of(std::string_view name) {
  const auto& table = value_names();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const ValueName& entry) { return entry.name == name; });
  std::string text;
  for (std::size_t i = 0; found != table.end() && i < found->words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == found->words.size() ? " or " : ", ") + found->words[i];
  }
  return text;
}

Candidates candidates(const std::string& type_name) {
  Candidates result;
  for (std::size_t begin = 0; begin <= type_name.size();) {
    const std::size_t end = std::min(type_name.find('|', begin), type_name.size());
    const std::string part = type_name.substr(begin, end - begin);
    begin = end + 1;
    if (literal(part)) result.words.push_back(part);
    for (const ValueName& entry : value_names()) {
      if (entry.name != part) continue;
      result.words.insert(result.words.end(), entry.words.begin(), entry.words.end());
      result.file = result.file || entry.kind == ValueKind::file;
      result.folder = result.folder || entry.kind == ValueKind::folder;
    }
  }
  return result;
}

}  // namespace masu::cli
