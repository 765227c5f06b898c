// SPDX-License-Identifier: Apache-2.0
// What --check says.
#pragma once

#include "cli/check/check_faults.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace masu::cli {

// The lines of a source by their numbers, and of the files that it includes.
class SourceLines {
 public:
  // `text` is the main source, which messages call `file`.
  SourceLines(std::string file, const std::string& text);
  // The line, or what Oclgrind gave with it, or "".
  [[nodiscard]] std::string line(const Place& place) const;
  // The path of a file. Oclgrind's is relative to the working directory, or to a directory above it.
  [[nodiscard]] std::string path(const std::string& file) const;

 private:
  std::string file_;
  std::vector<std::string> lines_;  // by number; #line counts
  bool known_;
};

// For people: each fault with its place, its source text and who did it.
std::string check_text(const std::vector<Fault>& faults, const SourceLines& source);

nlohmann::ordered_json check_json(const std::vector<Fault>& faults, const SourceLines& source);

}  // namespace masu::cli
