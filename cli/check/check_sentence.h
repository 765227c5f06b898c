// SPDX-License-Identifier: Apache-2.0
// A fault in one sentence that says what is wrong.
#pragma once

#include "cli/check/check_faults.h"

#include <string>
#include <string_view>

namespace masu::cli {

// What all the messages of a fault said together.
struct Evidence {
  bool reads = false;
  bool writes = false;
  bool across_groups = false;  // a race between work-items of different groups
  bool uninitialized = false;  // an address that was never set
  std::uint64_t size = 0;      // bytes, of the first message
  std::string headline;        // of the first message
  std::string detail;          // of the first message that has one
  std::string index;           // "Index (4) exceeds static array size (4)"
  // Whether it is another message of the same words as the first.
  bool add(const Finding& finding);
};

std::string sentence(const Fault& fault, const Evidence& evidence, const CheckFacts& facts);

}  // namespace masu::cli
