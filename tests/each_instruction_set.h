// SPDX-License-Identifier: Apache-2.0
// Loops that are compiled once for each set of instructions, in every one that this processor has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <masu/device.h>

#include <cstdint>

namespace masu::test {

template <class F>
void each_instruction_set(const F& body) {
  // Opened once for the process, it compares the processor with what was built, which must not be done in a narrower
  // set.
  static_cast<void>(Device::open("cpu"));
  for (std::int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    hwy::SetSupportedTargetsForTest(rest & -rest);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(rest & -rest));
    body();
    hwy::SetSupportedTargetsForTest(0);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace masu::test
