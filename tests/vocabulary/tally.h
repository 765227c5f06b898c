// SPDX-License-Identifier: Apache-2.0
// How many cases of each family went how on each device, as a table that can be pasted into docs/vocabulary.md.
#pragma once

#include <masu/device.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::vocabulary {

enum class Verdict { passed, known_fault, lacking, failed };

class Tally {
 public:
  void count(const DeviceInfo& device, std::string_view family, Verdict verdict, std::size_t cases = 1);
  // Markdown: a heading and a table for each device.
  [[nodiscard]] std::string text() const;

 private:
  struct Row {
    std::string family;
    std::size_t cases[4] = {};
  };
  std::map<std::string, std::pair<std::string, std::vector<Row>>> devices_;  // by id: heading and rows
};

// The one of this process.
Tally& tally();

}  // namespace masu::vocabulary
