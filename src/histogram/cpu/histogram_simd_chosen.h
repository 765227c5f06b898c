// SPDX-License-Identifier: Apache-2.0
// A pointer to the best implementation of a function that Highway compiled for several instruction sets.
#pragma once

#include <hwy/highway.h>

#include <cstddef>

namespace masu::cpu {

// The table of implementations must be set up before a pointer is taken from it: until then it holds the set-up itself.
// Of a processor for which there is one set alone it holds that.
template <class F, std::size_t count>
F chosen(F const (&table)[count]) {
  if constexpr (count == 1) return table[0];
  hwy::ChosenTarget& target = hwy::GetChosenTarget();
  if (!target.IsInitialized()) target.Update(hwy::SupportedTargets());
  return table[target.GetIndex()];
}

}  // namespace masu::cpu
