// SPDX-License-Identifier: Apache-2.0
#include "suggest.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
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

}  // namespace

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

}  // namespace masu::cli
