// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/instruction_sets.h"

#include <fmt/format.h>
#include <hwy/targets.h>
#include <masu/error.h>

namespace masu::runtime {

std::string best_instruction_set(std::int64_t sets) {
  const std::string best = hwy::TargetName(sets & -sets);  // the lowest bit is the best set
  return best.starts_with("AVX3") ? "AVX-512" : best;
}

void check_instruction_sets(std::int64_t compiled, std::int64_t supported) {
  if ((compiled & supported) != 0) return;
  throw Error(
      ErrorCode::unsupported,
      fmt::format("this build of masu needs a processor with {}: build it again on this machine (./run in a new "
                  "clone), or for every processor (cmake -DMASU_INSTRUCTION_SETS=all)",
                  best_instruction_set(compiled)));
}

}  // namespace masu::runtime
