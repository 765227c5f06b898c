// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/instruction_sets.h"

#include <gmock/gmock.h>
#include <hwy/targets.h>
#include <masu/error.h>

namespace masu {
namespace {

TEST(InstructionSets, ABuildForAnotherProcessorIsRefused) {
  const std::int64_t compiled = HWY_TARGETS;
  runtime::check_instruction_sets(compiled, hwy::SupportedTargets());
  runtime::check_instruction_sets(compiled, compiled & -compiled);
  try {
    runtime::check_instruction_sets(compiled, ~compiled);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), testing::StartsWith("this build of masu needs a processor with " +
                                                  runtime::best_instruction_set(compiled) + ": build it again on "));
  }
}

#if HWY_ARCH_X86
TEST(InstructionSets, TheBestOneIsNamed) {
  EXPECT_EQ(runtime::best_instruction_set(HWY_AVX3_DL | HWY_AVX2), "AVX-512");
  EXPECT_EQ(runtime::best_instruction_set(HWY_AVX2 | HWY_SSE4), "AVX2");
}
#endif

}  // namespace
}  // namespace masu
