// SPDX-License-Identifier: Apache-2.0
// A pointer to the best implementation of a function that Highway compiled for several instruction sets.
#pragma once

#include <hwy/highway.h>

namespace masu::cpu {

// The table of implementations must be set up before a pointer is taken from it: until then it holds the set-up itself.
template <class F>
F chosen(F const* table) {
  hwy::ChosenTarget& target = hwy::GetChosenTarget();
  if (!target.IsInitialized()) target.Update(hwy::SupportedTargets());
  return table[target.GetIndex()];
}

}  // namespace masu::cpu
