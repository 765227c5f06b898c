// SPDX-License-Identifier: Apache-2.0
// Oclgrind's log as data. It is written for people: a message of several lines, its details indented by tabs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

// Where in a source; line 0 where Oclgrind does not know it.
struct Place {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string text;  // the line, without its indentation; may be empty, and wrong where the file is not the main one
};

// Who did something, where. A copy by the whole work-group has no work-item.
struct Access {
  using Id = std::array<std::uint64_t, 3>;
  bool by_item = false;
  Id global{};
  Id local{};
  Id group{};
  bool has_group = false;
  std::string instruction;  // LLVM's, "" where there is none
  Place place;
};

// One message of the log.
struct Finding {
  std::string headline;  // "Invalid read of size 4 at global memory address 0x1000000000010"
  std::string kernel;
  std::string detail;            // "Only 5 out of 32 work-items executed barrier", where there is such a line
  std::string space;             // "global", "local", "private", "constant", where the headline names one
  std::uint64_t address = 0;     // where there is a space
  std::vector<Access> accesses;  // two in a data race and in two different barriers, else one
};

struct CheckLog {
  std::vector<Finding> findings;
  bool cut = false;  // Oclgrind stopped writing after its limit of messages
};

// Never fails: what it does not understand becomes a finding with that headline, or is left out.
CheckLog parse_check_log(std::string_view log);

}  // namespace masu::cli
