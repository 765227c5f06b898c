// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/instruction_sets.h"

#include <gmock/gmock.h>
#include <hwy/targets.h>
#include <masu/error.h>

namespace masu {
namespace {

TEST(InstructionSets, ABuildForAnotherProcessorIsRefused) {
  runtime::check_instruction_sets(HWY_AVX3 | HWY_AVX2 | HWY_SSE4, HWY_SSE4);
  runtime::check_instruction_sets(HWY_AVX2, HWY_AVX3 | HWY_AVX2 | HWY_SSE4);
  runtime::check_instruction_sets(HWY_TARGETS, hwy::SupportedTargets());
  try {
    runtime::check_instruction_sets(HWY_AVX3, HWY_AVX2 | HWY_SSE4);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(),
                testing::StartsWith("this build of masu needs a processor with AVX-512: build it again on "));
  }
}

TEST(InstructionSets, TheBestOneIsNamed) {
  EXPECT_EQ(runtime::best_instruction_set(HWY_AVX3_DL | HWY_AVX2), "AVX-512");
  EXPECT_EQ(runtime::best_instruction_set(HWY_AVX2 | HWY_SSE4), "AVX2");
  EXPECT_EQ(runtime::best_instruction_set(HWY_NEON), "NEON");
}

}  // namespace
}  // namespace masu
