// SPDX-License-Identifier: Apache-2.0
// What the child under Oclgrind tells its parent: a small file of JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

struct CheckFacts {
  struct Argument {
    std::string name;
    bool buffer = false;
    std::uint64_t address = 0;  // where Oclgrind has put the buffer
    std::uint64_t bytes = 0;
  };
  std::string kernel;
  std::string source;
  std::string build_log;
  std::uint64_t work_items = 0;
  std::vector<Argument> arguments;
};

// None where the child ended before it had told.
std::optional<CheckFacts> parse_facts(std::string_view text);

}  // namespace masu::cli
