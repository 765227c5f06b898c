// SPDX-License-Identifier: Apache-2.0
// Faults of a kernel, each once, from Oclgrind's findings and the compiler's warnings.
#pragma once

#include "cli/check/check_facts.h"
#include "cli/check/check_log.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

enum class FaultKind {
  invalid_pointer,  // never set, or null
  out_of_bounds,
  data_race,
  divergence,  // a barrier or a copy that not all work-items of a group reach
  uninitialized,
  unaligned,
  async_copy,  // events of copies that nobody waits for, or that are none
  format,      // printf
  compiler,    // another warning that means a fault
  stopped,     // Oclgrind could not go on
  other,
};

std::string_view to_string(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::other;
  std::string what;              // the sentence
  std::uint64_t times = 0;       // Oclgrind's messages; 0 for a warning
  std::string space;             // of memory; may be empty
  std::vector<Access> accesses;  // of the first message; of a race both sides
  int argument = -1;             // whose memory it is, from 0; -1: not known
  std::string argument_name;
  std::int64_t offset = 0;  // in bytes from the argument's beginning
  bool follows = false;     // may well be a consequence of another fault
};

// The main source as the report calls it, which Oclgrind's messages call otherwise: they leave out the beginning of an
// absolute path that the working directory has too.
struct SourceName {
  std::string file;
  [[nodiscard]] bool is(std::string_view told) const;
};

// In the order of their lines, those that may follow from others last.
std::vector<Fault> collect_faults(const CheckLog& log, const CheckFacts& facts, const SourceName& name);

// The compiler's warnings that mean a fault of the kernel.
std::vector<Fault> faults_in_build_log(std::string_view log, const SourceName& name);

}  // namespace masu::cli
