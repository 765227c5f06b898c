// SPDX-License-Identifier: Apache-2.0
// The vector instructions that masu was built for and those that the processor has, as Highway's bits.
#pragma once

#include <cstdint>
#include <string>

namespace masu::runtime {

// The name of the best set among `sets`, which are not none: "AVX-512", "AVX2", "SSE2", "NEON", …
[[nodiscard]] std::string best_instruction_set(std::int64_t sets);

// Throws where the processor has none of the sets that were compiled: a build by ./run has one alone.
void check_instruction_sets(std::int64_t compiled, std::int64_t supported);

}  // namespace masu::runtime
