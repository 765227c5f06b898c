// SPDX-License-Identifier: Apache-2.0
#include "suites.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace masu::bench {

std::span<const Suite> suites() {
  static const std::array<Suite, suite_names.size()> known = {
      Suite{"histogram", histogram_suite, "Counting speed as a part of the device's reading speed", "reading"},
      Suite{"weighted", weighted_suite, "Summing weights by bins as a part of the device's reading speed", "reading"},
      Suite{"sort", sort_suite, "Sorting speed as a part of the device's copying speed", "copying"},
      Suite{"unique", unique_suite, "Finding runs and distinct values as a part of the device's reading speed",
            "reading"},
      Suite{"search", search_suite, "Searching speed as a part of the device's reading speed", "reading"},
      Suite{"topk", topk_suite, "Finding the first k as a part of the device's reading speed", "reading"},
      Suite{"quantile", quantile_suite, "Finding medians as a part of the device's reading speed", "reading"},
      Suite{"transpose", transpose_suite, "Transposing as a part of the device's copying speed", "copying"},
      Suite{"convert", convert_suite, "Converting as a part of the device's copying speed", "copying"},
      Suite{"gather", gather_suite, "Moving by indices as a part of the device's copying speed", "copying"},
      Suite{"sum", sum_suite, "Adding exactly as a part of the device's reading speed", "reading"},
      Suite{"reduce", reduce_suite, "Finding extremes as a part of the device's reading speed", "reading"},
      Suite{"scan", scan_suite, "Scanning speed as a part of the device's copying speed", "copying"},
  };
  return known;
}

const Suite& suite_named(std::string_view name) {
  const auto found = std::find_if(suites().begin(), suites().end(), [&](const Suite& one) { return one.name == name; });
  if (found != suites().end()) return *found;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("bench: the suite must be one of {}, got '{}'", fmt::join(suite_names, ", "), name));
}

}  // namespace masu::bench
